#ifndef AUTOTUNE_HARDWARE_SCHEDULED_PROGRAM_H_
#define AUTOTUNE_HARDWARE_SCHEDULED_PROGRAM_H_

#include <cstdint>
#include <memory>

#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "hlo/module.h"
#include "hlo/tile_bounds.h"

namespace autotune {

// Whether arrays of an optimised program lie in a memory that the compiler chose for them (VMEM on
// v4 and later). Such a program cannot be compiled a second time: where in that memory they lie is
// lost, and so is that some of them overlap on purpose. Scalars do not count: the compiler places
// them again.
bool HoldsPlacedArrays(const HloModule& optimized);

// Whether tiles can be written on the kernels of an optimised program: it is scheduled, and holds
// no placed arrays.
bool TakesTiles(const HloModule& optimized);

// An optimised program with other tiles. It is scheduled, with the layouts of parameters and
// results pinned, so that the TPU compiler skips its passes over HLO and emits the kernels as they
// stand, with the bounds that `tiles` has by fingerprint of the kernel (KernelHasher); kernels that
// are not in `tiles` keep what the compiler chose. Nothing is compiled here. Errors are those of
// HloModule::FromProto. REQUIRES: TakesTiles(optimized).
absl::StatusOr<std::unique_ptr<HloModule>> WithTiles(
    const HloModule& optimized, const absl::flat_hash_map<uint64_t, TileBounds>& tiles);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_SCHEDULED_PROGRAM_H_
