#ifndef AUTOTUNE_HARDWARE_PJRT_CLIENT_H_
#define AUTOTUNE_HARDWARE_PJRT_CLIENT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hardware/host_array.h"
#include "hardware/pjrt_plugin.h"
#include "hlo/module.h"

namespace autotune {

class PjrtBuffer;
class PjrtExecutable;

// The devices behind a plugin. Only worker processes make one: plugins abort on what they do not
// like, and a TPU belongs to one process at a time. Must not outlive its plugin. Compile may be
// called from several threads; the rest from one at a time.
class PjrtClient {
 public:
  // What the plugin says where it has no device, or where it is too old (Unimplemented).
  static absl::StatusOr<std::unique_ptr<PjrtClient>> Create(const PjrtPlugin& plugin);
  ~PjrtClient();

  std::string PlatformName() const;     // "cpu", "tpu"
  std::string PlatformVersion() const;  // versions of the runtime
  // One entry a device that this process may use: "cpu", "TPU v5 lite".
  std::vector<std::string> DeviceKinds() const;

  // Compiles for the first device. `options` is a serialised CompileOptionsProto.
  absl::StatusOr<std::unique_ptr<PjrtExecutable>> Compile(const PjrtProgram& program,
                                                          absl::string_view options) const;

  // Copies an array to the first device, in the given order of dimensions and tiles (null: row by
  // row). Returns once it is there.
  absl::StatusOr<std::unique_ptr<PjrtBuffer>> Upload(const HostArray& array,
                                                     const Layout* layout) const;

 private:
  friend class PjrtExecutable;
  struct Impl;
  explicit PjrtClient(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// An array on a device. Must not outlive its client.
class PjrtBuffer {
 public:
  ~PjrtBuffer();

  // Copies it to the host.
  absl::StatusOr<HostArray> Download() const;

 private:
  friend class PjrtClient;
  friend class PjrtExecutable;
  struct Impl;
  explicit PjrtBuffer(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// A program that can run. Must not outlive its client.
class PjrtExecutable {
 public:
  ~PjrtExecutable();

  // As the compiler left it; null where the plugin does not hand it out.
  const HloModule* optimized() const;
  double compile_seconds() const;

  struct Outcome {
    std::vector<std::unique_ptr<PjrtBuffer>> outputs;
    double seconds = 0;  // from the call to the end on the device
  };
  // Runs once and waits for the end.
  absl::StatusOr<Outcome> Run(const std::vector<const PjrtBuffer*>& arguments) const;

  // The compiled program in the plugin's own form.
  absl::StatusOr<std::string> Serialize() const;

 private:
  friend class PjrtClient;
  struct Impl;
  explicit PjrtExecutable(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_PJRT_CLIENT_H_
