#ifndef AUTOTUNE_HARDWARE_DEVICE_PROFILE_H_
#define AUTOTUNE_HARDWARE_DEVICE_PROFILE_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hlo/module.h"

namespace autotune {

// What ran on a device while a profiler watched: seconds on the device, without the costs of a
// call. A plain value.
struct DeviceProfile {
  struct Timed {
    std::string name;  // an instruction of the compiled program ("fusion.3"), or a program
    std::vector<double> seconds;  // of each execution, in order
  };
  std::vector<Timed> operations;  // in the order in which they first ran
  std::vector<Timed> programs;

  // Null if it did not run.
  const Timed* FindOperation(absl::string_view name) const;
};

// Reads a serialised profile (XSpace): the first TPU or other device whose operations it holds.
// DataLoss if it cannot be read, NotFound if it holds no operation of a device.
absl::StatusOr<DeviceProfile> ReadDeviceProfile(const std::string& bytes);

// The time of each run of `compiled`, which ran alone `runs` times while the profiler watched: of
// its only operation, or of the program as a whole. DataLoss where the profile does not hold that
// many runs or a time is not positive.
absl::StatusOr<std::vector<double>> RunSeconds(const DeviceProfile& profile,
                                               const HloModule& compiled, int runs);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_DEVICE_PROFILE_H_
