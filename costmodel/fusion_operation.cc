#include "costmodel/fusion_operation.h"

#include <algorithm>
#include <cmath>
#include <iterator>

#include "costmodel/vector_cost.h"
#include "hlo/cost_analysis.h"
#include "hlo/element_type.h"
#include "hlo/kernel_kind.h"

namespace autotune {
namespace {

static_assert(std::size(kFusionKindNames) == FusionOperation::kKinds);

double RoundUp(double value, double to) { return std::ceil(value / to) * to; }

bool ReducesMinor(const HloInstruction& reduce) {
  const auto listed = reduce.dimensions();
  return std::find(listed.begin(), listed.end(), reduce.operand(0).shape().rank() - 1) !=
         listed.end();
}

// The elements that an operation works on.
double WorkedElements(const HloInstruction& op) {
  switch (op.opcode()) {
    case HloOpcode::kDynamicUpdateSlice:
      return PaddedElements(op.operand(1).shape());
    case HloOpcode::kReduce:
      return PaddedElements(op.operand(0).shape()) * static_cast<double>(op.operand_count()) / 2;
    case HloOpcode::kReduceWindow:
    case HloOpcode::kSelectAndScatter:
      return PaddedElements(op.shape().IsTuple() ? op.shape().tuple_shapes(0) : op.shape()) *
             WindowSize(op);
    case HloOpcode::kScatter:
      return PaddedElements(op.operand(op.operand_count() - 1).shape());
    default:
      return PaddedElements(op.shape());
  }
}

// Whether every kernel makes the value for itself.
bool MadeAnywhere(const HloInstruction& instruction) {
  return instruction.opcode() == HloOpcode::kIota ||
         instruction.opcode() == HloOpcode::kBroadcast || !instruction.shape().IsArray() ||
         instruction.shape().ElementsIn() <= 1;
}

FusionOperation::Kind KindOf(const HloInstruction& instruction) {
  const HloOpcode opcode = instruction.opcode();
  if (IsContraction(opcode)) return FusionOperation::kProduct;
  switch (opcode) {
    case HloOpcode::kDivide:
    case HloOpcode::kRemainder:
    case HloOpcode::kSqrt:
    case HloOpcode::kRsqrt:
    case HloOpcode::kCbrt:
      return FusionOperation::kDivide;
    case HloOpcode::kConvert:
      return FusionOperation::kConvert;
    case HloOpcode::kBroadcast:
      return FusionOperation::kBroadcast;
    case HloOpcode::kReshape:
    case HloOpcode::kBitcast:
    case HloOpcode::kBitcastConvert:
      return FusionOperation::kReshape;
    case HloOpcode::kTranspose:
      return FusionOperation::kTranspose;
    case HloOpcode::kConcatenate:
    case HloOpcode::kCopy:
    case HloOpcode::kDynamicSlice:
    case HloOpcode::kPad:
    case HloOpcode::kReverse:
    case HloOpcode::kSlice:
      return FusionOperation::kMove;
    case HloOpcode::kDynamicUpdateSlice:
      return FusionOperation::kUpdate;
    case HloOpcode::kReduce:
      return ReducesMinor(instruction) ? FusionOperation::kReduceMinor
                                       : FusionOperation::kReduceOther;
    case HloOpcode::kReduceWindow:
    case HloOpcode::kSelectAndScatter:
      return FusionOperation::kWindow;
    case HloOpcode::kGather:
      return FusionOperation::kGather;
    case HloOpcode::kScatter:
      return FusionOperation::kScatter;
    default:
      break;
  }
  if (!IsElementwise(opcode)) return FusionOperation::kOther;
  // Those that take ten or more vector instructions.
  return VectorInstructions(opcode, proto::F32) >= 10 ? FusionOperation::kTranscendental
                                                      : FusionOperation::kSimple;
}

MatrixProduct ProductOf(const HloInstruction& op) {
  MatrixProduct product;
  const auto size = static_cast<double>(op.shape().ElementsIn());
  const auto least_one = [](int64_t value) {
    return static_cast<double>(std::max<int64_t>(1, value));
  };
  if (op.opcode() == HloOpcode::kConvolution) {
    const auto& numbers = op.attributes().convolution_dimension_numbers();
    product.columns =
        static_cast<double>(op.shape().dimensions(numbers.output_feature_dimension()));
    product.contracted = static_cast<double>(
        op.operand(1).shape().dimensions(numbers.kernel_input_feature_dimension()));
    for (const auto& dimension : op.attributes().window().dimensions()) {
      product.window *= least_one(dimension.size());
      product.stride *= least_one(dimension.stride());
      product.dilation *=
          least_one(dimension.base_dilation()) * least_one(dimension.window_dilation());
    }
    product.groups = least_one(op.attributes().feature_group_count()) *
                     least_one(op.attributes().batch_group_count());
  } else if (op.opcode() == HloOpcode::kDot) {
    const auto& numbers = op.attributes().dot_dimension_numbers();
    const Shape& left = op.operand(0).shape();
    const Shape& right = op.operand(1).shape();
    product.contracted = 1;
    for (int64_t d : numbers.lhs_batch_dimensions()) {
      product.batch *= static_cast<double>(left.dimensions(d));
    }
    for (int64_t d : numbers.lhs_contracting_dimensions()) {
      product.contracted *= static_cast<double>(left.dimensions(d));
    }
    product.columns =
        static_cast<double>(right.ElementsIn()) / std::max(1.0, product.batch * product.contracted);
  }
  product.rows = size / std::max(1.0, product.columns * product.batch);
  return product;
}

}  // namespace

double ExtentOf(const Shape& shape, int from_minor) {
  const int64_t i = shape.rank() - 1 - from_minor;
  return i >= 0 ? static_cast<double>(shape.dimensions(i)) : 1;
}

double UseOf(double extent, double of) { return extent / RoundUp(std::max(1.0, extent), of); }

double PaddedElements(const Shape& shape) {
  if (!shape.IsArray()) return 0;
  const auto elements = static_cast<double>(shape.ElementsIn());
  if (elements == 0) return 0;
  return elements /
         (UseOf(ExtentOf(shape, 0), kVectorLanes) * UseOf(ExtentOf(shape, 1), kVectorSublanes));
}

double BytesPerElement(const Shape& shape) {
  return shape.IsArray() ? BitWidth(shape.element_type()) / 8.0 : 0;
}

double WindowSize(const HloInstruction& instruction) {
  double size = 1;
  for (const auto& dimension : instruction.attributes().window().dimensions()) {
    size *= static_cast<double>(std::max<int64_t>(1, dimension.size()));
  }
  return size;
}

double PartRead(const HloInstruction& instruction) {
  switch (instruction.opcode()) {
    case HloOpcode::kSlice:
    case HloOpcode::kDynamicSlice:
    case HloOpcode::kGather:
      return static_cast<double>(instruction.shape().ByteSize());
    case HloOpcode::kDynamicUpdateSlice:
      return 0;
    default:
      return -1;
  }
}

FusionOperation DescribeOperation(const FusionNode& info, double flops, const DeviceSpec& device) {
  const HloInstruction& op = *info.instruction;
  FusionOperation node;
  if (!info.free || !MadeAnywhere(op)) {
    node.bytes = static_cast<double>(op.shape().ByteSize());
    node.padded_bytes = op.shape().IsArray()
                            ? PaddedElements(op.shape()) * BytesPerElement(op.shape())
                            : node.bytes;
  }
  if (info.free) return node;
  node.kind = KindOf(op);
  node.registers = WorkedElements(op) / (kVectorLanes * kVectorSublanes);
  if (node.kind != FusionOperation::kProduct) {
    const ElementType type = op.shape().IsArray() ? op.shape().element_type() : proto::F32;
    node.vector_seconds = node.registers * VectorInstructions(op.opcode(), type) / device.clock_hz;
    return node;
  }
  const bool integral = op.shape().IsArray() && IsIntegral(op.shape().element_type());
  const double peak = integral && device.int8_ops_per_second > 0 ? device.int8_ops_per_second
                                                                 : device.bf16_flops_per_second;
  node.product_seconds = flops / peak;
  node.product = ProductOf(op);
  return node;
}

}  // namespace autotune
