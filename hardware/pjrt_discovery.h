#ifndef AUTOTUNE_HARDWARE_PJRT_DISCOVERY_H_
#define AUTOTUNE_HARDWARE_PJRT_DISCOVERY_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace autotune {

// The path of libtpu.so: $AUTOTUNE_LIBTPU or $TPU_LIBRARY_PATH, else where `./autotune --with aot`
// puts it, else the Python environments on the path. NotFound, saying how to get it.
absl::StatusOr<std::string> FindLibtpu();

// The path of a CPU plugin (xla-cpu-pjrt), found in the same places; $AUTOTUNE_CPU_PLUGIN may name
// it. For tests and for trying things out without a TPU.
absl::StatusOr<std::string> FindCpuPlugin();

// True if a TPU is attached to this machine, judged by the device files of its drivers.
bool HasTpuDevice();

// The first existing file `relative` (for instance "libtpu/libtpu.so") in the places above.
absl::StatusOr<std::string> FindInPythonPackages(absl::string_view relative);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_PJRT_DISCOVERY_H_
