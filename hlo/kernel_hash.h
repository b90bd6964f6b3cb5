#ifndef AUTOTUNE_HLO_KERNEL_HASH_H_
#define AUTOTUNE_HLO_KERNEL_HASH_H_

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "hlo/computation.h"
#include "hlo/instruction.h"
#include "hlo/module.h"

namespace autotune {

// Fingerprints of operations and computations of one module, by structure alone: opcodes, shapes
// with layouts and memory spaces, attributes that change what is computed, and how values flow.
// Left out: names, ids, order of independent instructions, metadata, shardings, frontend
// attributes, control dependencies, backend_config, and the values of constants of more than one
// element (text forms elide them, and no running time depends on them).
class KernelHasher {
 public:
  // Does not own the module. Hashes all of its computations, callees first.
  explicit KernelHasher(const HloModule& module);

  // The whole computation, seen from its root.
  uint64_t Computation(const HloComputation& computation) const {
    return computations_.at(&computation);
  }
  // The instruction alone, each operand standing for any value of its shape: equal for an operation
  // within a program and the same one in a module of its own.
  uint64_t Operation(const HloInstruction& instruction) const;

 private:
  absl::flat_hash_map<const HloComputation*, uint64_t> computations_;
};

}  // namespace autotune

#endif  // AUTOTUNE_HLO_KERNEL_HASH_H_
