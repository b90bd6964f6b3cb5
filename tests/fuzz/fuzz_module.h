#ifndef AUTOTUNE_TESTS_FUZZ_FUZZ_MODULE_H_
#define AUTOTUNE_TESTS_FUZZ_FUZZ_MODULE_H_

#include "hlo/cost_analysis.h"
#include "hlo/kernel.h"
#include "hlo/module.h"
#include "hlo/tile_geometry.h"
#include "hlo/verifier.h"

namespace autotune {

// Everything that is asked of a kernel: its geometry, under the compiler's choice where it fits and
// under the largest bounds.
inline void ExploreKernel(const Kernel& kernel) {
  const absl::StatusOr<TileGeometry> geometry = TileGeometry::Create(*kernel.module);
  if (!geometry.ok()) return;
  TileBounds bounds;
  for (const BoundDim& dim : geometry->output_dims()) bounds.output.push_back(dim.tiles);
  for (const BoundDim& dim : geometry->kernel_dims()) bounds.kernel.push_back(dim.tiles);
  for (const TileBounds& tile :
       {bounds, kernel.compiler_choice ? kernel.compiler_choice->bounds : TileBounds()}) {
    if (!geometry->Check(tile).ok()) continue;
    geometry->Evaluate(tile);
    geometry->Complete(tile);
  }
}

// Everything that commands do with a module that a reader accepts: it is verified, and only if it
// holds is it analysed and cut into kernels.
inline void ExploreModule(const HloModule& module) {
  if (!VerifyModule(module, 20).empty()) return;
  (void)CostAnalysis(module).total();
  const absl::StatusOr<std::vector<Kernel>> kernels = ExtractKernels(module);
  if (!kernels.ok()) return;
  for (const Kernel& kernel : *kernels) ExploreKernel(kernel);
}

}  // namespace autotune

#endif  // AUTOTUNE_TESTS_FUZZ_FUZZ_MODULE_H_
