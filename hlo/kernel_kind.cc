#include "hlo/kernel_kind.h"

#include <algorithm>
#include <iterator>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "hlo/computation.h"

namespace autotune {
namespace {

// The operations after which a fusion is named, most telling first.
constexpr HloOpcode kTelling[] = {
    HloOpcode::kConvolution,
    HloOpcode::kDot,
    HloOpcode::kRaggedDot,
    HloOpcode::kScaledDot,
    HloOpcode::kSort,
    HloOpcode::kScatter,
    HloOpcode::kSelectAndScatter,
    HloOpcode::kReduceWindow,
    HloOpcode::kReduce,
    HloOpcode::kGather,
    HloOpcode::kDynamicUpdateSlice,
    HloOpcode::kCustomCall,
};

// The best place in kTelling of all operations within a fusion; the end if there is none.
const HloOpcode* MostTelling(const HloInstruction& fusion) {
  const HloOpcode* best = std::end(kTelling);
  absl::flat_hash_set<const HloComputation*> seen;
  std::vector<const HloInstruction*> pending = {&fusion};
  while (!pending.empty()) {
    const HloInstruction* instruction = pending.back();
    pending.pop_back();
    for (const HloComputation* body : instruction->called_computations()) {
      if (!seen.insert(body).second) continue;
      for (const HloInstruction* inner : body->instructions()) {
        best = std::min(best, std::find(std::begin(kTelling), std::end(kTelling), inner->opcode()));
        if (inner->opcode() == HloOpcode::kFusion) pending.push_back(inner);
      }
    }
  }
  return best;
}

}  // namespace

std::string KernelKind(const HloInstruction& operation) {
  if (operation.opcode() != HloOpcode::kFusion) return std::string(operation.opcode_name());
  const HloOpcode* telling = MostTelling(operation);
  if (telling != std::end(kTelling)) return absl::StrCat(HloOpcodeName(*telling), " fusion");
  // "kLoop", "kOutput", "kInput", "kCustom".
  absl::string_view kind = operation.attributes().fusion_kind();
  absl::ConsumePrefix(&kind, "k");
  return absl::StrCat(kind.empty() ? "loop" : absl::AsciiStrToLower(kind), " fusion");
}

bool IsContraction(HloOpcode opcode) {
  return opcode == HloOpcode::kConvolution || opcode == HloOpcode::kDot ||
         opcode == HloOpcode::kRaggedDot || opcode == HloOpcode::kScaledDot;
}

bool RunsAsKernel(HloOpcode opcode) {
  if (IsCollective(opcode)) return false;
  switch (opcode) {
    case HloOpcode::kUnknown:
    case HloOpcode::kParameter:
    case HloOpcode::kConstant:
    case HloOpcode::kTuple:
    case HloOpcode::kGetTupleElement:
    case HloOpcode::kBitcast:
    case HloOpcode::kOptBarrier:
    case HloOpcode::kAddDependency:
    case HloOpcode::kAfterAll:
    case HloOpcode::kDomain:
    case HloOpcode::kPartitionId:
    case HloOpcode::kReplicaId:
    case HloOpcode::kGetDimensionSize:
    case HloOpcode::kSetDimensionSize:
    case HloOpcode::kWhile:
    case HloOpcode::kConditional:
    case HloOpcode::kCall:
    case HloOpcode::kAsyncStart:
    case HloOpcode::kAsyncUpdate:
    case HloOpcode::kAsyncDone:
    case HloOpcode::kCopyStart:
    case HloOpcode::kCopyDone:
    case HloOpcode::kInfeed:
    case HloOpcode::kOutfeed:
    case HloOpcode::kSend:
    case HloOpcode::kSendDone:
    case HloOpcode::kRecv:
    case HloOpcode::kRecvDone:
    case HloOpcode::kCustomCall:
      return false;
    default:
      return true;
  }
}

}  // namespace autotune
