#ifndef AUTOTUNE_HARDWARE_COMPILED_FOR_H_
#define AUTOTUNE_HARDWARE_COMPILED_FOR_H_

#include "absl/status/status.h"
#include "hardware/device_spec.h"
#include "hlo/module.h"

namespace autotune {

// InvalidArgument, saying for what instead, if a program was optimised for other generations than
// `device`: the compiler refuses the layouts of many of its kernels there, and what it takes is not
// what it would make. A program does not say for what it was compiled; this is told by the tiles of
// its scalars, which on v2 and v3 hold 1,024 bytes and on later generations 512. OK where scalars
// have no tiles (before optimisation, or in text without layouts). v2 is not told from v3, nor the
// later generations from each other.
absl::Status CheckCompiledFor(const HloModule& program, const DeviceSpec& device);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_COMPILED_FOR_H_
