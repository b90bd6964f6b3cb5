// Shapes of convolutions and dots.

#include <algorithm>
#include <vector>

#include "hlo/element_type.h"
#include "hlo/shape_rules.h"

namespace autotune::shape_rules {
namespace {

// The dimension numbers of one array of a convolution must be a permutation of its dimensions.
absl::Status CheckPermutation(absl::string_view what, int64_t a, int64_t b,
                              const google::protobuf::RepeatedField<int64_t>& spatial,
                              int64_t rank) {
  std::vector<int64_t> numbers = {a, b};
  numbers.insert(numbers.end(), spatial.begin(), spatial.end());
  if (static_cast<int64_t>(numbers.size()) != rank) {
    return Invalid("the ", what, " of a convolution has rank ", rank, ", but dim_labels give it ",
                   numbers.size(), " dimensions");
  }
  return CheckDimensionNumbers(absl::StrCat("dim_labels of the ", what), numbers, rank);
}

struct ConvolutionExtents {
  int64_t input_batch, input_feature, kernel_input_feature, kernel_output_feature;
};

absl::Status CheckGroups(const ConvolutionExtents& e, int64_t feature_groups,
                         int64_t batch_groups) {
  if (feature_groups < 1 || batch_groups < 1 || (feature_groups > 1 && batch_groups > 1)) {
    return Invalid(
        "feature_group_count and batch_group_count must be positive, and one of them 1; ", "got ",
        feature_groups, " and ", batch_groups);
  }
  if (e.input_feature != Shape::kUnbounded && e.kernel_input_feature != Shape::kUnbounded) {
    if (e.kernel_input_feature > e.input_feature / feature_groups ||
        e.input_feature != e.kernel_input_feature * feature_groups) {
      return Invalid("the convolution's input has ", e.input_feature,
                     " features, which is not feature_group_count=", feature_groups,
                     " times the kernel's ", e.kernel_input_feature);
    }
  }
  if (e.kernel_output_feature % feature_groups != 0 ||
      e.kernel_output_feature % batch_groups != 0) {
    return Invalid("the kernel's ", e.kernel_output_feature,
                   " output features are not a multiple of the group count ",
                   std::max(feature_groups, batch_groups));
  }
  if (e.input_batch != Shape::kUnbounded && e.input_batch % batch_groups != 0) {
    return Invalid("the batch of ", e.input_batch,
                   " is not a multiple of batch_group_count=", batch_groups);
  }
  return absl::OkStatus();
}

ElementType ContractionType(const ShapeInferenceInput& input) {
  return WiderType(input.operands[0]->element_type(), input.operands[1]->element_type());
}

// The rank, element types and dimension numbers of both sides of a dot.
absl::Status CheckDotNumbers(const proto::DotDimensionNumbers& numbers, const Shape& lhs,
                             const Shape& rhs) {
  std::vector<int64_t> left(numbers.lhs_batch_dimensions().begin(),
                            numbers.lhs_batch_dimensions().end());
  left.insert(left.end(), numbers.lhs_contracting_dimensions().begin(),
              numbers.lhs_contracting_dimensions().end());
  std::vector<int64_t> right(numbers.rhs_batch_dimensions().begin(),
                             numbers.rhs_batch_dimensions().end());
  right.insert(right.end(), numbers.rhs_contracting_dimensions().begin(),
               numbers.rhs_contracting_dimensions().end());
  AUTOTUNE_RETURN_IF_ERROR(CheckDimensionNumbers("the left side of the dot", left, lhs.rank()));
  AUTOTUNE_RETURN_IF_ERROR(CheckDimensionNumbers("the right side of the dot", right, rhs.rank()));
  if (numbers.lhs_batch_dimensions_size() != numbers.rhs_batch_dimensions_size()) {
    return Invalid("the sides of the dot have different numbers of batch dimensions");
  }
  for (int i = 0; i < numbers.lhs_batch_dimensions_size(); ++i) {
    if (!ExtentsAgree(lhs.dimensions(numbers.lhs_batch_dimensions(i)),
                      rhs.dimensions(numbers.rhs_batch_dimensions(i)))) {
      return Invalid("batch dimension ", i, " of the dot differs: ", lhs.ToString(false), " and ",
                     rhs.ToString(false));
    }
  }
  return absl::OkStatus();
}

bool Holds(const google::protobuf::RepeatedField<int64_t>& numbers, int64_t d) {
  return std::find(numbers.begin(), numbers.end(), d) != numbers.end();
}

absl::Status CheckContracted(const proto::DotDimensionNumbers& numbers, const Shape& lhs,
                             const Shape& rhs) {
  if (numbers.lhs_contracting_dimensions_size() != numbers.rhs_contracting_dimensions_size()) {
    return Invalid("the sides of the dot contract different numbers of dimensions");
  }
  for (int i = 0; i < numbers.lhs_contracting_dimensions_size(); ++i) {
    const int64_t left = lhs.dimensions(numbers.lhs_contracting_dimensions(i));
    const int64_t right = rhs.dimensions(numbers.rhs_contracting_dimensions(i));
    if (!ExtentsAgree(left, right)) {
      return Invalid("the dot contracts extents ", left, " and ", right, " of ",
                     lhs.ToString(false), " and ", rhs.ToString(false));
    }
  }
  return absl::OkStatus();
}

// A side of a scaled-dot that is not scaled has a bf16 of one element in the place of its scales.
bool IsNoScale(const Shape& side, const Shape& scale) {
  if (side.element_type() != proto::BF16 || scale.element_type() != proto::BF16) return false;
  const auto is_one = [](int64_t extent) { return extent == 1; };
  return std::all_of(scale.dimensions().begin(), scale.dimensions().end(), is_one) &&
         !std::all_of(side.dimensions().begin(), side.dimensions().end(), is_one);
}

// Each extent of a side is a multiple of its scales' extent: a scale holds for a block.
absl::Status CheckScale(const Shape& side, int contracted, const Shape& scale,
                        absl::string_view which) {
  if (IsNoScale(side, scale)) return absl::OkStatus();
  if (scale.rank() != side.rank()) {
    return Invalid("the scales of the ", which,
                   " side of scaled-dot have another rank: ", scale.ToString(false), " for ",
                   side.ToString(false));
  }
  if (contracted != 1) return Invalid("scaled-dot contracts one dimension, not ", contracted);
  for (int64_t d = 0; d < side.rank(); ++d) {
    const int64_t scales = scale.dimensions(d);
    if (ExtentsAgree(side.dimensions(d), scales)) continue;
    if (scales > 0 && side.dimensions(d) % scales == 0) continue;
    return Invalid("dimension ", d, " of the ", which, " side of scaled-dot, ",
                   side.ToString(false), ", is no multiple of its scales', ",
                   scale.ToString(false));
  }
  return absl::OkStatus();
}

void AddDimension(const Shape& from, int64_t d, Shape* to) {
  to->add_dimension(from.dimensions(d), from.is_dynamic_dimension(d));
}

}  // namespace

Result Convolution(const ShapeInferenceInput& input) {
  AUTOTUNE_RETURN_IF_ERROR(CheckOperandCount(input, 2, 4));
  AUTOTUNE_RETURN_IF_ERROR(CheckArrays(input));
  const Shape& lhs = *input.operands[0];
  const Shape& rhs = *input.operands[1];
  const proto::ConvolutionDimensionNumbers& n = input.attributes.convolution_dimension_numbers();
  const int spatial_rank = n.input_spatial_dimensions_size();
  if (input.attributes.window().dimensions_size() != spatial_rank ||
      n.output_spatial_dimensions_size() != spatial_rank ||
      n.kernel_spatial_dimensions_size() != spatial_rank) {
    return Invalid("the convolution's window has ", input.attributes.window().dimensions_size(),
                   " dimensions, but dim_labels name ", spatial_rank, " spatial ones");
  }
  AUTOTUNE_RETURN_IF_ERROR(CheckPermutation("input", n.input_batch_dimension(),
                                            n.input_feature_dimension(),
                                            n.input_spatial_dimensions(), lhs.rank()));
  AUTOTUNE_RETURN_IF_ERROR(CheckPermutation("kernel", n.kernel_input_feature_dimension(),
                                            n.kernel_output_feature_dimension(),
                                            n.kernel_spatial_dimensions(), rhs.rank()));
  AUTOTUNE_RETURN_IF_ERROR(CheckPermutation("output", n.output_batch_dimension(),
                                            n.output_feature_dimension(),
                                            n.output_spatial_dimensions(), lhs.rank()));
  const ConvolutionExtents extents = {lhs.dimensions(n.input_batch_dimension()),
                                      lhs.dimensions(n.input_feature_dimension()),
                                      rhs.dimensions(n.kernel_input_feature_dimension()),
                                      rhs.dimensions(n.kernel_output_feature_dimension())};
  const int64_t batch_groups = input.attributes.batch_group_count();
  AUTOTUNE_RETURN_IF_ERROR(
      CheckGroups(extents, input.attributes.feature_group_count(), batch_groups));

  DimensionVector dimensions(lhs.rank());
  dimensions[n.output_batch_dimension()] = extents.input_batch == Shape::kUnbounded
                                               ? Shape::kUnbounded
                                               : extents.input_batch / batch_groups;
  dimensions[n.output_feature_dimension()] = extents.kernel_output_feature;
  for (int i = 0; i < spatial_rank; ++i) {
    const proto::WindowDimension& window = input.attributes.window().dimensions(i);
    const int64_t kernel = rhs.dimensions(n.kernel_spatial_dimensions(i));
    if (!ExtentsAgree(window.size(), kernel)) {
      return Invalid("the window's size ", window.size(), " in spatial dimension ", i,
                     " is not the kernel's extent ", kernel);
    }
    absl::StatusOr<int64_t> extent =
        WindowedExtent(lhs.dimensions(n.input_spatial_dimensions(i)), window);
    if (!extent.ok()) return extent.status();
    dimensions[n.output_spatial_dimensions(i)] = *extent;
  }
  return ResultArray(ContractionType(input), dimensions);
}

Result Dot(const ShapeInferenceInput& input) {
  AUTOTUNE_RETURN_IF_ERROR(CheckOperandCount(input, 2, 6));
  AUTOTUNE_RETURN_IF_ERROR(CheckArrays(input));
  const Shape& lhs = *input.operands[0];
  const Shape& rhs = *input.operands[1];
  const proto::DotDimensionNumbers& n = input.attributes.dot_dimension_numbers();
  AUTOTUNE_RETURN_IF_ERROR(CheckDotNumbers(n, lhs, rhs));
  if (!input.attributes.has_sparsity_config()) {
    AUTOTUNE_RETURN_IF_ERROR(CheckContracted(n, lhs, rhs));
  }
  if (input.opcode == HloOpcode::kScaledDot) {
    AUTOTUNE_RETURN_IF_ERROR(CheckOperandCount(input, 4, 4));
    AUTOTUNE_RETURN_IF_ERROR(
        CheckScale(lhs, n.lhs_contracting_dimensions_size(), *input.operands[2], "left"));
    AUTOTUNE_RETURN_IF_ERROR(
        CheckScale(rhs, n.rhs_contracting_dimensions_size(), *input.operands[3], "right"));
    if (input.operands[2]->rank() == 0 && input.operands[3]->rank() == 0) {
      return Invalid("one of the scales of scaled-dot must be more than a scalar");
    }
  }
  Shape result = Shape::Array(ContractionType(input), {});
  for (int64_t d : n.lhs_batch_dimensions()) AddDimension(lhs, d, &result);
  for (int64_t d = 0; d < lhs.rank(); ++d) {
    if (!Holds(n.lhs_batch_dimensions(), d) && !Holds(n.lhs_contracting_dimensions(), d)) {
      AddDimension(lhs, d, &result);
    }
  }
  for (int64_t d = 0; d < rhs.rank(); ++d) {
    if (!Holds(n.rhs_batch_dimensions(), d) && !Holds(n.rhs_contracting_dimensions(), d)) {
      AddDimension(rhs, d, &result);
    }
  }
  result.set_layout(Layout::Default(result.rank()));
  return result;
}

Result RaggedDot(const ShapeInferenceInput& input) {
  AUTOTUNE_RETURN_IF_ERROR(CheckOperandCount(input, 3, 3));
  AUTOTUNE_RETURN_IF_ERROR(CheckArrays(input));
  const Shape& lhs = *input.operands[0];
  const Shape& rhs = *input.operands[1];
  const Shape& groups = *input.operands[2];
  const proto::RaggedDotDimensionNumbers& ragged = input.attributes.ragged_dot_dimension_numbers();
  const proto::DotDimensionNumbers& n = ragged.dot_dimension_numbers();
  AUTOTUNE_RETURN_IF_ERROR(CheckDotNumbers(n, lhs, rhs));
  AUTOTUNE_RETURN_IF_ERROR(CheckContracted(n, lhs, rhs));
  AUTOTUNE_RETURN_IF_ERROR(
      CheckDimensionNumbers("lhs_ragged_dims", ragged.lhs_ragged_dimensions(), lhs.rank()));
  AUTOTUNE_RETURN_IF_ERROR(
      CheckDimensionNumbers("rhs_group_dims", ragged.rhs_group_dimensions(), rhs.rank()));
  if (ragged.lhs_ragged_dimensions_size() != 1 || groups.rank() < 1) {
    return Invalid("ragged-dot takes one ragged dimension and an array of group sizes");
  }
  const int64_t ragged_dimension = ragged.lhs_ragged_dimensions(0);
  Shape result = Shape::Array(ContractionType(input), {});
  // Contracting over the ragged dimension gives one result a group.
  if (Holds(n.lhs_contracting_dimensions(), ragged_dimension)) {
    AddDimension(groups, groups.rank() - 1, &result);
  }
  for (int64_t d : n.lhs_batch_dimensions()) AddDimension(lhs, d, &result);
  for (int64_t d = 0; d < lhs.rank(); ++d) {
    if (!Holds(n.lhs_batch_dimensions(), d) && !Holds(n.lhs_contracting_dimensions(), d)) {
      AddDimension(lhs, d, &result);
    }
  }
  for (int64_t d = 0; d < rhs.rank(); ++d) {
    if (!Holds(n.rhs_batch_dimensions(), d) && !Holds(n.rhs_contracting_dimensions(), d) &&
        !Holds(ragged.rhs_group_dimensions(), d)) {
      AddDimension(rhs, d, &result);
    }
  }
  result.set_layout(Layout::Default(result.rank()));
  return result;
}

}  // namespace autotune::shape_rules
