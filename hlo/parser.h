#ifndef AUTOTUNE_HLO_PARSER_H_
#define AUTOTUNE_HLO_PARSER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hlo/module.h"
#include "hlo/shape.h"

namespace autotune {

struct ParseOptions {
  // Named in errors: "FILE:LINE:COLUMN: ...".
  std::string file_name = "<text>";
  // Keep attributes and opcodes that are not known (of a newer XLA) verbatim instead of failing.
  bool keep_unknown = false;
  // How many modules this one is nested in (`origin_recovery_table` holds modules). Leave it.
  int module_nesting = 0;
};

// Parses HLO text: a module, bare computations, or a lone instruction, in every form that XLA's own
// parser reads. The module takes the text over. Time and memory are linear in the text.
//
// Errors are InvalidArgument and read
//
//   program.hlo:12:9: expected a shape, got "foo"
//     a = foo add(b, c)
//         ^
absl::StatusOr<std::unique_ptr<HloModule>> ParseHloText(std::string text,
                                                        const ParseOptions& options = {});

// Parses the text of one shape, for instance "f32[8,128]{1,0:T(8,128)}". An array without a layout
// gets the default one, as in a module.
absl::StatusOr<Shape> ParseShape(absl::string_view text);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_PARSER_H_
