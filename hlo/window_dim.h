#ifndef AUTOTUNE_HLO_WINDOW_DIM_H_
#define AUTOTUNE_HLO_WINDOW_DIM_H_

#include <algorithm>
#include <cstdint>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "hlo/int_math.h"

namespace autotune {

// How the window of an array depends on the loops of a tiled kernel, along one of the array's
// dimensions: which part of the dimension one iteration sees, as a function of the loops' steps
// (the elements that each loop advances by). A plain value.
struct WindowDim {
  int64_t elements = 1;  // extent of the array
  int64_t tile = 1;      // elements in a layout tile along it
  // Loops that the window depends on. Without any it spans `fixed` elements, or all if that is 0.
  absl::InlinedVector<int8_t, 2> loops;
  int64_t fixed = 0;
  // The window spans ceil(multiplier * product of the loops' steps / divisor) elements, ...
  int64_t multiplier = 1;
  int64_t divisor = 1;
  // ... but along a spatial dimension of a convolution's input, with loops = {output, window},
  // ceil(((output step - 1) * stride + (window step - 1) * dilation + halo + 1) / divisor).
  bool convolved = false;
  int64_t stride = 1;
  int64_t dilation = 1;
  int64_t halo = 0;  // the reach of a window that no loop cuts
  // Elements of the first and last windows that lie outside the array. Only of convolved windows.
  int64_t padding_low = 0;
  int64_t padding_high = 0;

  // A window over a whole dimension.
  static WindowDim Whole(int64_t elements) {
    WindowDim dim;
    dim.elements = elements;
    return dim;
  }

  // A window that advances with one loop.
  static WindowDim OfLoop(int64_t elements, int loop) {
    WindowDim dim = Whole(elements);
    dim.loops.push_back(static_cast<int8_t>(loop));
    return dim;
  }

  // The same dependence for an array of another extent.
  WindowDim WithElements(int64_t extent) const {
    WindowDim dim = *this;
    dim.elements = extent;
    return dim;
  }

  // The elements of the window, not clipped to the array; saturates. REQUIRES: steps has an entry
  // per loop.
  int64_t Unclipped(absl::Span<const int64_t> steps) const {
    if (loops.empty()) return fixed > 0 ? fixed : elements;
    int64_t span = 0;
    if (convolved) {
      span = SaturatingAdd(SaturatingMultiply(Step(steps, 0) - 1, stride),
                           SaturatingMultiply(Step(steps, 1) - 1, dilation));
      span = SaturatingAdd(SaturatingAdd(span, halo), 1);
    } else {
      span = multiplier;
      for (size_t i = 0; i < loops.size(); ++i) span = SaturatingMultiply(span, Step(steps, i));
    }
    return divisor == 1 ? span : CeilDiv(span, divisor);
  }

  // The elements of the window, at most the whole dimension and at least one.
  int64_t Elements(absl::Span<const int64_t> steps) const {
    return std::max<int64_t>(1, std::min(elements, Unclipped(steps)));
  }

  // The same in layout tiles.
  int64_t Tiles(absl::Span<const int64_t> steps) const { return CeilDiv(Elements(steps), tile); }

  // The tiles of a full window in the mean over its positions: of a window with padding, what lies
  // outside of the array does not count. REQUIRES: steps and trips have an entry per loop.
  double MeanTiles(absl::Span<const int64_t> steps, absl::Span<const int64_t> trips) const {
    if (!convolved || tile != 1) return static_cast<double>(Tiles(steps));
    double positions = static_cast<double>(Step(trips, 0));
    if (loops[1] != loops[0]) positions *= static_cast<double>(Step(trips, 1));
    const double padding = static_cast<double>(padding_low) + static_cast<double>(padding_high);
    return std::clamp(static_cast<double>(Unclipped(steps)) - padding / positions, 1.0,
                      static_cast<double>(elements));
  }

  // Bit i is set if the window moves when loop i advances.
  uint32_t LoopMask() const {
    uint32_t mask = 0;
    for (const int8_t loop : loops) mask |= uint32_t{1} << static_cast<uint32_t>(loop);
    return mask;
  }

 private:
  int64_t Step(absl::Span<const int64_t> steps, size_t i) const {
    return steps[static_cast<size_t>(loops[i])];
  }
};

// One entry per dimension of an array.
using Windows = absl::InlinedVector<WindowDim, 6>;

}  // namespace autotune

#endif  // AUTOTUNE_HLO_WINDOW_DIM_H_
