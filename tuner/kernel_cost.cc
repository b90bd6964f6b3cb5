#include "tuner/kernel_cost.h"

#include <algorithm>

#include "hlo/cost_analysis.h"
#include "hlo/module.h"

namespace autotune {
namespace {

bool InHbm(const Shape& shape) { return !shape.has_layout() || shape.layout().memory_space == 0; }

// The share of the bytes of a value that lie in HBM.
double HbmShare(const Shape& shape) {
  if (!shape.IsTuple()) return InHbm(shape) ? 1 : 0;
  double all = 0;
  double in_hbm = 0;
  for (const Shape& element : shape.tuple_shapes()) {
    const double bytes = CostBytes(element);
    all += bytes;
    in_hbm += bytes * HbmShare(element);
  }
  return all > 0 ? in_hbm / all : 1;
}

double HbmBytes(const CostAnalysis& analysis, const HloInstruction& operation) {
  double bytes = analysis.OutputBytes(operation) * HbmShare(operation.shape());
  for (int64_t i = 0; i < operation.operand_count(); ++i) {
    bytes += analysis.OperandBytes(operation, i) * HbmShare(operation.operand(i).shape());
  }
  return bytes;
}

}  // namespace

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
