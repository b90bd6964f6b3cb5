#include "tuner/kernel_cost.h"

#include "hardware/kernel_roofline.h"
#include "hlo/cost_analysis.h"
#include "hlo/module.h"

namespace autotune {

KernelCost CostOfKernel(const Kernel& kernel, const DeviceSpec& device) {
  const CostAnalysis analysis(*kernel.module);
  KernelCost cost;
  cost.flops = analysis.total().flops;
  cost.transcendentals = analysis.total().transcendentals;
  cost.bytes = HbmBytes(analysis, kernel.module->entry_computation().root());
  cost.roofline_seconds = RooflineSeconds(kernel, device);
  return cost;
}

}  // namespace autotune
