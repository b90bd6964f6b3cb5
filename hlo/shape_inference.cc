#include "hlo/shape_inference.h"

#include <limits>
#include <utility>
#include <vector>

#include "hlo/element_type.h"
#include "hlo/shape_rules.h"

namespace autotune {
namespace {

using shape_rules::CheckArrays;
using shape_rules::CheckOperandCount;
using shape_rules::Invalid;
using MaybeShape = absl::StatusOr<std::optional<Shape>>;

MaybeShape Lift(shape_rules::Result result) {
  if (!result.ok()) return result.status();
  return std::optional<Shape>(*std::move(result));
}

MaybeShape TupleOfOperands(const ShapeInferenceInput& input) {
  std::vector<Shape> parts;
  for (const Shape* operand : input.operands) parts.push_back(*operand);
  return Shape::Tuple(std::move(parts));
}

MaybeShape TupleElement(const ShapeInferenceInput& input) {
  AUTOTUNE_RETURN_IF_ERROR(CheckOperandCount(input, 1, 1));
  const Shape& tuple = *input.operands[0];
  if (!tuple.IsTuple()) {
    return Invalid("get-tuple-element of something that is no tuple: ", tuple.ToString());
  }
  const auto size = static_cast<int64_t>(tuple.tuple_shapes().size());
  if (input.tuple_index < 0 || input.tuple_index >= size) {
    return Invalid("index=", input.tuple_index, " of a tuple of ", size, " elements");
  }
  return tuple.tuple_shapes(input.tuple_index);
}

// The operand itself, with `count` operands in all.
MaybeShape SameAsOperand(const ShapeInferenceInput& input, size_t count) {
  AUTOTUNE_RETURN_IF_ERROR(CheckOperandCount(input, count, count));
  return *input.operands[0];
}

// What called computation `i` returns; nothing if there is none.
MaybeShape CalledResult(const ShapeInferenceInput& input, size_t i) {
  if (i >= input.called_results.size()) return std::optional<Shape>();
  return *input.called_results[i];
}

MaybeShape Map(const ShapeInferenceInput& input) {
  AUTOTUNE_RETURN_IF_ERROR(CheckOperandCount(input, 1, std::numeric_limits<size_t>::max()));
  AUTOTUNE_RETURN_IF_ERROR(CheckArrays(input));
  for (const Shape* operand : input.operands) {
    if (!shape_rules::DimensionsAgree(*operand, *input.operands[0])) {
      return Invalid("map operands have different extents");
    }
  }
  if (input.called_results.empty()) return std::optional<Shape>();
  if (!input.called_results[0]->IsScalar()) {
    return Invalid("the computation of map must return a scalar, returns ",
                   input.called_results[0]->ToString(false));
  }
  return shape_rules::ResultArray(input.called_results[0]->element_type(),
                                  input.operands[0]->dimensions());
}

// copy-start gives (destination, source, context); copy-done the destination.
MaybeShape CopyDone(const ShapeInferenceInput& input) {
  AUTOTUNE_RETURN_IF_ERROR(CheckOperandCount(input, 1, 1));
  const Shape& started = *input.operands[0];
  if (!started.IsTuple() || started.tuple_shapes().size() < 2) {
    return Invalid("copy-done takes what copy-start gives, got ", started.ToString());
  }
  return started.tuple_shapes(0);
}

// async-done gives element 1 of (operands, results, ...).
MaybeShape AsyncDone(const ShapeInferenceInput& input) {
  AUTOTUNE_RETURN_IF_ERROR(CheckOperandCount(input, 1, 1));
  const Shape& started = *input.operands[0];
  if (!started.IsTuple() || started.tuple_shapes().size() < 2) {
    return Invalid("async-done takes what async-start gives, got ", started.ToString());
  }
  return started.tuple_shapes(1);
}

MaybeShape SetDimensionSize(const ShapeInferenceInput& input) {
  AUTOTUNE_RETURN_IF_ERROR(CheckOperandCount(input, 2, 2));
  AUTOTUNE_RETURN_IF_ERROR(CheckArrays(input));
  Shape result = *input.operands[0];
  AUTOTUNE_RETURN_IF_ERROR(shape_rules::CheckDimensionNumbers("dimensions of set-dimension-size",
                                                              input.dimensions, result.rank()));
  if (input.dimensions.size() != 1) return Invalid("set-dimension-size takes one dimension");
  if (!input.operands[1]->IsScalar()) {
    return Invalid("the size must be a scalar, got ", input.operands[1]->ToString(false));
  }
  result.set_dynamic_dimension(input.dimensions[0], true);
  return result;
}

MaybeShape InferStructural(const ShapeInferenceInput& input) {
  switch (input.opcode) {
    case HloOpcode::kTuple:
      return TupleOfOperands(input);
    case HloOpcode::kGetTupleElement:
      return TupleElement(input);
    case HloOpcode::kCopy:
    case HloOpcode::kOptBarrier:
    case HloOpcode::kDomain:
    case HloOpcode::kWhile:
      return SameAsOperand(input, 1);
    case HloOpcode::kAddDependency:
      return SameAsOperand(input, 2);
    case HloOpcode::kAfterAll:
    case HloOpcode::kOutfeed:
    case HloOpcode::kSendDone:
      return Shape::Token();
    case HloOpcode::kCall:
    case HloOpcode::kConditional:
    case HloOpcode::kFusion:
      return CalledResult(input, 0);
    case HloOpcode::kMap:
      return Map(input);
    case HloOpcode::kCopyDone:
      return CopyDone(input);
    case HloOpcode::kAsyncDone:
      return AsyncDone(input);
    case HloOpcode::kAsyncUpdate:
      return SameAsOperand(input, 1);
    case HloOpcode::kReplicaId:
    case HloOpcode::kPartitionId:
      return shape_rules::ResultArray(proto::U32, {});
    case HloOpcode::kGetDimensionSize:
      AUTOTUNE_RETURN_IF_ERROR(CheckOperandCount(input, 1, 1));
      AUTOTUNE_RETURN_IF_ERROR(CheckArrays(input));
      AUTOTUNE_RETURN_IF_ERROR(shape_rules::CheckDimensionNumbers(
          "dimensions of get-dimension-size", input.dimensions, input.operands[0]->rank()));
      return shape_rules::ResultArray(proto::S32, {});
    case HloOpcode::kSetDimensionSize:
      return SetDimensionSize(input);
    default:
      return std::optional<Shape>();
  }
}

}  // namespace

MaybeShape InferShape(const ShapeInferenceInput& input) {
  switch (input.opcode) {
    case HloOpcode::kConvert:
    case HloOpcode::kBitcastConvert:
    case HloOpcode::kStochasticConvert:
      return std::optional<Shape>();
    case HloOpcode::kConvolution:
      return Lift(shape_rules::Convolution(input));
    case HloOpcode::kDot:
    case HloOpcode::kScaledDot:
      return Lift(shape_rules::Dot(input));
    case HloOpcode::kRaggedDot:
      return Lift(shape_rules::RaggedDot(input));
    case HloOpcode::kReduce:
      return Lift(shape_rules::Reduce(input));
    case HloOpcode::kReduceWindow:
      return Lift(shape_rules::ReduceWindow(input));
    case HloOpcode::kSelectAndScatter:
      return Lift(shape_rules::SelectAndScatter(input));
    case HloOpcode::kPad:
      return Lift(shape_rules::Pad(input));
    case HloOpcode::kConcatenate:
      return Lift(shape_rules::Concatenate(input));
    case HloOpcode::kTranspose:
      return Lift(shape_rules::Transpose(input));
    case HloOpcode::kReverse:
      return Lift(shape_rules::Reverse(input));
    case HloOpcode::kSlice:
      return Lift(shape_rules::Slice(input));
    case HloOpcode::kDynamicSlice:
      return Lift(shape_rules::DynamicSlice(input));
    case HloOpcode::kDynamicUpdateSlice:
      return Lift(shape_rules::DynamicUpdateSlice(input));
    case HloOpcode::kGather:
      return Lift(shape_rules::Gather(input));
    case HloOpcode::kScatter:
      return Lift(shape_rules::Scatter(input));
    case HloOpcode::kSort:
      return Lift(shape_rules::Sort(input));
    case HloOpcode::kFft:
      return Lift(shape_rules::Fft(input));
    case HloOpcode::kCholesky:
      return Lift(shape_rules::Cholesky(input));
    case HloOpcode::kTriangularSolve:
      return Lift(shape_rules::TriangularSolve(input));
    case HloOpcode::kBatchNormTraining:
    case HloOpcode::kBatchNormInference:
    case HloOpcode::kBatchNormGrad:
      return Lift(shape_rules::BatchNorm(input));
    default:
      if (IsElementwise(input.opcode) && input.opcode != HloOpcode::kCopy)
        return Lift(shape_rules::Elementwise(input));
      return InferStructural(input);
  }
}

}  // namespace autotune
