#ifndef AUTOTUNE_HLO_TILE_HERO_H_
#define AUTOTUNE_HLO_TILE_HERO_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hlo/instruction.h"
#include "hlo/tile_geometry.h"

namespace autotune {

// The operation of a kernel whose shape the tile cuts up.
struct TileHero {
  HeroKind kind = HeroKind::kElementwise;
  const HloInstruction* instruction = nullptr;
};

// Chooses it among a kernel's operations as the TPU compiler does: the last convolution, else the
// last window reduction, else the reduction of most elements, else what computes the (first)
// result. Fails with Unimplemented for operations whose tiles mean something else, or that have
// none.
absl::StatusOr<TileHero> FindTileHero(const HloInstruction& operation,
                                      absl::Span<const HloInstruction* const> instructions);

// The instruction that computes result `index` of a kernel's one operation.
const HloInstruction* ResultInstruction(const HloInstruction& operation, int64_t index);

// The shape itself, or the first array of a tuple.
const Shape& FirstArray(const Shape& shape);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_TILE_HERO_H_
