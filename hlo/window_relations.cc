#include "hlo/window_relations.h"

#include <algorithm>

#include "hlo/int_math.h"
#include "hlo/layout.h"
#include "hlo/shape.h"

namespace autotune {
namespace {

using Extents = absl::Span<const int64_t>;

// Dimension numbers in physical order, major to minor.
DimensionVector PhysicalOrder(const Shape& shape) {
  const Layout layout = shape.has_layout() ? shape.layout() : Layout::Default(shape.rank());
  DimensionVector order(layout.minor_to_major.rbegin(), layout.minor_to_major.rend());
  return order;
}

bool SameDimensions(const Shape& a, const Shape& b) {
  return a.IsArray() && b.IsArray() && a.dimensions() == b.dimensions();
}

// The arrays of a tuple-shaped result have the same dimensions where this is asked (variadic
// reduce); takes the first.
const Shape& ArrayShape(const Shape& shape) {
  return shape.IsTuple() && !shape.tuple_shapes().empty() ? shape.tuple_shapes(0) : shape;
}

// The windows for an array of other extents that holds the same window somewhere (slice, pad, ...).
std::optional<Windows> Resized(const Windows& windows, const Shape& shape) {
  if (!shape.IsArray() || static_cast<int64_t>(windows.size()) != shape.rank()) return std::nullopt;
  Windows resized;
  for (int64_t d = 0; d < shape.rank(); ++d) {
    const WindowDim& dim = windows[static_cast<size_t>(d)];
    resized.push_back(dim.WithElements(shape.dimensions(d)));
    if (dim.loops.empty() && dim.fixed == 0 && dim.elements < shape.dimensions(d)) {
      resized.back().fixed = dim.elements;
    }
  }
  return resized;
}

std::optional<Windows> SliceOperand(const HloInstruction& instruction, const Windows& result) {
  std::optional<Windows> windows = Resized(result, instruction.operand(0).shape());
  const auto& slices = instruction.attributes().slice_dimensions();
  if (!windows || slices.size() != static_cast<int>(windows->size())) return windows;
  for (int d = 0; d < slices.size(); ++d) {
    WindowDim& dim = (*windows)[static_cast<size_t>(d)];
    const int64_t stride = std::max<int64_t>(1, slices[d].stride());
    if (!dim.convolved) dim.multiplier = SaturatingMultiply(dim.multiplier, stride);
    dim.fixed = SaturatingMultiply(dim.fixed, stride);
  }
  return windows;
}

// One window over the product of windows[begin, end).
WindowDim Merge(const Windows& windows, size_t begin, size_t end) {
  WindowDim merged;
  int64_t extent = 1;
  for (size_t d = begin; d < end; ++d) {
    const WindowDim& dim = windows[d];
    extent = SaturatingMultiply(extent, dim.elements);
    if (dim.loops.empty()) {
      merged.multiplier = SaturatingMultiply(merged.multiplier, dim.Elements({}));
    } else if (dim.convolved) {
      // A halo along a part of a dimension has no closed form: take the whole dimension.
      merged.multiplier = SaturatingMultiply(merged.multiplier, dim.elements);
    } else {
      merged.loops.insert(merged.loops.end(), dim.loops.begin(), dim.loops.end());
      merged.multiplier = SaturatingMultiply(merged.multiplier, dim.multiplier);
      merged.divisor = SaturatingMultiply(merged.divisor, dim.divisor);
    }
  }
  merged.elements = extent;
  if (merged.loops.empty()) merged.fixed = merged.multiplier;
  return merged;
}

// Appends the windows of `extents`, into which one dimension is split.
void Split(const WindowDim& merged, Extents extents, Windows* out) {
  int64_t minor = merged.elements;
  for (const int64_t extent : extents) {
    minor = extent == 0 ? 1 : minor / extent;
    WindowDim part = merged.WithElements(extent);
    if (extent == 1) {
      part = WindowDim::Whole(1);
    } else {
      minor = std::max<int64_t>(minor, 1);
      part.divisor = SaturatingMultiply(part.divisor, minor);
      part.fixed = CeilDiv(part.fixed, minor);
    }
    out->push_back(part);
  }
}

std::optional<Windows> Permuted(const Windows& windows, Extents from, const Shape& to) {
  if (static_cast<int64_t>(from.size()) != to.rank()) return std::nullopt;
  Windows result;
  for (size_t d = 0; d < from.size(); ++d) {
    const size_t source = static_cast<size_t>(from[d]);
    if (source >= windows.size()) return std::nullopt;
    result.push_back(windows[source].WithElements(to.dimensions(static_cast<int64_t>(d))));
  }
  return result;
}

// The windows of `to`, which holds the elements of `from` in the same physical order.
std::optional<Windows> Bitcast(const Windows& windows, const Shape& from, const Shape& to) {
  if (from.ElementsIn() != to.ElementsIn() || from.ElementsIn() == 0) return std::nullopt;
  if (static_cast<int64_t>(windows.size()) != from.rank()) return std::nullopt;
  const DimensionVector from_order = PhysicalOrder(from);
  const DimensionVector to_order = PhysicalOrder(to);
  Windows physical;
  for (const int64_t d : from_order) physical.push_back(windows[static_cast<size_t>(d)]);
  const Windows regrouped =
      RegroupWindows(physical, from.PhysicalDimensions(), to.PhysicalDimensions());
  Windows result(static_cast<size_t>(to.rank()));
  for (size_t p = 0; p < to_order.size(); ++p) {
    result[static_cast<size_t>(to_order[p])] = regrouped[p];
  }
  return result;
}

std::optional<Windows> Reshape(const Windows& windows, const Shape& from, const Shape& to) {
  if (from.ElementsIn() != to.ElementsIn() || from.ElementsIn() == 0) return std::nullopt;
  if (static_cast<int64_t>(windows.size()) != from.rank()) return std::nullopt;
  return RegroupWindows(windows, from.dimensions(), to.dimensions());
}

// Of a reduce-window that is not the hero: the halo is left out, strides are kept.
std::optional<Windows> ReduceWindowOperand(const HloInstruction& instruction,
                                           const Windows& result) {
  const Shape& operand = instruction.operand(0).shape();
  std::optional<Windows> windows = Resized(result, operand);
  const auto& window = instruction.attributes().window();
  if (!windows || window.dimensions_size() != operand.rank()) return windows;
  for (int64_t d = 0; d < operand.rank(); ++d) {
    WindowDim& dim = (*windows)[static_cast<size_t>(d)];
    if (dim.convolved) continue;
    const int64_t stride = window.dimensions(static_cast<int>(d)).stride();
    dim.multiplier = SaturatingMultiply(dim.multiplier, std::max<int64_t>(1, stride));
  }
  return windows;
}

std::optional<Windows> ReduceOperand(const HloInstruction& instruction, const Shape& operand,
                                     const Windows& result) {
  Windows windows;
  size_t next = 0;
  const auto reduced = instruction.dimensions();
  for (int64_t d = 0; d < operand.rank(); ++d) {
    if (std::find(reduced.begin(), reduced.end(), d) != reduced.end()) {
      windows.push_back(WindowDim::Whole(operand.dimensions(d)));
    } else if (next < result.size()) {
      windows.push_back(result[next++].WithElements(operand.dimensions(d)));
    } else {
      return std::nullopt;
    }
  }
  return windows;
}

std::optional<Windows> ReduceResult(const HloInstruction& instruction, const Windows& operand) {
  Windows windows;
  const auto reduced = instruction.dimensions();
  for (size_t d = 0; d < operand.size(); ++d) {
    if (std::find(reduced.begin(), reduced.end(), static_cast<int64_t>(d)) == reduced.end()) {
      windows.push_back(operand[d]);
    }
  }
  return windows;
}

// Of a matrix product that is not the hero: contracted dimensions are needed whole.
std::optional<Windows> ConvolutionOperand(const HloInstruction& instruction, int64_t i,
                                          const Windows& result) {
  const auto& numbers = instruction.attributes().convolution_dimension_numbers();
  const Shape& shape = instruction.operand(i).shape();
  if (static_cast<int64_t>(result.size()) != shape.rank()) return std::nullopt;
  Windows windows;
  for (int64_t d = 0; d < shape.rank(); ++d)
    windows.push_back(WindowDim::Whole(shape.dimensions(d)));
  const auto copy = [&](int64_t from, int64_t to) {
    const size_t source = static_cast<size_t>(from);
    const size_t target = static_cast<size_t>(to);
    if (source >= result.size() || target >= windows.size()) return;
    if (result[source].elements != windows[target].elements) return;
    windows[target] = result[source];
  };
  if (i == 0) {
    copy(numbers.output_batch_dimension(), numbers.input_batch_dimension());
    for (int s = 0; s < numbers.input_spatial_dimensions_size(); ++s) {
      if (s >= numbers.output_spatial_dimensions_size()) break;
      copy(numbers.output_spatial_dimensions(s), numbers.input_spatial_dimensions(s));
    }
  } else {
    copy(numbers.output_feature_dimension(), numbers.kernel_output_feature_dimension());
  }
  return windows;
}

}  // namespace

Windows RegroupWindows(const Windows& windows, Extents from, Extents to) {
  Windows result;
  size_t i = 0;
  size_t j = 0;
  while (i < from.size() || j < to.size()) {
    // The smallest groups of dimensions with equal products.
    size_t i_end = i;
    size_t j_end = j;
    int64_t product_from = i_end < from.size() ? from[i_end++] : 1;
    int64_t product_to = j_end < to.size() ? to[j_end++] : 1;
    while (product_from != product_to) {
      if (product_from < product_to && i_end < from.size()) {
        product_from = SaturatingMultiply(product_from, from[i_end++]);
      } else if (j_end < to.size()) {
        product_to = SaturatingMultiply(product_to, to[j_end++]);
      } else {
        break;
      }
    }
    if (i_end - i == 1 && j_end - j == 1) {
      result.push_back(windows[i].WithElements(to[j]));
    } else {
      const WindowDim merged =
          i_end - i == 1 ? windows[i].WithElements(from[i]) : Merge(windows, i, i_end);
      Split(merged, to.subspan(j, j_end - j), &result);
    }
    i = i_end;
    j = j_end;
  }
  return result;
}

std::optional<Windows> OperandWindows(const HloInstruction& instruction, int64_t i,
                                      const Windows& result) {
  const Shape& operand = instruction.operand(i).shape();
  if (!operand.IsArray()) return std::nullopt;
  if (operand.rank() == 0) return Windows();
  switch (instruction.opcode()) {
    case HloOpcode::kBroadcast: {
      return Permuted(result, instruction.dimensions(), operand);
    }
    case HloOpcode::kTranspose: {
      Windows windows(result.size());
      const auto permutation = instruction.dimensions();
      if (permutation.size() != result.size()) return std::nullopt;
      for (size_t d = 0; d < result.size(); ++d) {
        windows[static_cast<size_t>(permutation[d])] = result[d];
      }
      return windows;
    }
    case HloOpcode::kBitcast:
      return Bitcast(result, instruction.shape(), operand);
    case HloOpcode::kReshape:
      return Reshape(result, instruction.shape(), operand);
    case HloOpcode::kReduce:
      if (2 * i >= instruction.operand_count()) return Windows();
      return ReduceOperand(instruction, operand, result);
    case HloOpcode::kReduceWindow:
      if (2 * i >= instruction.operand_count()) return Windows();
      return ReduceWindowOperand(instruction, result);
    case HloOpcode::kConvolution:
      return ConvolutionOperand(instruction, i, result);
    case HloOpcode::kSlice:
      return SliceOperand(instruction, result);
    case HloOpcode::kPad:
    case HloOpcode::kConcatenate:
    case HloOpcode::kReverse:
    case HloOpcode::kDynamicUpdateSlice:
      return Resized(result, operand);
    case HloOpcode::kDynamicSlice:
      return i == 0 ? Resized(result, operand) : std::nullopt;
    default:
      if (!SameDimensions(operand, ArrayShape(instruction.shape()))) return std::nullopt;
      return result;
  }
}

std::optional<Windows> ResultWindows(const HloInstruction& instruction, int64_t i,
                                     const Windows& operand) {
  const Shape& from = instruction.operand(i).shape();
  const Shape& to = ArrayShape(instruction.shape());
  if (!from.IsArray() || !to.IsArray() || from.rank() == 0) return std::nullopt;
  switch (instruction.opcode()) {
    case HloOpcode::kBroadcast:
    case HloOpcode::kConvolution:
    case HloOpcode::kDynamicSlice:
      return std::nullopt;
    case HloOpcode::kTranspose:
      return Permuted(operand, instruction.dimensions(), to);
    case HloOpcode::kBitcast:
      return Bitcast(operand, from, to);
    case HloOpcode::kReshape:
      return Reshape(operand, from, to);
    case HloOpcode::kReduce:
      if (2 * i >= instruction.operand_count()) return std::nullopt;
      return ReduceResult(instruction, operand);
    case HloOpcode::kPad:
    case HloOpcode::kSlice:
    case HloOpcode::kConcatenate:
    case HloOpcode::kReverse:
      return Resized(operand, to);
    case HloOpcode::kDynamicUpdateSlice:
      return i == 0 ? Resized(operand, to) : std::nullopt;
    default:
      if (!SameDimensions(from, to)) return std::nullopt;
      return operand;
  }
}

}  // namespace autotune
