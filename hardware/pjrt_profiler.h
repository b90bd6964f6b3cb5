#ifndef AUTOTUNE_HARDWARE_PJRT_PROFILER_H_
#define AUTOTUNE_HARDWARE_PJRT_PROFILER_H_

#include <memory>
#include <string>

#include "absl/functional/function_ref.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hardware/pjrt_plugin.h"

namespace autotune {

// The profiler that a PJRT plugin may offer as an extension of the API (libtpu does, the CPU
// plugins do not). Not thread-safe; must not outlive its plugin.
class PjrtProfiler {
 public:
  // NotFound where the plugin offers none.
  static absl::StatusOr<std::unique_ptr<PjrtProfiler>> Create(const PjrtPlugin& plugin);
  ~PjrtProfiler();

  // Watches what the devices do during `run` and gives the profile in the plugin's form, a
  // serialised XSpace (hardware/device_profile.h reads it). What `run` or the plugin complains of.
  absl::StatusOr<std::string> Watch(absl::FunctionRef<absl::Status()> run) const;

 private:
  struct Impl;
  explicit PjrtProfiler(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_PJRT_PROFILER_H_
