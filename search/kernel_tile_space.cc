#include "search/kernel_tile_space.h"

#include <algorithm>
#include <utility>
#include <vector>

namespace autotune {
namespace {

int64_t CeilDivide(int64_t a, int64_t b) { return (a + b - 1) / b; }

// The largest layout tile that an operand has along a loop: the compiler cuts no tile of any
// operand.
int64_t LargestTile(const TileGeometry& geometry, int loop) {
  int64_t largest = 1;
  for (const TileOperand& operand : geometry.operands()) {
    for (const WindowDim& dim : operand.dims) {
      if (dim.loops.size() == 1 && dim.loops[0] == loop) largest = std::max(largest, dim.tile);
    }
  }
  return largest;
}

// The bounds ceil(tiles / n) in steps of `granule` tiles, appended.
void AddBounds(int64_t tiles, int64_t granule, std::vector<int64_t>& bounds) {
  const int64_t units = CeilDivide(tiles, granule);
  for (int64_t parts = 1; parts <= units; ++parts) {
    bounds.push_back(std::min(tiles, CeilDivide(units, parts) * granule));
  }
}

// What TileGeometry names, and where a copy moves a dimension from one place of the layout to
// another, or a contracted dimension lies differently in both factors, also the bounds in steps of
// the larger tile: libtpu 0.0.52 chooses 128 rows of a copy whose operand has them in lanes, and a
// contraction of 121 * 8 where both factors have it in sublanes.
std::vector<int64_t> OutputBounds(const TileGeometry& geometry, int position) {
  std::vector<int64_t> bounds = geometry.CanonicalOutputBounds(position);
  if (geometry.hero_kind() != HeroKind::kDataMovement) return bounds;
  const BoundDim& dim = geometry.output_dims()[static_cast<size_t>(position)];
  for (size_t loop = 0; loop < geometry.loops().size(); ++loop) {
    if (geometry.loops()[loop].output_position != position) continue;
    const int64_t granule = LargestTile(geometry, static_cast<int>(loop)) / dim.tile;
    if (granule > 1) AddBounds(dim.tiles, granule, bounds);
  }
  return bounds;
}

std::vector<int64_t> KernelBounds(const TileGeometry& geometry, int position) {
  std::vector<int64_t> bounds = geometry.CanonicalKernelBounds(position);
  const BoundDim& dim = geometry.kernel_dims()[static_cast<size_t>(position)];
  for (size_t i = 0; i < geometry.loops().size(); ++i) {
    const TileLoop& loop = geometry.loops()[i];
    if (loop.kernel_position != position || loop.role != LoopRole::kInputFeature) continue;
    const int64_t largest = LargestTile(geometry, static_cast<int>(i));
    AddBounds(dim.tiles, std::max<int64_t>(1, largest / dim.tile), bounds);
  }
  return bounds;
}

}  // namespace

absl::StatusOr<std::unique_ptr<TileSpace>> CreateKernelTileSpace(const TileGeometry& geometry,
                                                                 int64_t vmem_bytes) {
  auto shared = std::make_shared<const TileGeometry>(geometry);
  TileSpaceSpec spec;
  for (int i = 0; i < static_cast<int>(shared->kernel_dims().size()); ++i) {
    spec.kernel.push_back(KernelBounds(*shared, i));
    spec.tied_output.push_back(shared->TiedOutputPosition(i));
  }
  for (int i = 0; i < static_cast<int>(shared->output_dims().size()); ++i) {
    spec.output.push_back(OutputBounds(*shared, i));
  }
  spec.tied_bound = [shared](int kernel_dimension, int64_t output_bound) {
    return shared->TiedKernelBound(kernel_dimension, output_bound);
  };
  spec.accepts = [shared, vmem_bytes](const TileBounds& bounds) {
    // Reused, as the predicate is asked millions of times.
    thread_local TileEvaluation evaluation;
    if (!shared->Check(bounds).ok()) return false;
    shared->Evaluate(bounds, &evaluation);
    return evaluation.vmem_bytes <= vmem_bytes;
  };
  return TileSpace::Create(std::move(spec));
}

}  // namespace autotune
