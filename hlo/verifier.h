#ifndef AUTOTUNE_HLO_VERIFIER_H_
#define AUTOTUNE_HLO_VERIFIER_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "hlo/module.h"

namespace autotune {

// One thing that is wrong with a program.
struct VerifierError {
  std::string computation;  // empty for the module as a whole
  std::string instruction;  // empty for a computation as a whole
  int32_t line = 0;         // of the text, 1-based; 0 if unknown
  std::string message;

  // "line 12: 'add.3' in 'main': operands of add have different extents: ..."
  std::string ToString() const;
};

// Checks what the readers leave open: operand counts; shapes and element types of every opcode
// against what follows from its operands; attribute ranges; names that occur twice; the signatures
// of called computations; schedule, aliasing and entry layout. Returns at most `max_errors`, in the
// order of the program; none if the program is well-formed. Linear in the module. Thread-safe.
//
// Layouts are not compared (a compiler assigns them), floating-point types of different precision
// agree, and so do dynamic and static extents: XLA allows all of these between instructions.
std::vector<VerifierError> VerifyModule(const HloModule& module, size_t max_errors = 20);

// The same as a status: InvalidArgument with the first error, after `file_name` if that is given.
absl::Status VerifyStatus(const HloModule& module, absl::string_view file_name = "");

}  // namespace autotune

#endif  // AUTOTUNE_HLO_VERIFIER_H_
