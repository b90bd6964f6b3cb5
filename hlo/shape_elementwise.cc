// Shapes of element-wise operations.

#include <limits>

#include "hlo/element_type.h"
#include "hlo/shape_rules.h"

namespace autotune::shape_rules {
namespace {

constexpr unsigned kPred = 1, kInt = 2, kFloat = 4, kComplex = 8, kSigned = 16;
constexpr unsigned kAny = kPred | kInt | kFloat | kComplex;

// Which element types the operation computes on; kSigned alone leaves unsigned integers out.
unsigned AllowedTypes(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kFloor:
    case HloOpcode::kCeil:
    case HloOpcode::kRoundNearestAfz:
    case HloOpcode::kRoundNearestEven:
    case HloOpcode::kIsFinite:
    case HloOpcode::kErf:
    case HloOpcode::kCbrt:
    case HloOpcode::kReducePrecision:
      return kFloat;
    case HloOpcode::kExp:
    case HloOpcode::kExpm1:
    case HloOpcode::kLog:
    case HloOpcode::kLog1p:
    case HloOpcode::kLogistic:
    case HloOpcode::kTanh:
    case HloOpcode::kTan:
    case HloOpcode::kSin:
    case HloOpcode::kCos:
    case HloOpcode::kSinh:
    case HloOpcode::kCosh:
    case HloOpcode::kAsin:
    case HloOpcode::kAcos:
    case HloOpcode::kAsinh:
    case HloOpcode::kAcosh:
    case HloOpcode::kAtanh:
    case HloOpcode::kSqrt:
    case HloOpcode::kRsqrt:
    case HloOpcode::kAtan2:
    case HloOpcode::kReal:
    case HloOpcode::kImag:
      return kFloat | kComplex;
    case HloOpcode::kNot:
    case HloOpcode::kAnd:
    case HloOpcode::kOr:
    case HloOpcode::kXor:
      return kPred | kInt;
    case HloOpcode::kPopulationCount:
    case HloOpcode::kClz:
      return kInt;
    case HloOpcode::kShiftLeft:
    case HloOpcode::kShiftRightArithmetic:
    case HloOpcode::kShiftRightLogical:
      return kInt | kFloat | kComplex;  // XLA does not look
    case HloOpcode::kSign:
    case HloOpcode::kAbs:
      return kSigned | kFloat | kComplex;
    case HloOpcode::kNegate:
    case HloOpcode::kSubtract:
    case HloOpcode::kDivide:
    case HloOpcode::kPower:
    case HloOpcode::kRemainder:
      return kInt | kFloat | kComplex;
    case HloOpcode::kComplex:
      return kFloat;
    default:
      return kAny;
  }
}

bool IsAllowed(ElementType type, unsigned allowed) {
  return ((allowed & kPred) != 0 && type == proto::PRED) ||
         ((allowed & kInt) != 0 && IsIntegral(type)) ||
         ((allowed & kSigned) != 0 && IsSignedIntegral(type)) ||
         ((allowed & kFloat) != 0 && IsFloating(type)) ||
         ((allowed & kComplex) != 0 && IsComplex(type));
}

ElementType ComponentType(ElementType type) {
  if (type == proto::C64) return proto::F32;
  if (type == proto::C128) return proto::F64;
  return type;
}

// The element type of the result, given that of the operands.
Result WithResultType(const ShapeInferenceInput& input, Shape shape) {
  const ElementType type = shape.element_type();
  switch (input.opcode) {
    case HloOpcode::kCompare:
    case HloOpcode::kIsFinite:
      shape.set_element_type(proto::PRED);
      return shape;
    case HloOpcode::kAbs:
    case HloOpcode::kReal:
    case HloOpcode::kImag:
      shape.set_element_type(ComponentType(type));
      return shape;
    case HloOpcode::kComplex:
      if (type != proto::F32 && type != proto::F64) {
        return Invalid("complex is made of f32 or f64, not of ", ElementTypeName(type));
      }
      shape.set_element_type(type == proto::F32 ? proto::C64 : proto::C128);
      return shape;
    default:
      return shape;
  }
}

// select and clamp: the operands that may be scalars beside arrays have their own rule.
Result Ternary(const ShapeInferenceInput& input) {
  AUTOTUNE_RETURN_IF_ERROR(CheckOperandCount(input, 3, 3));
  AUTOTUNE_RETURN_IF_ERROR(CheckArrays(input));
  const bool is_select = input.opcode == HloOpcode::kSelect;
  const Shape& value = *input.operands[1];
  for (size_t i = 0; i < 3; ++i) {
    const Shape& operand = *input.operands[i];
    const bool may_be_scalar = is_select ? i == 0 : i != 1;
    if (!DimensionsAgree(operand, value) && !(may_be_scalar && operand.IsScalar())) {
      return Invalid("operand ", i, " of ", HloOpcodeName(input.opcode), " is ",
                     operand.ToString(false), ", which does not fit ", value.ToString(false));
    }
    const bool type_fits = is_select && i == 0
                               ? operand.element_type() == proto::PRED
                               : TypesAgree(operand.element_type(), value.element_type());
    if (!type_fits) {
      return Invalid("operand ", i, " of ", HloOpcodeName(input.opcode), " has element type ",
                     ElementTypeName(operand.element_type()));
    }
  }
  Shape result = ResultArray(value.element_type(), value.dimensions());
  if (is_select) {
    result.set_element_type(WiderType(value.element_type(), input.operands[2]->element_type()));
  }
  for (int64_t d = 0; d < value.rank(); ++d) {
    result.set_dynamic_dimension(d, value.is_dynamic_dimension(d));
  }
  return result;
}

}  // namespace

Result Elementwise(const ShapeInferenceInput& input) {
  if (input.opcode == HloOpcode::kSelect || input.opcode == HloOpcode::kClamp) {
    return Ternary(input);
  }
  AUTOTUNE_RETURN_IF_ERROR(CheckOperandCount(input, 1, std::numeric_limits<size_t>::max()));
  AUTOTUNE_RETURN_IF_ERROR(CheckArrays(input));
  Shape result = *input.operands[0];
  const unsigned allowed = AllowedTypes(input.opcode);
  for (const Shape* operand : input.operands) {
    if (!DimensionsAgree(*operand, result)) {
      return Invalid("operands of ", HloOpcodeName(input.opcode),
                     " have different extents: ", result.ToString(false), " and ",
                     operand->ToString(false));
    }
    if (!TypesAgree(operand->element_type(), result.element_type())) {
      return Invalid("operands of ", HloOpcodeName(input.opcode),
                     " have different element types: ", ElementTypeName(result.element_type()),
                     " and ", ElementTypeName(operand->element_type()));
    }
    if (!IsAllowed(operand->element_type(), allowed)) {
      return Invalid(HloOpcodeName(input.opcode), " does not work on ",
                     ElementTypeName(operand->element_type()));
    }
    result.set_element_type(WiderType(result.element_type(), operand->element_type()));
    for (int64_t d = 0; d < result.rank(); ++d) {
      if (result.dimensions(d) == Shape::kUnbounded)
        result.set_dimension(d, operand->dimensions(d));
    }
  }
  result.set_layout(Layout::Default(result.rank()));
  return WithResultType(input, std::move(result));
}

}  // namespace autotune::shape_rules
