// The bounds of a tile: which the compiler considers, and which a kernel accepts.

#include <algorithm>
#include <functional>
#include <optional>

#include "absl/strings/str_cat.h"
#include "hlo/int_math.h"
#include "hlo/tile_geometry.h"

namespace autotune {
namespace {

// A contraction is cut into multiples of the matrix unit's 128 rows.
constexpr int64_t kContractedMultiple = 128;

// The bounds ceil(units / n) * granule, n = 1, 2, ..., where `tiles` is units * granule or less:
// descending, the largest clipped to `tiles`.
std::vector<int64_t> EvenParts(int64_t tiles, int64_t granule = 1) {
  std::vector<int64_t> bounds;
  const int64_t units = CeilDiv(tiles, granule);
  for (int64_t bound = units; bound >= 1;) {
    bounds.push_back(std::min(tiles, bound * granule));
    if (bound == 1) break;
    // The smallest number of parts that makes them smaller.
    const int64_t parts = CeilDiv(units, bound - 1);
    bound = CeilDiv(units, parts);
  }
  return bounds;
}

// Both lists as one, descending, each bound once.
std::vector<int64_t> Merged(std::vector<int64_t> bounds, const std::vector<int64_t>& more) {
  bounds.insert(bounds.end(), more.begin(), more.end());
  std::sort(bounds.begin(), bounds.end(), std::greater<>());
  bounds.erase(std::unique(bounds.begin(), bounds.end()), bounds.end());
  return bounds;
}

// Where a bound is outside of its dimension, or nothing. REQUIRES: equal sizes.
std::optional<size_t> FirstOutside(const WindowBounds& bounds, absl::Span<const BoundDim> dims) {
  for (size_t i = 0; i < dims.size(); ++i) {
    if (bounds[i] < 1 || bounds[i] > dims[i].tiles) return i;
  }
  return std::nullopt;
}

absl::Status BoundsError(const WindowBounds& bounds, absl::Span<const BoundDim> dims,
                         absl::string_view what) {
  if (bounds.size() != dims.size()) {
    return absl::InvalidArgumentError(absl::StrCat("The tile has ", bounds.size(), " ", what,
                                                   " bounds, the kernel needs ", dims.size()));
  }
  const size_t i = *FirstOutside(bounds, dims);
  return absl::InvalidArgumentError(absl::StrCat("The ", what, " bound ", bounds[i],
                                                 " at position ", i, " is not within 1 and ",
                                                 dims[i].tiles));
}

}  // namespace

int64_t TileGeometry::TiedKernelBound(int kernel_position, int64_t output_bound) const {
  const BoundDim& kernel = kernel_dims_[static_cast<size_t>(kernel_position)];
  const BoundDim& output = output_dims_[static_cast<size_t>(TiedOutputPosition(kernel_position))];
  const int64_t elements = std::min(SaturatingMultiply(output_bound, output.tile), kernel.elements);
  return std::clamp<int64_t>(CeilDiv(elements, kernel.tile), 1, kernel.tiles);
}

int64_t TileGeometry::Granule(size_t loop) const {
  const TileLoop& advancing = loops_[loop];
  int64_t largest = 1;
  for (const TileOperand& operand : operands_) {
    for (const WindowDim& dim : operand.dims) {
      if (dim.loops.size() == 1 && static_cast<size_t>(dim.loops[0]) == loop) {
        largest = std::max(largest, dim.tile);
      }
    }
  }
  return std::max<int64_t>(1, largest / advancing.tile);
}

std::vector<int64_t> TileGeometry::CanonicalOutputBounds(int position) const {
  const int64_t tiles = output_dims_[static_cast<size_t>(position)].tiles;
  std::vector<int64_t> bounds = EvenParts(tiles);
  if (hero_kind_ != HeroKind::kDataMovement) return bounds;
  for (size_t l = 0; l < loops_.size(); ++l) {
    const int64_t granule = loops_[l].output_position == position ? Granule(l) : 1;
    if (granule > 1) bounds = Merged(std::move(bounds), EvenParts(tiles, granule));
  }
  return bounds;
}

std::vector<int64_t> TileGeometry::TiedKernelBounds(int position) const {
  std::vector<int64_t> bounds;
  for (const int64_t output : CanonicalOutputBounds(TiedOutputPosition(position))) {
    const int64_t bound = TiedKernelBound(position, output);
    if (bounds.empty() || bounds.back() != bound) bounds.push_back(bound);
  }
  return bounds;
}

std::vector<int64_t> TileGeometry::CanonicalKernelBounds(int position) const {
  const BoundDim& dim = kernel_dims_[static_cast<size_t>(position)];
  if (TiedOutputPosition(position) >= 0) return TiedKernelBounds(position);
  if (hero_kind_ == HeroKind::kReduceWindow) return {dim.tiles};
  for (size_t l = 0; l < loops_.size(); ++l) {
    const TileLoop& loop = loops_[l];
    if (loop.kernel_position != position || loop.role != LoopRole::kInputFeature) continue;
    const int64_t unit = std::max<int64_t>(1, kContractedMultiple / dim.tile);
    return Merged(EvenParts(dim.tiles, unit), EvenParts(dim.tiles, Granule(l)));
  }
  return EvenParts(dim.tiles);
}

TileGeometry::Misfit TileGeometry::FindMisfit(const TileBounds& bounds) const {
  const auto outside = [](const WindowBounds& given, absl::Span<const BoundDim> dims) {
    return given.size() != dims.size() || FirstOutside(given, dims).has_value();
  };
  if (outside(bounds.output, output_dims_)) return {Misfit::kOutput};
  if (hero_kind_ == HeroKind::kReduceWindow) return {};
  if (outside(bounds.kernel, kernel_dims_)) return {Misfit::kKernel};
  for (size_t i = 0; i < kernel_dims_.size(); ++i) {
    const int tied = tied_output_[i];
    if (tied < 0) continue;
    const int64_t output_bound = bounds.output[static_cast<size_t>(tied)];
    if (bounds.kernel[i] != TiedKernelBound(static_cast<int>(i), output_bound)) {
      return {Misfit::kTied, static_cast<int>(i)};
    }
  }
  return {};
}

absl::Status TileGeometry::Check(const TileBounds& bounds) const {
  const Misfit misfit = FindMisfit(bounds);
  switch (misfit.kind) {
    case Misfit::kNone:
      return absl::OkStatus();
    case Misfit::kOutput:
      return BoundsError(bounds.output, output_dims_, "output");
    case Misfit::kKernel:
      return BoundsError(bounds.kernel, kernel_dims_, "kernel");
    case Misfit::kTied:
      break;
  }
  const int tied = TiedOutputPosition(misfit.position);
  const int64_t expected =
      TiedKernelBound(misfit.position, bounds.output[static_cast<size_t>(tied)]);
  return absl::InvalidArgumentError(absl::StrCat(
      "The kernel bound ", bounds.kernel[static_cast<size_t>(misfit.position)], " at position ",
      misfit.position, " must be ", expected, " to go with the output bound at position ", tied));
}

bool TileGeometry::Accepts(const TileBounds& bounds) const {
  return FindMisfit(bounds).kind == Misfit::kNone;
}

}  // namespace autotune
