#include "hlo/tile_geometry.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "hlo/int_math.h"
#include "hlo/module.h"
#include "hlo/tile_geometry_builder.h"

namespace autotune {
namespace {

// The mean over the loop's trips of the tiles that a window covers: the last step may be short.
double MeanTiles(const WindowDim& dim, absl::Span<const TileLoop> loops,
                 const TileEvaluation& tile) {
  const double full = dim.MeanTiles(tile.steps, tile.trips);
  if (dim.convolved || dim.loops.size() != 1) return full;
  const size_t l = static_cast<size_t>(dim.loops[0]);
  if (tile.trips[l] == 1) return full;
  absl::InlinedVector<int64_t, 8> last(tile.steps.begin(), tile.steps.end());
  last[l] = loops[l].elements - (tile.trips[l] - 1) * tile.steps[l];
  const double trips = static_cast<double>(tile.trips[l]);
  return (full * (trips - 1) + static_cast<double>(dim.Tiles(last))) / trips;
}

// The tiles of a window as it lies in VMEM: a convolution's with the padding of its halo.
int64_t BufferTiles(const WindowDim& dim, absl::Span<const int64_t> steps) {
  return dim.convolved && dim.halo == 0 ? CeilDiv(dim.Unclipped(steps), dim.tile)
                                        : dim.Tiles(steps);
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

void TileGeometry::SetSteps(const TileBounds& bounds, TileEvaluation* result) const {
  result->steps.clear();
  result->trips.clear();
  result->iterations = 1;
  for (const TileLoop& loop : loops_) {
    const int64_t bound = loop.output_position >= 0
                              ? bounds.output[static_cast<size_t>(loop.output_position)]
                              : bounds.kernel[static_cast<size_t>(loop.kernel_position)];
    const int64_t step = std::min(SaturatingMultiply(bound, loop.tile), loop.elements);
    result->steps.push_back(step);
    result->trips.push_back(CeilDiv(loop.elements, step));
    result->iterations = SaturatingMultiply(result->iterations, result->trips.back());
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
  result->vmem_bytes = SaturatingAdd(result->vmem_bytes, AccumulatorBytes(*result));
  result->input_copy_bytes = InputCopyBytes(*result);
  result->bytes_per_iteration =
      (result->bytes_read + result->bytes_written) / static_cast<double>(result->iterations);
  double space = 1;
  double useful = 1;
  for (size_t l = 0; l < loops_.size(); ++l) {
    const int64_t padded = RoundUp(result->steps[l], loops_[l].tile);
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
    window = SaturatingMultiply(window, dim.Tiles(result->steps));
    buffer = SaturatingMultiply(buffer, BufferTiles(dim, result->steps));
    mean *= MeanTiles(dim, loops_, *result);
  }
  int64_t transfers = 1;
  int64_t rounds = 1;
  for (size_t l = 0; l < loops_.size(); ++l) {
    rounds = SaturatingMultiply(rounds, result->trips[l]);
    if (result->trips[l] > 1 && (operand.loop_mask >> l & 1) != 0) transfers = rounds;
  }
  result->window_bytes.push_back(window);
  result->transfers.push_back(transfers);
  if (!operand.InHbm()) return;
  const double bytes = mean * static_cast<double>(transfers);
  (operand.is_output ? result->bytes_written : result->bytes_read) += bytes;
  if (!operand.windowed) return;
  const int64_t buffers = transfers > 1 ? SaturatingMultiply(2, buffer) : buffer;
  result->vmem_bytes = SaturatingAdd(result->vmem_bytes, buffers);
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
      bytes = SaturatingMultiply(bytes, RoundUp(tile.steps[l], loops_[l].tile));
    }
  }
  return cut ? bytes : 0;
}

// A copy of the input's window with its halo, and another one in 32 bits if it is narrower.
int64_t TileGeometry::InputCopyBytes(const TileEvaluation& tile) const {
  if (hero_kind_ != HeroKind::kConvolution) return 0;
  int64_t elements = 1;
  for (const WindowDim& dim : hero_input_) {
    elements =
        SaturatingMultiply(elements, SaturatingMultiply(BufferTiles(dim, tile.steps), dim.tile));
  }
  const int64_t bits = hero_input_bits_ + (hero_input_bits_ < 32 ? 32 : 0);
  return SaturatingMultiply(elements, bits) / 8;
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
