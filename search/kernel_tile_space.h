#ifndef AUTOTUNE_SEARCH_KERNEL_TILE_SPACE_H_
#define AUTOTUNE_SEARCH_KERNEL_TILE_SPACE_H_

#include <cstdint>
#include <memory>

#include "absl/status/statusor.h"
#include "hlo/tile_geometry.h"
#include "search/tile_space.h"

namespace autotune {

// The tiles of a kernel that the TPU compiler could choose: the bounds that it forms in each
// dimension, tied dimensions in step, and windows that fit into `vmem_bytes` of VMEM together.
// Keeps a copy of `geometry`. Fails as TileSpace::Create does.
absl::StatusOr<std::unique_ptr<TileSpace>> CreateKernelTileSpace(const TileGeometry& geometry,
                                                                 int64_t vmem_bytes);

}  // namespace autotune

#endif  // AUTOTUNE_SEARCH_KERNEL_TILE_SPACE_H_
