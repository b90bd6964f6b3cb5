#ifndef AUTOTUNE_HARDWARE_PJRT_PLUGIN_H_
#define AUTOTUNE_HARDWARE_PJRT_PLUGIN_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace autotune {

// True if this program was built with the C header of the PJRT API. Without it every call here
// fails with Unimplemented, saying how to get it.
bool HasPjrtSupport();

// A program as a plugin takes it.
struct PjrtProgram {
  std::string code;
  std::string format = "hlo";  // "hlo" (a serialised HloModuleProto) or "mlir" (StableHLO)
  // Memory spaces are as the code has them: a TPU compiler's own placement of buffers in VMEM,
  // which would move the operands of a kernel that is compiled alone, stays off.
  bool memory_assigned = false;
};

// What compiling ahead of time gives.
struct AheadOfTimeResult {
  // A serialised HloModuleProto; empty if the plugin does not hand it out.
  std::string optimized_module;
  std::string executable;  // where it was asked for
  double compile_seconds = 0;
  double read_back_seconds = 0;
};

class PjrtTopology;

// A library that implements the PJRT C API, loaded into this process: libtpu, a CPU plugin, ... It
// stays loaded until the process ends. Because plugins abort on input that they do not like, they
// are loaded into worker processes only. Thread-compatible.
class PjrtPlugin {
 public:
  // Loads and initialises. NotFound if the file cannot be loaded, FailedPrecondition if it is no
  // PJRT plugin or its major API version is another one, else what the plugin says.
  static absl::StatusOr<std::unique_ptr<PjrtPlugin>> Load(const std::string& path);
  ~PjrtPlugin();

  // "0.117".
  std::string api_version() const;
  // What the plugin says of itself ("xla_version" and so on), in its order. Integers as text.
  std::vector<std::pair<std::string, std::string>> Attributes() const;

  // A topology by name, for instance "v3:2x2"; none of its devices needs to be there.
  absl::StatusOr<std::unique_ptr<PjrtTopology>> CreateTopology(absl::string_view name) const;

  // Implementation detail for hardware/pjrt_*.cc: the `PJRT_Api` table.
  const void* api() const;

 private:
  struct Impl;
  explicit PjrtPlugin(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Devices to compile for. Must not outlive its plugin.
class PjrtTopology {
 public:
  ~PjrtTopology();

  // The compiler's name and version.
  std::string PlatformVersion() const;

  // Compiles without a device. `options` is a serialised CompileOptionsProto. With `serialize` also
  // gives the executable; Unimplemented where the plugin cannot.
  absl::StatusOr<AheadOfTimeResult> Compile(const PjrtProgram& program, absl::string_view options,
                                            bool serialize) const;

 private:
  friend class PjrtPlugin;
  struct Impl;
  explicit PjrtTopology(std::unique_ptr<Impl> impl);
  std::unique_ptr<Impl> impl_;
};

// Options of the compiler for one compilation, by name ("xla_dump_to").
using CompilerOverrides = std::map<std::string, std::variant<bool, std::string>>;

// A serialised CompileOptionsProto for one replica and one partition, with `overrides`.
std::string SingleDeviceCompileOptions(const CompilerOverrides& overrides = {});

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_PJRT_PLUGIN_H_
