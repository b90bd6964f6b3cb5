// Results of operations whose shape is always written out, against what follows from the operands.

#include <vector>

#include "hlo/element_type.h"
#include "hlo/shape_rules.h"
#include "hlo/verifier_rules.h"

namespace autotune::verifier_rules {
namespace {

using shape_rules::Invalid;

absl::Status CheckIs(const HloInstruction& instruction, const Shape& expected) {
  if (ShapesSame(instruction.shape(), expected)) return absl::OkStatus();
  return Invalid("declared as ", instruction.shape().ToString(false), ", but ",
                 instruction.opcode_name(), " gives ", expected.ToString(false));
}

absl::Status CheckToken(const HloInstruction& instruction, int64_t operand) {
  const Shape& shape = instruction.operand(operand).shape();
  if (shape.element_type() == proto::TOKEN) return absl::OkStatus();
  return Invalid("operand ", operand, " of ", instruction.opcode_name(), " must be a token, got ",
                 shape.ToString(false));
}

// The parts of a tuple that has at least `count`; null otherwise.
const std::vector<Shape>* Parts(const Shape& shape, size_t count) {
  const bool enough = shape.IsTuple() && shape.tuple_shapes().size() >= count;
  return enough ? &shape.tuple_shapes() : nullptr;
}

absl::Status CheckInfeed(const HloInstruction& infeed) {
  AUTOTUNE_RETURN_IF_ERROR(CheckToken(infeed, 0));
  const std::vector<Shape>* parts = Parts(infeed.shape(), 2);
  if (parts == nullptr) return Invalid("infeed gives data and a token");
  return CheckIs(infeed, Shape::Tuple({(*parts)[0], Shape::Token()}));
}

absl::Status CheckRecv(const HloInstruction& recv) {
  const std::vector<Shape>* parts = Parts(recv.shape(), 3);
  if (parts == nullptr) return Invalid("recv gives data, u32[] and a token");
  return CheckIs(recv, Shape::Tuple({(*parts)[0], Shape::Array(proto::U32, {}), Shape::Token()}));
}

absl::Status CheckRecvDone(const HloInstruction& done) {
  const std::vector<Shape>* parts = Parts(done.operand(0).shape(), 1);
  if (parts == nullptr) return Invalid("recv-done takes what recv gives");
  return CheckIs(done, Shape::Tuple({(*parts)[0], Shape::Token()}));
}

absl::Status CheckCopyDone(const HloInstruction& done) {
  const std::vector<Shape>* parts = Parts(done.operand(0).shape(), 2);
  if (parts == nullptr) return Invalid("copy-done takes what copy-start gives");
  if (!ShapesSame((*parts)[0], (*parts)[1])) {
    return Invalid("copy-done of ", (*parts)[0].ToString(false), " from ",
                   (*parts)[1].ToString(false));
  }
  return CheckIs(done, (*parts)[0]);
}

absl::Status CheckRngBits(const HloInstruction& rng) {
  const Shape& shape = rng.shape();
  if (!shape.IsTuple()) return absl::OkStatus();
  if (shape.tuple_shapes().size() != 2) return Invalid("rng-bit-generator gives a state and bits");
  if (shape.tuple_shapes(0).IsCompatible(rng.operand(0).shape())) return absl::OkStatus();
  return Invalid("rng-bit-generator takes the state ", rng.operand(0).shape().ToString(false),
                 ", but gives ", shape.tuple_shapes(0).ToString(false));
}

absl::Status CheckTopK(const HloInstruction& topk) {
  const Shape& operand = topk.operand(0).shape();
  const int64_t k = topk.attributes().k();
  if (!operand.IsArray() || operand.rank() == 0) {
    return Invalid("topk takes an array, got ", operand.ToString(false));
  }
  const int64_t last = operand.dimensions(operand.rank() - 1);
  if (k < 0 || (last != Shape::kUnbounded && k > last)) {
    return Invalid("k=", k, " of topk is out of range for ", operand.ToString(false));
  }
  DimensionVector extents = operand.dimensions();
  extents.back() = k;
  return CheckIs(topk, Shape::Tuple({Shape::Array(operand.element_type(), extents),
                                     Shape::Array(proto::S32, extents)}));
}

absl::Status CheckStochasticConvert(const HloInstruction& convert) {
  const Shape& from = convert.operand(0).shape();
  const Shape& random = convert.operand(1).shape();
  const Shape& to = convert.shape();
  const bool fits =
      from.IsArray() && random.IsArray() && to.IsArray() && IsFloating(from.element_type()) &&
      IsIntegral(random.element_type()) && !IsSignedIntegral(random.element_type()) &&
      BitWidth(from.element_type()) == BitWidth(random.element_type()) &&
      shape_rules::DimensionsAgree(from, random) && shape_rules::DimensionsAgree(from, to);
  if (fits) return absl::OkStatus();
  return Invalid("cannot stochastic-convert ", from.ToString(false), " to ", to.ToString(false),
                 " by ", random.ToString(false));
}

absl::Status CheckDynamicReshape(const HloInstruction& reshape) {
  const Shape& to = reshape.shape();
  if (reshape.operand_count() == 0) return Invalid("dynamic-reshape takes an array and extents");
  const Shape& from = reshape.operand(0).shape();
  if (!from.IsArray() || !to.IsArray() ||
      !shape_rules::TypesAgree(from.element_type(), to.element_type()) ||
      from.ElementCount() != to.ElementCount()) {
    return Invalid("cannot reshape ", from.ToString(false), " to ", to.ToString(false));
  }
  if (reshape.operand_count() != to.rank() + 1) {
    return Invalid("dynamic-reshape to ", to.ToString(false), " takes ", to.rank(),
                   " extents, got ", reshape.operand_count() - 1);
  }
  for (int64_t i = 1; i < reshape.operand_count(); ++i) {
    if (reshape.operand(i).shape().element_type() == proto::S32) continue;
    return Invalid("extent ", i - 1, " of dynamic-reshape must be s32[], got ",
                   reshape.operand(i).shape().ToString(false));
  }
  return absl::OkStatus();
}

absl::Status CheckSeed(const HloInstruction& call) {
  if (call.attributes().custom_call_target() != "GetRngSeed") return absl::OkStatus();
  if (call.operand_count() != 0) return Invalid("GetRngSeed takes no operands");
  if (call.shape().IsScalar() && call.shape().element_type() == proto::U64) {
    return absl::OkStatus();
  }
  return Invalid("GetRngSeed gives u64[], not ", call.shape().ToString(false));
}

}  // namespace

absl::Status CheckResult(const HloInstruction& instruction) {
  switch (instruction.opcode()) {
    case HloOpcode::kInfeed:
      return CheckInfeed(instruction);
    case HloOpcode::kOutfeed:
    case HloOpcode::kAddDependency:
      return CheckToken(instruction, 1);
    case HloOpcode::kSend:
      return CheckIs(instruction, Shape::Tuple({instruction.operand(0).shape(),
                                                Shape::Array(proto::U32, {}), Shape::Token()}));
    case HloOpcode::kRecv:
      return CheckRecv(instruction);
    case HloOpcode::kRecvDone:
      return CheckRecvDone(instruction);
    case HloOpcode::kCopyStart: {
      const Shape& operand = instruction.operand(0).shape();
      return CheckIs(instruction, Shape::Tuple({operand, operand, Shape::Array(proto::U32, {})}));
    }
    case HloOpcode::kCopyDone:
      return CheckCopyDone(instruction);
    case HloOpcode::kRngBitGenerator:
      return CheckRngBits(instruction);
    case HloOpcode::kRngGetAndUpdateState:
      return CheckIs(instruction, Shape::Array(proto::U64, {2}));
    case HloOpcode::kTopK:
      return CheckTopK(instruction);
    case HloOpcode::kStochasticConvert:
      return CheckStochasticConvert(instruction);
    case HloOpcode::kDynamicReshape:
      return CheckDynamicReshape(instruction);
    case HloOpcode::kCustomCall:
      return CheckSeed(instruction);
    default:
      return absl::OkStatus();
  }
}

}  // namespace autotune::verifier_rules
