#ifndef AUTOTUNE_TUNER_PROGRAM_H_
#define AUTOTUNE_TUNER_PROGRAM_H_

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hardware/device_spec.h"
#include "hardware/recording.h"
#include "hlo/kernel.h"
#include "hlo/module.h"

namespace autotune {

// The generation that is meant where neither the user nor the program tells (AssumeTarget).
inline constexpr char kAssumedTarget[] = "tpu-v5e";

// What a command was asked to work on. A value; module and kernels are shared and immutable.
struct Program {
  std::string path;
  std::string name;  // of the module, or of the file for a recording
  // The whole program; null for a recording, which holds kernels only.
  std::shared_ptr<const HloModule> module;
  // The file itself, if it is a recording.
  std::optional<Recording> recording;
  // The kernels of an optimised program or of a recording; empty before optimisation.
  std::vector<Kernel> kernels;
  // What the user should know, one line each (elided constants).
  std::vector<std::string> warnings;
};

// Reads and verifies a program or a recording, by content. `path` may be "-" for standard input, a
// folder or a pattern that stands for one file. Errors name the file and, for text, line and
// column; they carry the exit code for bad input.
absl::StatusOr<Program> LoadProgram(const std::string& path);

// True for a program that no compiler has optimised yet: it holds no kernels and no fusions.
bool IsBeforeOptimisation(const Program& program);

// Fails unless the program has kernels: says what it is instead and what to do about it.
absl::Status RequireKernels(const Program& program);

// Fails if the program, or a kernel of one without a module, was optimised for other generations
// than `device` (CheckCompiledFor); says what to do about it. The error carries the exit code for
// wrong use.
absl::Status RequireCompiledFor(const Program& program, const DeviceSpec& device);
// The same for a module of the file `path`.
absl::Status RequireCompiledFor(const std::string& path, const HloModule& module,
                                const DeviceSpec& device);

// A target that nobody named.
struct AssumedTarget {
  std::string device;
  std::string reason;  // "assumed, --target names another"
};

// The target without --target. The first program that tells decides: a recording by its device, an
// optimised program by its layouts (CompiledForDevices), if they are not those of kAssumedTarget:
// then the newest that has them. Else kAssumedTarget.
AssumedTarget AssumeTarget(absl::Span<const Program> programs);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_PROGRAM_H_
