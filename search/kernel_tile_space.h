#ifndef AUTOTUNE_SEARCH_KERNEL_TILE_SPACE_H_
#define AUTOTUNE_SEARCH_KERNEL_TILE_SPACE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "hardware/device_spec.h"
#include "hlo/tile_geometry.h"
#include "search/tile_space.h"

namespace autotune {

// The tiles of a kernel that the TPU compiler could choose: the bounds that it forms in each
// dimension, tied dimensions in step, and buffers that fit into the VMEM that the compiler gives
// one kernel on `device` (hardware/kernel_vmem.h). Keeps a copy of `geometry`. Fails as
// TileSpace::Create does.
absl::StatusOr<std::unique_ptr<TileSpace>> CreateKernelTileSpace(const TileGeometry& geometry,
                                                                 const DeviceSpec& device);

}  // namespace autotune

#endif  // AUTOTUNE_SEARCH_KERNEL_TILE_SPACE_H_
