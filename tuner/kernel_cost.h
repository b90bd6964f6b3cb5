#ifndef AUTOTUNE_TUNER_KERNEL_COST_H_
#define AUTOTUNE_TUNER_KERNEL_COST_H_

#include <optional>

#include "hardware/device_spec.h"
#include "hlo/kernel.h"
#include "tuner/tuning_report.h"

namespace autotune {

// What the kernel costs on a device, whatever its tile: operations by HLO cost analysis; bytes of
// operands and results that lie in HBM (those in VMEM cost no traffic); and RooflineSeconds.
KernelCost CostOfKernel(const Kernel& kernel, const DeviceSpec& device);

// The compiler's own estimate of its choice, in seconds at the device's clock; nullopt where the
// program holds none.
std::optional<double> CompilerEstimateSeconds(const Kernel& kernel, const DeviceSpec& device);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_KERNEL_COST_H_
