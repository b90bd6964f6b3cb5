// Shapes of operations that pick, move or place elements by position.

#include <algorithm>
#include <limits>
#include <vector>

#include "hlo/element_type.h"
#include "hlo/shape_rules.h"

namespace autotune::shape_rules {
namespace {

using Numbers = google::protobuf::RepeatedField<int64_t>;

bool Holds(const Numbers& numbers, int64_t d) {
  return std::find(numbers.begin(), numbers.end(), d) != numbers.end();
}

std::vector<int64_t> Joined(const Numbers& a, const Numbers& b) {
  std::vector<int64_t> joined(a.begin(), a.end());
  joined.insert(joined.end(), b.begin(), b.end());
  return joined;
}

// Start indices from operand `first` on: one rank-1 array, or a scalar for each dimension.
absl::Status CheckStartIndices(const ShapeInferenceInput& input, size_t first, int64_t rank) {
  const size_t count = input.operands.size() - first;
  const bool is_vector = count == 1 && input.operands[first]->rank() == 1 &&
                         ExtentsAgree(input.operands[first]->dimensions(0), rank);
  bool are_scalars = static_cast<int64_t>(count) == rank;
  for (size_t i = first; i < input.operands.size(); ++i) {
    if (!IsIntegral(input.operands[i]->element_type())) {
      return Invalid("start index ", i - first, " of ", HloOpcodeName(input.opcode),
                     " must be integral, got ", input.operands[i]->ToString(false));
    }
    are_scalars = are_scalars && input.operands[i]->IsScalar();
  }
  if (is_vector || are_scalars) return absl::OkStatus();
  return Invalid(HloOpcodeName(input.opcode), " of an array of rank ", rank,
                 " takes that many scalar start indices, got ", count);
}

// What gather and scatter say about their indices in the same way.
struct IndexNumbers {
  int64_t index_vector_dim;
  const Numbers& operand_dims;  // start_index_map, scatter_dims_to_operand_dims
  const Numbers& operand_batching_dims;
  const Numbers& indices_batching_dims;
  const Numbers& removed_dims;  // collapsed_slice_dims, inserted_window_dims
};

absl::Status CheckIndexNumbers(const IndexNumbers& n, const Shape& operand, const Shape& indices) {
  if (!IsIntegral(indices.element_type())) {
    return Invalid("indices must be integral, got ", indices.ToString(false));
  }
  if (n.index_vector_dim < 0 || n.index_vector_dim > indices.rank()) {
    return Invalid("index_vector_dim=", n.index_vector_dim, " is out of range for indices of rank ",
                   indices.rank());
  }
  const int64_t vector_size =
      n.index_vector_dim == indices.rank() ? 1 : indices.dimensions(n.index_vector_dim);
  if (!ExtentsAgree(vector_size, n.operand_dims.size())) {
    return Invalid("the index vectors have ", vector_size, " elements, but ", n.operand_dims.size(),
                   " dimensions are indexed");
  }
  AUTOTUNE_RETURN_IF_ERROR(CheckDimensionNumbers("the index map", n.operand_dims, operand.rank()));
  AUTOTUNE_RETURN_IF_ERROR(CheckDimensionNumbers(
      "the dimensions left out", Joined(n.removed_dims, n.operand_batching_dims), operand.rank()));
  AUTOTUNE_RETURN_IF_ERROR(CheckDimensionNumbers("the batching dimensions of the indices",
                                                 n.indices_batching_dims, indices.rank()));
  if (n.operand_batching_dims.size() != n.indices_batching_dims.size()) {
    return Invalid("operand and indices have different numbers of batching dimensions");
  }
  return absl::OkStatus();
}

}  // namespace

Result Concatenate(const ShapeInferenceInput& input) {
  AUTOTUNE_RETURN_IF_ERROR(CheckOperandCount(input, 1, std::numeric_limits<size_t>::max()));
  AUTOTUNE_RETURN_IF_ERROR(CheckArrays(input));
  Shape result = *input.operands[0];
  if (input.dimensions.size() != 1) return Invalid("concatenate takes one dimension");
  AUTOTUNE_RETURN_IF_ERROR(
      CheckDimensionNumbers("dimensions of concatenate", input.dimensions, result.rank()));
  const int64_t along = input.dimensions[0];
  for (size_t i = 1; i < input.operands.size(); ++i) {
    const Shape& operand = *input.operands[i];
    bool fits = operand.rank() == result.rank() &&
                TypesAgree(operand.element_type(), result.element_type());
    for (int64_t d = 0; fits && d < result.rank(); ++d) {
      fits = d == along || ExtentsAgree(operand.dimensions(d), result.dimensions(d));
    }
    if (!fits) {
      return Invalid("cannot concatenate ", operand.ToString(false), " to ",
                     input.operands[0]->ToString(false), " along dimension ", along);
    }
    const bool unbounded = result.dimensions(along) == Shape::kUnbounded ||
                           operand.dimensions(along) == Shape::kUnbounded;
    if (!unbounded &&
        result.dimensions(along) >
            std::numeric_limits<int64_t>::max() - std::max<int64_t>(0, operand.dimensions(along))) {
      return Invalid("the concatenated extent is too large");
    }
    result.set_dimension(along, unbounded ? Shape::kUnbounded
                                          : result.dimensions(along) + operand.dimensions(along));
    if (operand.is_dynamic_dimension(along)) result.set_dynamic_dimension(along, true);
    result.set_element_type(WiderType(result.element_type(), operand.element_type()));
  }
  result.set_layout(Layout::Default(result.rank()));
  return result;
}

Result Transpose(const ShapeInferenceInput& input) {
  AUTOTUNE_RETURN_IF_ERROR(CheckOperandCount(input, 1, 1));
  AUTOTUNE_RETURN_IF_ERROR(CheckArrays(input));
  const Shape& operand = *input.operands[0];
  if (static_cast<int64_t>(input.dimensions.size()) != operand.rank()) {
    return Invalid("transpose of an array of rank ", operand.rank(), " names ",
                   input.dimensions.size(), " dimensions");
  }
  AUTOTUNE_RETURN_IF_ERROR(
      CheckDimensionNumbers("dimensions of transpose", input.dimensions, operand.rank()));
  Shape result = Shape::Array(operand.element_type(), {});
  for (int64_t d : input.dimensions) {
    result.add_dimension(operand.dimensions(d), operand.is_dynamic_dimension(d));
  }
  result.set_layout(Layout::Default(result.rank()));
  return result;
}

Result Reverse(const ShapeInferenceInput& input) {
  AUTOTUNE_RETURN_IF_ERROR(CheckOperandCount(input, 1, 1));
  AUTOTUNE_RETURN_IF_ERROR(CheckArrays(input));
  AUTOTUNE_RETURN_IF_ERROR(
      CheckDimensionNumbers("dimensions of reverse", input.dimensions, input.operands[0]->rank()));
  return *input.operands[0];
}

Result Slice(const ShapeInferenceInput& input) {
  AUTOTUNE_RETURN_IF_ERROR(CheckOperandCount(input, 1, 1));
  AUTOTUNE_RETURN_IF_ERROR(CheckArrays(input));
  const Shape& operand = *input.operands[0];
  const auto& slices = input.attributes.slice_dimensions();
  if (slices.size() != operand.rank()) {
    return Invalid("slice of an array of rank ", operand.rank(), " gives ", slices.size(),
                   " ranges");
  }
  DimensionVector dimensions;
  for (int i = 0; i < slices.size(); ++i) {
    const auto& s = slices[i];
    const int64_t stride = s.stride() == 0 ? 1 : s.stride();
    const int64_t extent = operand.dimensions(i);
    if (s.start() < 0 || s.limit() < s.start() || stride < 1 ||
        (extent != Shape::kUnbounded && s.limit() > extent)) {
      return Invalid("slice [", s.start(), ":", s.limit(), ":", s.stride(), "] of dimension ", i,
                     " does not fit ", operand.ToString(false));
    }
    const int64_t length = s.limit() - s.start();
    dimensions.push_back(length / stride + (length % stride != 0));
  }
  return ResultArray(operand.element_type(), dimensions);
}

Result DynamicSlice(const ShapeInferenceInput& input) {
  AUTOTUNE_RETURN_IF_ERROR(CheckOperandCount(input, 1, std::numeric_limits<size_t>::max()));
  AUTOTUNE_RETURN_IF_ERROR(CheckArrays(input));
  const Shape& operand = *input.operands[0];
  const Numbers& sizes = input.attributes.dynamic_slice_sizes();
  if (sizes.size() != operand.rank()) {
    return Invalid("dynamic-slice of an array of rank ", operand.rank(), " gives ", sizes.size(),
                   " sizes");
  }
  AUTOTUNE_RETURN_IF_ERROR(CheckStartIndices(input, 1, operand.rank()));
  for (int i = 0; i < sizes.size(); ++i) {
    const int64_t extent = operand.dimensions(i);
    if (sizes[i] < 0 || (extent != Shape::kUnbounded && sizes[i] > extent)) {
      return Invalid("dynamic-slice size ", sizes[i], " of dimension ", i, " does not fit ",
                     operand.ToString(false));
    }
  }
  return ResultArray(operand.element_type(), sizes);
}

Result DynamicUpdateSlice(const ShapeInferenceInput& input) {
  AUTOTUNE_RETURN_IF_ERROR(CheckOperandCount(input, 2, std::numeric_limits<size_t>::max()));
  AUTOTUNE_RETURN_IF_ERROR(CheckArrays(input));
  const Shape& operand = *input.operands[0];
  const Shape& update = *input.operands[1];
  bool fits =
      update.rank() == operand.rank() && TypesAgree(update.element_type(), operand.element_type());
  for (int64_t d = 0; fits && d < operand.rank(); ++d) {
    fits =
        operand.dimensions(d) == Shape::kUnbounded || update.dimensions(d) <= operand.dimensions(d);
  }
  if (!fits) {
    return Invalid("the update ", update.ToString(false), " does not fit into ",
                   operand.ToString(false));
  }
  AUTOTUNE_RETURN_IF_ERROR(CheckStartIndices(input, 2, operand.rank()));
  Shape result = operand;
  result.set_layout(Layout::Default(result.rank()));
  return result;
}

Result Gather(const ShapeInferenceInput& input) {
  AUTOTUNE_RETURN_IF_ERROR(CheckOperandCount(input, 2, 2));
  AUTOTUNE_RETURN_IF_ERROR(CheckArrays(input));
  const Shape& operand = *input.operands[0];
  const Shape& indices = *input.operands[1];
  const proto::GatherDimensionNumbers& n = input.attributes.gather_dimension_numbers();
  AUTOTUNE_RETURN_IF_ERROR(
      CheckIndexNumbers({n.index_vector_dim(), n.start_index_map(), n.operand_batching_dims(),
                         n.start_indices_batching_dims(), n.collapsed_slice_dims()},
                        operand, indices));
  const Numbers& sizes = input.attributes.gather_slice_sizes();
  if (sizes.size() != operand.rank()) {
    return Invalid("gather from an array of rank ", operand.rank(), " gives ", sizes.size(),
                   " slice sizes");
  }
  std::vector<int64_t> window;
  for (int d = 0; d < sizes.size(); ++d) {
    const int64_t extent = operand.dimensions(d);
    if (sizes[d] < 0 || (extent != Shape::kUnbounded && sizes[d] > extent)) {
      return Invalid("gather slice size ", sizes[d], " of dimension ", d, " does not fit ",
                     operand.ToString(false));
    }
    const bool removed = Holds(n.collapsed_slice_dims(), d) || Holds(n.operand_batching_dims(), d);
    if (removed && sizes[d] > 1) {
      return Invalid("gather leaves out dimension ", d, ", whose slice size is ", sizes[d]);
    }
    if (!removed) window.push_back(sizes[d]);
  }
  const int64_t batch_rank = indices.rank() - (n.index_vector_dim() < indices.rank() ? 1 : 0);
  const int64_t rank = batch_rank + static_cast<int64_t>(window.size());
  if (static_cast<size_t>(n.offset_dims_size()) != window.size()) {
    return Invalid("gather has ", n.offset_dims_size(), " offset_dims for ", window.size(),
                   " dimensions of its slices");
  }
  AUTOTUNE_RETURN_IF_ERROR(CheckDimensionNumbers("offset_dims", n.offset_dims(), rank));
  DimensionVector dimensions;
  size_t next_window = 0;
  int64_t next_batch = 0;
  for (int64_t d = 0; d < rank; ++d) {
    if (Holds(n.offset_dims(), d)) {
      dimensions.push_back(window[next_window++]);
      continue;
    }
    if (next_batch == n.index_vector_dim()) ++next_batch;
    dimensions.push_back(indices.dimensions(next_batch++));
  }
  return ResultArray(operand.element_type(), dimensions);
}

Result Scatter(const ShapeInferenceInput& input) {
  AUTOTUNE_RETURN_IF_ERROR(CheckOperandCount(input, 3, std::numeric_limits<size_t>::max()));
  AUTOTUNE_RETURN_IF_ERROR(CheckArrays(input));
  if (input.operands.size() % 2 == 0) {
    return Invalid("scatter takes as many updates as operands, and one array of indices");
  }
  const size_t arrays = input.operands.size() / 2;
  const Shape& indices = *input.operands[arrays];
  const proto::ScatterDimensionNumbers& n = input.attributes.scatter_dimension_numbers();
  const int64_t batch_rank = indices.rank() - (n.index_vector_dim() < indices.rank() ? 1 : 0);
  std::vector<Shape> parts;
  for (size_t i = 0; i < arrays; ++i) {
    const Shape& operand = *input.operands[i];
    const Shape& updates = *input.operands[arrays + 1 + i];
    AUTOTUNE_RETURN_IF_ERROR(CheckIndexNumbers(
        {n.index_vector_dim(), n.scatter_dims_to_operand_dims(), n.input_batching_dims(),
         n.scatter_indices_batching_dims(), n.inserted_window_dims()},
        operand, indices));
    const int64_t window_rank =
        operand.rank() - n.inserted_window_dims_size() - n.input_batching_dims_size();
    if (n.update_window_dims_size() != window_rank || updates.rank() != batch_rank + window_rank ||
        !TypesAgree(updates.element_type(), operand.element_type())) {
      return Invalid("the updates ", updates.ToString(false), " of scatter do not fit the operand ",
                     operand.ToString(false), " and indices ", indices.ToString(false));
    }
    AUTOTUNE_RETURN_IF_ERROR(
        CheckDimensionNumbers("update_window_dims", n.update_window_dims(), updates.rank()));
    parts.push_back(operand);
    parts.back().set_layout(Layout::Default(operand.rank()));
  }
  if (parts.size() == 1) return std::move(parts[0]);
  return Shape::Tuple(std::move(parts));
}

Result Sort(const ShapeInferenceInput& input) {
  AUTOTUNE_RETURN_IF_ERROR(CheckOperandCount(input, 1, std::numeric_limits<size_t>::max()));
  AUTOTUNE_RETURN_IF_ERROR(CheckArrays(input));
  const Shape& first = *input.operands[0];
  if (input.dimensions.size() != 1) return Invalid("sort takes one dimension");
  AUTOTUNE_RETURN_IF_ERROR(
      CheckDimensionNumbers("dimensions of sort", input.dimensions, first.rank()));
  std::vector<Shape> parts;
  for (const Shape* operand : input.operands) {
    if (!DimensionsAgree(*operand, first)) {
      return Invalid("sort operands have different extents: ", first.ToString(false), " and ",
                     operand->ToString(false));
    }
    parts.push_back(*operand);
  }
  if (parts.size() == 1) return std::move(parts[0]);
  return Shape::Tuple(std::move(parts));
}

}  // namespace autotune::shape_rules
