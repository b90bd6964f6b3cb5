#ifndef AUTOTUNE_HLO_KERNEL_H_
#define AUTOTUNE_HLO_KERNEL_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hlo/tile_bounds.h"

namespace autotune {

class HloModule;

// What the compiler chose for a kernel, read from the `window_config` of its `backend_config`.
struct CompilerChoice {
  TileBounds bounds;
  // The compiler's own analytical estimate in TPU clock cycles; absent where it is 0, which is what
  // the compiler writes for a tile that it did not choose itself.
  std::optional<int64_t> estimated_cycles;
};

// One kernel of an optimised program: a fusion or another tiled operation, cut out as a module of
// its own whose entry computation holds the parameters and that one operation. A value; the module
// is shared and immutable, so copies are cheap and reading is thread-safe.
struct Kernel {
  // The instruction's name at its first occurrence in the program, for instance "fusion.191".
  std::string name;
  // What a person calls it: "convolution fusion", "reduce fusion", "loop fusion", "copy", ...
  std::string kind;
  std::shared_ptr<const HloModule> module;
  // How often one execution of the program runs it: occurrences with the same fingerprint, each
  // weighted by the trip counts of the while loops around it where they are known (else 1).
  int64_t count = 1;
  std::optional<CompilerChoice> compiler_choice;
  // Equal for equal kernels: independent of names, ids, metadata and the compiler's configuration;
  // it includes operand and result layouts with their memory space.
  uint64_t fingerprint = 0;
};

// The kernels of an optimised program, each distinct one once with its count, in order of first
// occurrence: every fusion or other tiled operation of the entry computation, of while bodies and
// of called computations. Empty for a program before optimisation.
absl::StatusOr<std::vector<Kernel>> ExtractKernels(const HloModule& program);

// A module that already is one kernel (as a TpuGraphs recording holds it): its entry computation is
// parameters and one tiled operation. Fails with InvalidArgument if it is anything else.
absl::StatusOr<Kernel> KernelFromModule(std::shared_ptr<const HloModule> module);

// The fingerprint described at Kernel::fingerprint, of a kernel's module.
uint64_t KernelFingerprint(const HloModule& kernel_module);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_KERNEL_H_
