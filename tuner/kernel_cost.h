#ifndef AUTOTUNE_TUNER_KERNEL_COST_H_
#define AUTOTUNE_TUNER_KERNEL_COST_H_

#include "hardware/device_spec.h"
#include "hlo/kernel.h"
#include "tuner/tuning_report.h"

namespace autotune {

// What the kernel costs on a device, whatever its tile: operations by HLO cost analysis; bytes of
// operands and results that lie in HBM (those in VMEM cost no traffic); and RooflineSeconds.
KernelCost CostOfKernel(const Kernel& kernel, const DeviceSpec& device);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_KERNEL_COST_H_
