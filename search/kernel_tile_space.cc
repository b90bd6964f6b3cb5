#include "search/kernel_tile_space.h"

#include <utility>

#include "hardware/kernel_vmem.h"

namespace autotune {

absl::StatusOr<std::unique_ptr<TileSpace>> CreateKernelTileSpace(const TileGeometry& geometry,
                                                                 const DeviceSpec& device) {
  auto shared = std::make_shared<const TileGeometry>(geometry);
  TileSpaceSpec spec;
  for (int i = 0; i < static_cast<int>(shared->kernel_dims().size()); ++i) {
    spec.kernel.push_back(shared->CanonicalKernelBounds(i));
    spec.tied_output.push_back(shared->TiedOutputPosition(i));
  }
  for (int i = 0; i < static_cast<int>(shared->output_dims().size()); ++i) {
    spec.output.push_back(shared->CanonicalOutputBounds(i));
  }
  spec.tied_bound = [shared](int kernel_dimension, int64_t output_bound) {
    return shared->TiedKernelBound(kernel_dimension, output_bound);
  };
  spec.accepts = [shared, device](const TileBounds& bounds) {
    // Reused, as the predicate is asked millions of times.
    thread_local TileEvaluation evaluation;
    if (!shared->Accepts(bounds)) return false;
    shared->Evaluate(bounds, &evaluation);
    return FitsVmem(evaluation, device);
  };
  return TileSpace::Create(std::move(spec));
}

}  // namespace autotune
