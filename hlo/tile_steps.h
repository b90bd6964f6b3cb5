#ifndef AUTOTUNE_HLO_TILE_STEPS_H_
#define AUTOTUNE_HLO_TILE_STEPS_H_

#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "hlo/tile_geometry.h"

namespace autotune {

// Iterations of a tiled kernel that are alike: the same loop advances, and the same windows are cut
// short at the end of a dimension that the bounds do not divide.
struct TileStep {
  double count = 0;
  // The outermost loop that advances: all loops within it start anew. -1 for the first iteration.
  int advancing = -1;
  // Bit l: the step of loop l is the last one, which is shorter than the others.
  uint32_t short_loops = 0;
};

using TileSteps = absl::InlinedVector<TileStep, 32>;

// The iterations of a kernel in classes; their counts add up to the product of the trips. Clears
// *steps first. REQUIRES: tile was evaluated for loops.
void EnumerateTileSteps(absl::Span<const TileLoop> loops, const TileEvaluation& tile,
                        TileSteps* steps);

// True if a window that depends on the loops of `loop_mask` is another one in this step than in the
// step before; true of all windows in the first. `cut_loops` has a bit per loop of several trips.
inline bool WindowMoves(uint32_t loop_mask, const TileStep& step, uint32_t cut_loops) {
  if (step.advancing < 0) return true;
  return (loop_mask & cut_loops & (~uint32_t{0} << static_cast<uint32_t>(step.advancing))) != 0;
}

// Bit l is set if loop l makes more than one trip.
uint32_t CutLoops(const TileEvaluation& tile);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_TILE_STEPS_H_
