#ifndef AUTOTUNE_HARDWARE_KERNEL_ROOFLINE_H_
#define AUTOTUNE_HARDWARE_KERNEL_ROOFLINE_H_

#include <optional>

#include "hardware/device_spec.h"
#include "hlo/cost_analysis.h"
#include "hlo/instruction.h"
#include "hlo/kernel.h"

namespace autotune {

// Bytes that `operation` reads from and writes to HBM: those of CostAnalysis without what lies in
// another memory (S(1), S(6), ...).
double HbmBytes(const CostAnalysis& analysis, const HloInstruction& operation);

// What one execution of the kernel takes at least, in seconds: its matrix products and convolutions
// at the peak of the matrix units, or its bytes in HBM at the published bandwidth, whichever is
// longer. Other arithmetic does not count: the vector unit's peak is not published.
double RooflineSeconds(const Kernel& kernel, const DeviceSpec& device);

// The compiler's own estimate of its choice of tile, in seconds at the device's clock; nullopt
// where the program holds none.
std::optional<double> CompilerEstimateSeconds(const Kernel& kernel, const DeviceSpec& device);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_KERNEL_ROOFLINE_H_
