#ifndef AUTOTUNE_HARDWARE_HLO_PHASE_H_
#define AUTOTUNE_HARDWARE_HLO_PHASE_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "hardware/aot_compiler.h"
#include "hlo/module.h"

namespace autotune {

// The part of a TPU compilation that works on HLO: it forms the kernels, and takes about a tenth of
// what emitting them takes. The compiler writes the program that it is about to emit, without its
// windows, beside its static schedules; as soon as that file is whole, the process that compiles is
// killed. Each call starts a process of its own. Not thread-safe.
class HloPhase {
 public:
  // The errors of ScratchFolder::Create if no folder can be made for what the compiler writes.
  static absl::StatusOr<std::unique_ptr<HloPhase>> Create(const AotCompilerOptions& options);

  // The scheduled program: fusions, layouts and metadata as in the finished one, but no
  // `window_config`. Whatever goes wrong (the program is refused, a time-out, a compiler that
  // writes no such file) is an error that says so; compiling the whole program tells more.
  absl::StatusOr<std::unique_ptr<HloModule>> Run(const PjrtProgram& program);

 private:
  HloPhase(const AotCompilerOptions& options, std::unique_ptr<ScratchFolder> scratch);

  const AotCompilerOptions options_;
  const std::unique_ptr<ScratchFolder> scratch_;
};

// Whether `text` is a whole dump: it ends behind the entry computation.
bool IsWholeHloDump(const std::string& text);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_HLO_PHASE_H_
