#include "tuner/kernel_cost.h"

#include <algorithm>

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
  cost.roofline_seconds =
      std::max(cost.flops / device.bf16_flops_per_second, cost.bytes / device.hbm_bytes_per_second);
  return cost;
}

std::optional<double> CompilerEstimateSeconds(const Kernel& kernel, const DeviceSpec& device) {
  if (!kernel.compiler_choice || !kernel.compiler_choice->estimated_cycles) return std::nullopt;
  return static_cast<double>(*kernel.compiler_choice->estimated_cycles) / device.clock_hz;
}

}  // namespace autotune
