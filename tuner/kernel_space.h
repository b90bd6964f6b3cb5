#ifndef AUTOTUNE_TUNER_KERNEL_SPACE_H_
#define AUTOTUNE_TUNER_KERNEL_SPACE_H_

#include <memory>
#include <optional>
#include <string>

#include "hardware/config.h"
#include "hardware/device_spec.h"
#include "hardware/recording.h"
#include "hlo/kernel.h"
#include "search/search_space.h"

namespace autotune {

// The configurations in which one kernel is searched, and what to call them.
struct KernelSpace {
  std::unique_ptr<SearchSpace> space;  // null if the kernel cannot be tuned
  // "579 recorded tiles", "3 recorded configurations (opaque)", "8,064 legal tiles".
  std::string description;
  // Why there is no space, or empty.
  std::string not_tuned;
  // True if the configurations cannot be told apart by content.
  bool opaque = false;
  // What the compiler would choose by itself: the recording's default, else the program's; for a
  // replay only if it is recorded.
  std::optional<Config> compiler_default;
};

// The space of a kernel that is replayed: exactly the recorded configurations, recorded failures
// included. A kernel that is not recorded has none.
KernelSpace SpaceFromRecording(const Kernel& kernel, const Recording& recording);

// The space of a kernel that is measured: the tiles that the compiler could choose on the device. A
// kernel whose operation is not tiled has none.
KernelSpace SpaceFromGeometry(const Kernel& kernel, const DeviceSpec& device);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_KERNEL_SPACE_H_
