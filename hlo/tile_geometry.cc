#include "hlo/tile_geometry.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "hlo/module.h"
#include "hlo/tile_geometry_builder.h"

namespace autotune {
namespace {

constexpr int64_t kContractedMultiple = 128;

int64_t CeilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The bounds ceil(tiles / n), n = 1, 2, ..., descending.
std::vector<int64_t> EvenParts(int64_t tiles) {
  std::vector<int64_t> bounds;
  for (int64_t bound = tiles; bound >= 1;) {
    bounds.push_back(bound);
    if (bound == 1) break;
    // The smallest number of parts that makes them smaller.
    const int64_t parts = CeilDiv(tiles, bound - 1);
    bound = CeilDiv(tiles, parts);
  }
  return bounds;
}

// The mean over the loop's trips of the tiles that a window of at most `full` elements covers.
double MeanTiles(const WindowDim& dim, absl::Span<const TileLoop> loops,
                 const TileEvaluation& tile) {
  const int64_t full = dim.Tiles(tile.steps);
  if (dim.loops.empty()) return static_cast<double>(full);
  const size_t l = static_cast<size_t>(dim.loops[0]);
  if (dim.convolved) {
    double positions = static_cast<double>(tile.trips[l]);
    if (dim.loops[1] != dim.loops[0]) {
      positions *= static_cast<double>(tile.trips[static_cast<size_t>(dim.loops[1])]);
    }
    const double outside = static_cast<double>(dim.padding_low + dim.padding_high) / positions;
    const double span = static_cast<double>(dim.Unclipped(tile.steps)) - outside;
    const double clipped = std::clamp(span, 1.0, static_cast<double>(dim.elements));
    return dim.tile == 1 ? clipped : static_cast<double>(full);
  }
  if (dim.loops.size() != 1 || tile.trips[l] == 1) return static_cast<double>(full);
  absl::InlinedVector<int64_t, 8> last(tile.steps.begin(), tile.steps.end());
  last[l] = loops[l].elements - (tile.trips[l] - 1) * tile.steps[l];
  const double trips = static_cast<double>(tile.trips[l]);
  return (static_cast<double>(full) * (trips - 1) + static_cast<double>(dim.Tiles(last))) / trips;
}

// The tiles of a window as it lies in VMEM: a convolution's with the padding of its halo.
int64_t BufferTiles(const WindowDim& dim, absl::Span<const int64_t> steps) {
  return dim.convolved && dim.halo == 0 ? CeilDiv(dim.Unclipped(steps), dim.tile)
                                        : dim.Tiles(steps);
}

absl::Status CheckBounds(const WindowBounds& bounds, absl::Span<const BoundDim> dims,
                         absl::string_view what) {
  if (bounds.size() != dims.size()) {
    return absl::InvalidArgumentError(absl::StrCat("The tile has ", bounds.size(), " ", what,
                                                   " bounds, the kernel needs ", dims.size()));
  }
  for (size_t i = 0; i < dims.size(); ++i) {
    if (bounds[i] < 1 || bounds[i] > dims[i].tiles) {
      return absl::InvalidArgumentError(absl::StrCat("The ", what, " bound ", bounds[i],
                                                     " at position ", i, " is not within 1 and ",
                                                     dims[i].tiles));
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::string_view HeroKindName(HeroKind kind) {
  switch (kind) {
    case HeroKind::kConvolution:
      return "convolution";
    case HeroKind::kReduceWindow:
      return "reduce-window";
    case HeroKind::kReduce:
      return "reduce";
    case HeroKind::kElementwise:
      return "elementwise";
    case HeroKind::kDataMovement:
      return "data movement";
  }
  return "unknown";
}

absl::StatusOr<TileGeometry> TileGeometry::Create(const HloModule& kernel_module) {
  const HloInstruction& operation = kernel_module.entry_computation().root();
  for (const HloInstruction* instruction : kernel_module.entry_computation().instructions()) {
    const HloOpcode opcode = instruction->opcode();
    const bool input = opcode == HloOpcode::kParameter || opcode == HloOpcode::kConstant;
    if (instruction != &operation && !input) {
      return absl::InvalidArgumentError(absl::StrCat(kernel_module.name(),
                                                     " is not one kernel: ", instruction->name(),
                                                     " stands beside its root"));
    }
  }
  if (operation.opcode() == HloOpcode::kParameter) {
    return absl::InvalidArgumentError(absl::StrCat(kernel_module.name(), " computes nothing"));
  }
  return TileGeometryBuilder(operation).Build();
}

int64_t TileGeometry::TiedKernelBound(int kernel_position, int64_t output_bound) const {
  const BoundDim& kernel = kernel_dims_[static_cast<size_t>(kernel_position)];
  const BoundDim& output = output_dims_[static_cast<size_t>(TiedOutputPosition(kernel_position))];
  const int64_t elements = std::min(output_bound * output.tile, kernel.elements);
  return std::clamp<int64_t>(CeilDiv(elements, kernel.tile), 1, kernel.tiles);
}

std::vector<int64_t> TileGeometry::CanonicalOutputBounds(int position) const {
  return EvenParts(output_dims_[static_cast<size_t>(position)].tiles);
}

std::vector<int64_t> TileGeometry::CanonicalKernelBounds(int position) const {
  const BoundDim& dim = kernel_dims_[static_cast<size_t>(position)];
  const int tied = TiedOutputPosition(position);
  if (tied >= 0) {
    std::vector<int64_t> bounds;
    for (const int64_t output : CanonicalOutputBounds(tied)) {
      const int64_t bound = TiedKernelBound(position, output);
      if (bounds.empty() || bounds.back() != bound) bounds.push_back(bound);
    }
    return bounds;
  }
  if (hero_kind_ == HeroKind::kReduceWindow) return {dim.tiles};
  for (const TileLoop& loop : loops_) {
    if (loop.kernel_position != position || loop.role != LoopRole::kInputFeature) continue;
    const int64_t unit = std::max<int64_t>(1, kContractedMultiple / dim.tile);
    std::vector<int64_t> bounds = {dim.tiles};
    for (const int64_t parts : EvenParts(CeilDiv(dim.tiles, unit))) {
      if (parts * unit < bounds.back()) bounds.push_back(parts * unit);
    }
    return bounds;
  }
  return EvenParts(dim.tiles);
}

absl::Status TileGeometry::Check(const TileBounds& bounds) const {
  if (absl::Status status = CheckBounds(bounds.output, output_dims_, "output"); !status.ok()) {
    return status;
  }
  if (hero_kind_ == HeroKind::kReduceWindow) return absl::OkStatus();
  if (absl::Status status = CheckBounds(bounds.kernel, kernel_dims_, "kernel"); !status.ok()) {
    return status;
  }
  for (size_t i = 0; i < kernel_dims_.size(); ++i) {
    const int position = static_cast<int>(i);
    const int tied = TiedOutputPosition(position);
    if (tied < 0) continue;
    const int64_t expected = TiedKernelBound(position, bounds.output[static_cast<size_t>(tied)]);
    if (bounds.kernel[i] != expected) {
      return absl::InvalidArgumentError(
          absl::StrCat("The kernel bound ", bounds.kernel[i], " at position ", i, " must be ",
                       expected, " to go with the output bound at position ", tied));
    }
  }
  return absl::OkStatus();
}

bool TileGeometry::Accepts(const TileBounds& bounds) const {
  const auto within = [](const WindowBounds& given, const std::vector<BoundDim>& dims) {
    if (given.size() != dims.size()) return false;
    for (size_t i = 0; i < dims.size(); ++i) {
      if (given[i] < 1 || given[i] > dims[i].tiles) return false;
    }
    return true;
  };
  if (!within(bounds.output, output_dims_)) return false;
  if (hero_kind_ == HeroKind::kReduceWindow) return true;
  if (!within(bounds.kernel, kernel_dims_)) return false;
  for (size_t i = 0; i < kernel_dims_.size(); ++i) {
    const int tied = tied_output_[i];
    if (tied < 0) continue;
    const int64_t output_bound = bounds.output[static_cast<size_t>(tied)];
    if (bounds.kernel[i] != TiedKernelBound(static_cast<int>(i), output_bound)) return false;
  }
  return true;
}

void TileGeometry::SetSteps(const TileBounds& bounds, TileEvaluation* result) const {
  result->steps.clear();
  result->trips.clear();
  result->iterations = 1;
  for (const TileLoop& loop : loops_) {
    const int64_t bound = loop.output_position >= 0
                              ? bounds.output[static_cast<size_t>(loop.output_position)]
                              : bounds.kernel[static_cast<size_t>(loop.kernel_position)];
    const int64_t step = std::min(bound * loop.tile, loop.elements);
    result->steps.push_back(step);
    result->trips.push_back(CeilDiv(loop.elements, step));
    result->iterations *= result->trips.back();
  }
}

void TileGeometry::Evaluate(const TileBounds& bounds, TileEvaluation* result) const {
  SetSteps(bounds, result);
  result->window_bytes.clear();
  result->transfers.clear();
  result->bytes_read = 0;
  result->bytes_written = 0;
  result->vmem_bytes = 0;
  for (const TileOperand& operand : operands_) AddOperand(operand, result);
  result->vmem_bytes += AccumulatorBytes(*result);
  result->input_copy_bytes = InputCopyBytes(*result);
  result->bytes_per_iteration =
      (result->bytes_read + result->bytes_written) / static_cast<double>(result->iterations);
  double space = 1;
  double useful = 1;
  for (size_t l = 0; l < loops_.size(); ++l) {
    const int64_t padded = CeilDiv(result->steps[l], loops_[l].tile) * loops_[l].tile;
    space *= static_cast<double>(result->trips[l]) * static_cast<double>(padded);
    useful *= static_cast<double>(loops_[l].elements);
  }
  result->padding_waste = 1 - useful / space;
}

// The window moves whenever a loop that it depends on advances, so once for each round of the
// innermost such loop and of all loops around it.
void TileGeometry::AddOperand(const TileOperand& operand, TileEvaluation* result) const {
  int64_t window = operand.tile_bytes;
  int64_t buffer = operand.tile_bytes;
  double mean = static_cast<double>(operand.tile_bytes);
  for (const WindowDim& dim : operand.dims) {
    window *= dim.Tiles(result->steps);
    buffer *= BufferTiles(dim, result->steps);
    mean *= MeanTiles(dim, loops_, *result);
  }
  int64_t transfers = 1;
  int64_t rounds = 1;
  for (size_t l = 0; l < loops_.size(); ++l) {
    rounds *= result->trips[l];
    if (result->trips[l] > 1 && (operand.loop_mask >> l & 1) != 0) transfers = rounds;
  }
  result->window_bytes.push_back(window);
  result->transfers.push_back(transfers);
  if (!operand.InHbm()) return;
  const double bytes = mean * static_cast<double>(transfers);
  (operand.is_output ? result->bytes_written : result->bytes_read) += bytes;
  if (operand.windowed) result->vmem_bytes += transfers > 1 ? 2 * buffer : buffer;
}

// A contraction that is cut adds up in f32.
int64_t TileGeometry::AccumulatorBytes(const TileEvaluation& tile) const {
  if (hero_kind_ != HeroKind::kConvolution) return 0;
  int64_t bytes = 4;
  bool cut = false;
  for (size_t l = 0; l < loops_.size(); ++l) {
    if (loops_[l].reduced) {
      cut |= tile.trips[l] > 1;
    } else {
      bytes *= CeilDiv(tile.steps[l], loops_[l].tile) * loops_[l].tile;
    }
  }
  return cut ? bytes : 0;
}

// A copy of the input's window with its halo, and another one in 32 bits if it is narrower.
int64_t TileGeometry::InputCopyBytes(const TileEvaluation& tile) const {
  if (hero_kind_ != HeroKind::kConvolution) return 0;
  int64_t elements = 1;
  for (const WindowDim& dim : hero_input_) elements *= BufferTiles(dim, tile.steps) * dim.tile;
  return elements * (hero_input_bits_ + (hero_input_bits_ < 32 ? 32 : 0)) / 8;
}

TileEvaluation TileGeometry::Evaluate(const TileBounds& bounds) const {
  TileEvaluation result;
  Evaluate(bounds, &result);
  return result;
}

TileBounds TileGeometry::Complete(const TileBounds& bounds) const {
  TileEvaluation tile;
  SetSteps(bounds, &tile);
  TileBounds complete = bounds;
  complete.input.clear();
  complete.iteration.clear();
  for (const WindowDim& dim : hero_input_) {
    const int64_t elements = dim.convolved ? dim.Unclipped(tile.steps) : dim.Elements(tile.steps);
    complete.input.push_back(CeilDiv(elements, dim.tile));
  }
  // Where batch or feature dimensions are written as spatial ones, their window positions do not
  // make loops of their own: the compiler fills up with ones before the contracted dimension.
  size_t missing = 0;
  if (hero_kind_ == HeroKind::kReduceWindow) missing = loops_.size() - 1;
  for (const TileLoop& loop : loops_) {
    missing += loop.role == LoopRole::kBatchSpatial || loop.role == LoopRole::kFeatureSpatial;
  }
  for (size_t l = 0; l < loops_.size(); ++l) {
    if (loops_[l].role == LoopRole::kInputFeature) {
      complete.iteration.insert(complete.iteration.end(), missing, 1);
      missing = 0;
    }
    complete.iteration.push_back(tile.trips[l]);
  }
  complete.iteration.insert(complete.iteration.end(), missing, 1);
  return complete;
}

}  // namespace autotune
