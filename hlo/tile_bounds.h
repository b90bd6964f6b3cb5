#ifndef AUTOTUNE_HLO_TILE_BOUNDS_H_
#define AUTOTUNE_HLO_TILE_BOUNDS_H_

#include <cstdint>
#include <string>

#include "absl/container/inlined_vector.h"

namespace autotune {

// The extents of one window, in tiles of the operand's tiled layout, major to minor in physical
// order. Empty means "not given".
using WindowBounds = absl::InlinedVector<int64_t, 6>;

// A tile configuration of one kernel, as the TPU compiler's `window_config` and TpuGraphs'
// `TileSizeConfig` write it. A plain value; thread-compatible.
//
// `output` is over the hero's output (for a reduce: its input) and `kernel` over the weights of a
// convolution or matrix product. The compiler derives `input` and `iteration` from these two, so
// they do not identify a configuration and take no part in equality or in the key.
struct TileBounds {
  WindowBounds kernel;
  WindowBounds output;
  WindowBounds input;
  WindowBounds iteration;

  // True if neither kernel nor output bounds are given: such a configuration cannot be told apart
  // from others and is opaque.
  bool IsEmpty() const { return kernel.empty() && output.empty(); }

  // The canonical key, for instance "k=3,1,24,3;o=12,4,4,3" or "o=16,5,1,2".
  std::string Key() const;

  friend bool operator==(const TileBounds& a, const TileBounds& b) {
    return a.kernel == b.kernel && a.output == b.output;
  }
};

}  // namespace autotune

#endif  // AUTOTUNE_HLO_TILE_BOUNDS_H_
