#ifndef AUTOTUNE_HARDWARE_COMPILED_FOR_H_
#define AUTOTUNE_HARDWARE_COMPILED_FOR_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "hardware/device_spec.h"
#include "hlo/module.h"

namespace autotune {

// The generations for which a program, or a kernel of one, may have been optimised, oldest first;
// empty where it does not tell: before optimisation, in text without layouts, and where it
// contradicts itself. A program does not say for what it was compiled; this is told by the tiles of
// its scalars (DeviceSpec::scalar_tile_bytes), so v2 is not told from v3, nor the later generations
// from each other.
std::vector<std::string> CompiledForDevices(const HloModule& program);

// InvalidArgument, saying for what instead, if a program was optimised for other generations than
// `device` (CompiledForDevices): the compiler refuses the layouts of many of its kernels there, and
// what it takes is not what it would make.
absl::Status CheckCompiledFor(const HloModule& program, const DeviceSpec& device);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_COMPILED_FOR_H_
