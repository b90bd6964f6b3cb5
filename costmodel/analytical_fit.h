#ifndef AUTOTUNE_COSTMODEL_ANALYTICAL_FIT_H_
#define AUTOTUNE_COSTMODEL_ANALYTICAL_FIT_H_

#include <vector>

#include "absl/types/span.h"
#include "costmodel/analytical_constants.h"
#include "costmodel/analytical_kernel.h"
#include "hlo/tile_bounds.h"

namespace autotune {

// The measured tiles of one kernel. Does not own the kernel.
struct AnalyticalFitKernel {
  const AnalyticalKernel* kernel = nullptr;
  std::vector<TileBounds> tiles;  // each passed TileGeometry::Check
  std::vector<double> seconds;    // one per tile, positive
};

// The constants that fit the measurements best, starting from `start`: least squares of the
// logarithm of predicted over measured time, damped for outliers (soft L1 beyond 10 %), each kernel
// weighted by the square root of its number of tiles, so that a kernel with many tiles counts more,
// but not in proportion. Constants stay positive. Levenberg-Marquardt over their logarithms;
// deterministic. Empty input gives `start` back.
AnalyticalConstants FitAnalyticalConstants(absl::Span<const AnalyticalFitKernel> kernels,
                                           const AnalyticalConstants& start);

}  // namespace autotune

#endif  // AUTOTUNE_COSTMODEL_ANALYTICAL_FIT_H_
