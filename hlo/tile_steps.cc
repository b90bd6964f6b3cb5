#include "hlo/tile_steps.h"

#include <cstddef>

namespace autotune {
namespace {

// Adds the steps in which loop `advancing` advances: every loop around it stands at any of its
// steps, it stands at any but the first, the loops within it stand at their first.
void AddAdvancing(int advancing, uint32_t ragged, const TileEvaluation& tile, TileSteps* steps) {
  const uint32_t around = (uint32_t{2} << static_cast<uint32_t>(advancing)) - 1;
  const uint32_t varying = ragged & around;
  // Runs over all subsets of `varying`.
  uint32_t subset = 0;
  do {
    double count = 1;
    for (int l = 0; l <= advancing; ++l) {
      const int64_t trips = tile.trips[static_cast<size_t>(l)] - (l == advancing ? 1 : 0);
      const uint32_t bit = uint32_t{1} << static_cast<uint32_t>(l);
      if ((varying & bit) == 0) {
        count *= static_cast<double>(trips);
      } else if ((subset & bit) == 0) {
        count *= static_cast<double>(trips - 1);
      }
    }
    if (count > 0) steps->push_back({count, advancing, subset});
    subset = (subset - varying) & varying;
  } while (subset != 0);
}

}  // namespace

uint32_t CutLoops(const TileEvaluation& tile) {
  uint32_t cut = 0;
  for (size_t l = 0; l < tile.trips.size(); ++l) {
    if (tile.trips[l] > 1) cut |= uint32_t{1} << l;
  }
  return cut;
}

void EnumerateTileSteps(absl::Span<const TileLoop> loops, const TileEvaluation& tile,
                        TileSteps* steps) {
  steps->clear();
  steps->push_back({1, -1, 0});
  uint32_t ragged = 0;
  for (size_t l = 0; l < loops.size(); ++l) {
    if (tile.trips[l] > 1 && tile.trips[l] * tile.steps[l] != loops[l].elements) {
      ragged |= uint32_t{1} << l;
    }
  }
  for (size_t l = 0; l < loops.size(); ++l) {
    if (tile.trips[l] > 1) AddAdvancing(static_cast<int>(l), ragged, tile, steps);
  }
}

}  // namespace autotune
