#ifndef AUTOTUNE_HLO_PRINTER_H_
#define AUTOTUNE_HLO_PRINTER_H_

#include <string>

#include "hlo/module.h"

namespace autotune {

// What to print. The defaults print everything: XLA and autotune read it back to the same module.
struct PrintOptions {
  // `%` before the names of instructions and computations.
  bool percent = true;
  bool metadata = true;
  bool backend_config = true;
  bool result_layouts = true;
  // Shapes before operands, as older versions of XLA and dumps have them.
  bool operand_shapes = false;
  // Literals with more elements than this are written `{...}`; negative: never.
  int64_t max_literal_elements = -1;
  // A comment with the position before every fifth operand of a long list, as XLA writes it.
  bool operand_index_comments = true;
  // Names by position (computations c0, c1, ..., instructions of each i0, i1, ...): equal programs
  // print equal text whatever their names are. Module header, metadata and names are left out.
  bool canonical = false;

  // Everything but metadata, backend configuration and large literals.
  static PrintOptions Short();
  // A form that depends only on what the program computes: see `canonical`.
  static PrintOptions Canonical();
};

// Prints the module; the text ends in a newline.
std::string PrintHlo(const HloModule& module, const PrintOptions& options = {});

// Prints one computation or instruction (without indentation or newline for the latter).
std::string PrintHlo(const HloComputation& computation, const PrintOptions& options = {});
std::string PrintHlo(const HloInstruction& instruction, const PrintOptions& options = {});

}  // namespace autotune

#endif  // AUTOTUNE_HLO_PRINTER_H_
