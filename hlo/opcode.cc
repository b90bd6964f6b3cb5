#include "hlo/opcode.h"

#include <array>
#include <cstddef>

#include "absl/container/flat_hash_map.h"

namespace autotune {
namespace {

struct OpcodeInfo {
  absl::string_view name;
  int operands;
};

constexpr OpcodeInfo kOpcodes[] = {
#define AUTOTUNE_HLO_OPCODE(enumerator, name, operands) {name, operands},
#include "hlo/opcode_list.inc"
#undef AUTOTUNE_HLO_OPCODE
    {"unknown", -1},
};
constexpr size_t kKnownOpcodes = std::size(kOpcodes) - 1;
static_assert(kKnownOpcodes == static_cast<size_t>(HloOpcode::kUnknown));

const OpcodeInfo& Info(HloOpcode opcode) { return kOpcodes[static_cast<size_t>(opcode)]; }

using OpcodeMap = absl::flat_hash_map<absl::string_view, HloOpcode>;

OpcodeMap MakeOpcodeMap() {
  OpcodeMap map;
  for (size_t i = 0; i < kKnownOpcodes; ++i) {
    map.emplace(kOpcodes[i].name, static_cast<HloOpcode>(i));
  }
  return map;
}

}  // namespace

absl::string_view HloOpcodeName(HloOpcode opcode) { return Info(opcode).name; }

std::optional<HloOpcode> HloOpcodeFromName(absl::string_view name) {
  static const OpcodeMap& map = *new OpcodeMap(MakeOpcodeMap());
  const auto it = map.find(name);
  if (it == map.end()) return std::nullopt;
  return it->second;
}

std::optional<int> HloOpcodeOperandCount(HloOpcode opcode) {
  const int operands = Info(opcode).operands;
  if (operands < 0) return std::nullopt;
  return operands;
}

bool IsElementwise(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kAbs:
    case HloOpcode::kAcos:
    case HloOpcode::kAcosh:
    case HloOpcode::kAdd:
    case HloOpcode::kAnd:
    case HloOpcode::kAsin:
    case HloOpcode::kAsinh:
    case HloOpcode::kMulhi:
    case HloOpcode::kAtan2:
    case HloOpcode::kAtanh:
    case HloOpcode::kBitcastConvert:
    case HloOpcode::kCbrt:
    case HloOpcode::kCeil:
    case HloOpcode::kClamp:
    case HloOpcode::kClz:
    case HloOpcode::kCompare:
    case HloOpcode::kComplex:
    case HloOpcode::kConvert:
    case HloOpcode::kCopy:
    case HloOpcode::kCos:
    case HloOpcode::kCosh:
    case HloOpcode::kDivide:
    case HloOpcode::kErf:
    case HloOpcode::kExp:
    case HloOpcode::kExpm1:
    case HloOpcode::kFloor:
    case HloOpcode::kImag:
    case HloOpcode::kIsFinite:
    case HloOpcode::kLog:
    case HloOpcode::kLog1p:
    case HloOpcode::kLogistic:
    case HloOpcode::kMaximum:
    case HloOpcode::kMinimum:
    case HloOpcode::kMultiply:
    case HloOpcode::kNegate:
    case HloOpcode::kNot:
    case HloOpcode::kOr:
    case HloOpcode::kPopulationCount:
    case HloOpcode::kPower:
    case HloOpcode::kReal:
    case HloOpcode::kReducePrecision:
    case HloOpcode::kRemainder:
    case HloOpcode::kRoundNearestAfz:
    case HloOpcode::kRoundNearestEven:
    case HloOpcode::kRsqrt:
    case HloOpcode::kSelect:
    case HloOpcode::kShiftLeft:
    case HloOpcode::kShiftRightArithmetic:
    case HloOpcode::kShiftRightLogical:
    case HloOpcode::kSign:
    case HloOpcode::kSin:
    case HloOpcode::kSinh:
    case HloOpcode::kSqrt:
    case HloOpcode::kStochasticConvert:
    case HloOpcode::kSubtract:
    case HloOpcode::kTan:
    case HloOpcode::kTanh:
    case HloOpcode::kXor:
      return true;
    default:
      return false;
  }
}

bool IsCollective(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kAllGather:
    case HloOpcode::kAllGatherStart:
    case HloOpcode::kAllGatherDone:
    case HloOpcode::kAllReduce:
    case HloOpcode::kAllReduceStart:
    case HloOpcode::kAllReduceDone:
    case HloOpcode::kAllToAll:
    case HloOpcode::kCollectiveBroadcast:
    case HloOpcode::kCollectivePermute:
    case HloOpcode::kCollectivePermuteStart:
    case HloOpcode::kCollectivePermuteDone:
    case HloOpcode::kRaggedAllToAll:
    case HloOpcode::kReduceScatter:
      return true;
    default:
      return false;
  }
}

}  // namespace autotune
