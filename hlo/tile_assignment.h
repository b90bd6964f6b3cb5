#ifndef AUTOTUNE_HLO_TILE_ASSIGNMENT_H_
#define AUTOTUNE_HLO_TILE_ASSIGNMENT_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace autotune {

// An array of device numbers, as shardings have it: either listed, or a range 0, 1, 2, ... reshaped
// to `reshape`, transposed by `permutation` and reshaped to `dimensions`. A plain value.
struct TileAssignment {
  std::vector<int64_t> dimensions;
  // The devices in row-major order; empty if the range form is used.
  std::vector<int64_t> devices;
  std::vector<int64_t> reshape;
  std::vector<int64_t> permutation;

  bool IsRange() const { return devices.empty(); }
  // The product of the dimensions. REQUIRES: it fits.
  int64_t size() const;

  // Drops dimensions of 1 from the range form and merges those that stay together, as XLA writes
  // it: [2,2]T(0,1) becomes [4]T(0).
  void Canonicalize();
  // Sorts every run of `group` devices, within the range form; false, and unchanged, where that
  // form cannot say it. REQUIRES: the range form, and `group` divides size().
  bool SortGroups(int64_t group);
  // Lists the devices.
  void Materialize();
  // Permutes the dimensions: new dimension i is the old `order[i]`. The range form stays one where
  // XLA keeps it.
  void Transpose(absl::Span<const int64_t> order);
};

}  // namespace autotune

#endif  // AUTOTUNE_HLO_TILE_ASSIGNMENT_H_
