// Shapes of reductions, windows and padding.

#include <algorithm>
#include <limits>
#include <vector>

#include "hlo/element_type.h"
#include "hlo/shape_rules.h"

namespace autotune {
namespace {

// Extents and window parameters beyond this cannot belong to a real program; below it, no product
// of two overflows.
constexpr int64_t kMaxExtent = int64_t{1} << 31;

bool InRange(int64_t value) { return value >= -kMaxExtent && value <= kMaxExtent; }

// The extent of `elements` elements with `dilation` - 1 holes between neighbours.
int64_t Dilated(int64_t elements, int64_t dilation) {
  return elements == 0 ? 0 : (elements - 1) * dilation + 1;
}

}  // namespace

absl::StatusOr<int64_t> WindowedExtent(int64_t base, const proto::WindowDimension& window) {
  if (base == Shape::kUnbounded) return Shape::kUnbounded;
  for (int64_t value : {base, window.size(), window.stride(), window.padding_low(),
                        window.padding_high(), window.window_dilation(), window.base_dilation()}) {
    if (!InRange(value)) return absl::InvalidArgumentError("a window's extent is out of range");
  }
  if (std::min({window.size(), window.stride(), window.window_dilation(), window.base_dilation()}) <
      1) {
    return absl::InvalidArgumentError("a window's size, stride and dilations must be positive");
  }
  const int64_t padded =
      Dilated(base, window.base_dilation()) + window.padding_low() + window.padding_high();
  const int64_t size = Dilated(window.size(), window.window_dilation());
  return padded < size ? 0 : (padded - size) / window.stride() + 1;
}

namespace shape_rules {
namespace {

// Windows over `array` dimension by dimension.
Result Windowed(const Shape& array, const proto::Window& window, ElementType type) {
  if (window.dimensions_size() != array.rank()) {
    return Invalid("the window has ", window.dimensions_size(), " dimensions, the array rank ",
                   array.rank());
  }
  DimensionVector dimensions(array.rank());
  for (int i = 0; i < window.dimensions_size(); ++i) {
    absl::StatusOr<int64_t> extent = WindowedExtent(array.dimensions(i), window.dimensions(i));
    if (!extent.ok()) return extent.status();
    dimensions[i] = *extent;
  }
  return ResultArray(type, dimensions);
}

// The operands of a reduction: as many arrays of equal extents as scalars to start from.
absl::Status CheckReductionOperands(const ShapeInferenceInput& input) {
  AUTOTUNE_RETURN_IF_ERROR(CheckOperandCount(input, 2, std::numeric_limits<size_t>::max()));
  AUTOTUNE_RETURN_IF_ERROR(CheckArrays(input));
  const size_t arrays = input.operands.size() / 2;
  if (input.operands.size() % 2 != 0) {
    return Invalid(HloOpcodeName(input.opcode), " takes an initial value for each array");
  }
  for (size_t i = 0; i < arrays; ++i) {
    if (!DimensionsAgree(*input.operands[i], *input.operands[0])) {
      return Invalid("the arrays of ", HloOpcodeName(input.opcode),
                     " have different extents: ", input.operands[0]->ToString(false), " and ",
                     input.operands[i]->ToString(false));
    }
    const Shape& init = *input.operands[arrays + i];
    if (!init.IsScalar() || !TypesAgree(init.element_type(), input.operands[i]->element_type())) {
      return Invalid("the initial value ", init.ToString(false), " does not fit the array ",
                     input.operands[i]->ToString(false));
    }
  }
  return absl::OkStatus();
}

// The element type of part `i` of a reduction's result: what the reducer returns.
ElementType ReducedType(const ShapeInferenceInput& input, size_t i) {
  const ElementType fallback = input.operands[i]->element_type();
  if (input.called_results.empty()) return fallback;
  const Shape& returned = *input.called_results[0];
  if (returned.IsArray()) return returned.element_type();
  if (i < returned.tuple_shapes().size()) return returned.tuple_shapes()[i].element_type();
  return fallback;
}

absl::Status CheckReducerResult(const ShapeInferenceInput& input, size_t arrays) {
  if (input.called_results.empty()) return absl::OkStatus();
  const Shape& returned = *input.called_results[0];
  const bool fits = arrays == 1 ? returned.IsScalar() ||
                                      (returned.IsTuple() && returned.tuple_shapes().size() == 1)
                                : returned.IsTuple() && returned.tuple_shapes().size() == arrays;
  if (fits) return absl::OkStatus();
  return Invalid("the computation of ", HloOpcodeName(input.opcode), " over ", arrays,
                 " array(s) returns ", returned.ToString(false));
}

Result TupleUnlessOne(std::vector<Shape> parts, bool is_tuple) {
  if (parts.size() == 1 && !is_tuple) return std::move(parts[0]);
  return Shape::Tuple(std::move(parts));
}

bool ReducerReturnsTuple(const ShapeInferenceInput& input) {
  return !input.called_results.empty() && input.called_results[0]->IsTuple();
}

}  // namespace

Result Reduce(const ShapeInferenceInput& input) {
  AUTOTUNE_RETURN_IF_ERROR(CheckReductionOperands(input));
  const size_t arrays = input.operands.size() / 2;
  AUTOTUNE_RETURN_IF_ERROR(CheckReducerResult(input, arrays));
  const Shape& first = *input.operands[0];
  AUTOTUNE_RETURN_IF_ERROR(
      CheckDimensionNumbers("dimensions of reduce", input.dimensions, first.rank()));
  std::vector<Shape> parts;
  for (size_t i = 0; i < arrays; ++i) {
    Shape part = Shape::Array(ReducedType(input, i), {});
    for (int64_t d = 0; d < first.rank(); ++d) {
      const bool reduced =
          std::find(input.dimensions.begin(), input.dimensions.end(), d) != input.dimensions.end();
      if (!reduced) part.add_dimension(first.dimensions(d), first.is_dynamic_dimension(d));
    }
    part.set_layout(Layout::Default(part.rank()));
    parts.push_back(std::move(part));
  }
  return TupleUnlessOne(std::move(parts), ReducerReturnsTuple(input));
}

Result ReduceWindow(const ShapeInferenceInput& input) {
  AUTOTUNE_RETURN_IF_ERROR(CheckReductionOperands(input));
  const size_t arrays = input.operands.size() / 2;
  AUTOTUNE_RETURN_IF_ERROR(CheckReducerResult(input, arrays));
  std::vector<Shape> parts;
  for (size_t i = 0; i < arrays; ++i) {
    // The initial value's type, where a reduce has the type that its computation returns.
    Result part = Windowed(*input.operands[i], input.attributes.window(),
                           input.operands[arrays + i]->element_type());
    if (!part.ok()) return part.status();
    parts.push_back(*std::move(part));
  }
  return TupleUnlessOne(std::move(parts), ReducerReturnsTuple(input));
}

Result SelectAndScatter(const ShapeInferenceInput& input) {
  AUTOTUNE_RETURN_IF_ERROR(CheckOperandCount(input, 3, 3));
  AUTOTUNE_RETURN_IF_ERROR(CheckArrays(input));
  const Shape& operand = *input.operands[0];
  const Shape& source = *input.operands[1];
  Result windowed = Windowed(operand, input.attributes.window(), operand.element_type());
  if (!windowed.ok()) return windowed.status();
  if (!DimensionsAgree(*windowed, source)) {
    return Invalid("the source of select-and-scatter is ", source.ToString(false),
                   ", but its window gives ", windowed->ToString(false));
  }
  if (!input.operands[2]->IsScalar()) {
    return Invalid("the initial value of select-and-scatter must be a scalar, got ",
                   input.operands[2]->ToString(false));
  }
  return ResultArray(operand.element_type(), operand.dimensions());
}

Result Pad(const ShapeInferenceInput& input) {
  AUTOTUNE_RETURN_IF_ERROR(CheckOperandCount(input, 2, 2));
  AUTOTUNE_RETURN_IF_ERROR(CheckArrays(input));
  const Shape& operand = *input.operands[0];
  const proto::PaddingConfig& padding = input.attributes.padding_config();
  if (padding.dimensions_size() != operand.rank()) {
    return Invalid("the padding has ", padding.dimensions_size(), " dimensions, the array rank ",
                   operand.rank());
  }
  if (!input.operands[1]->IsScalar() ||
      !TypesAgree(input.operands[1]->element_type(), operand.element_type())) {
    return Invalid("the padding value ", input.operands[1]->ToString(false),
                   " is no scalar of the array's type ", ElementTypeName(operand.element_type()));
  }
  DimensionVector dimensions(operand.rank());
  for (int i = 0; i < padding.dimensions_size(); ++i) {
    const auto& p = padding.dimensions(i);
    dimensions[i] = operand.dimensions(i);
    if (dimensions[i] == Shape::kUnbounded) continue;
    if (p.interior_padding() < 0 || !InRange(p.edge_padding_low()) ||
        !InRange(p.edge_padding_high()) || !InRange(p.interior_padding()) ||
        !InRange(dimensions[i])) {
      return Invalid("the padding of dimension ", i, " is out of range");
    }
    dimensions[i] = Dilated(dimensions[i], p.interior_padding() + 1) + p.edge_padding_low() +
                    p.edge_padding_high();
    if (dimensions[i] < 0) return Invalid("the padding of dimension ", i, " removes more than all");
  }
  return ResultArray(WiderType(operand.element_type(), input.operands[1]->element_type()),
                     dimensions);
}

}  // namespace shape_rules
}  // namespace autotune
