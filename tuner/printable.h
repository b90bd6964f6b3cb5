#ifndef AUTOTUNE_TUNER_PRINTABLE_H_
#define AUTOTUNE_TUNER_PRINTABLE_H_

#include <string>

#include "absl/strings/string_view.h"
#include "nlohmann/json_fwd.hpp"

namespace autotune {

// The border between text from files and what people and terminals read. Names and messages come
// from programs and recordings that nobody vouches for: raw, they could move the cursor, change
// colours, hide text or break a table's lines.

// `text` with everything but visible UTF-8, spaces, tabs and newlines written out: control
// characters (ESC, CR, DEL, C1) and bytes that are no UTF-8 as "\x1b", characters that reorder or
// hide text (U+200B to U+200F, U+202A to U+202E, U+2060 to U+2069, U+FEFF) and line separators as
// "\u202e". For whole messages and reports. Idempotent.
std::string PrintableText(absl::string_view text);

// The same for one line or one cell of a table: newlines and tabs become "\n" and "\t".
std::string PrintableLine(absl::string_view text);

// `document` as text, indented by `indent` (-1: one line), without a newline behind it. Pure ASCII:
// everything else is escaped, and bytes that are no UTF-8 become U+FFFD. The only way in which this
// folder writes JSON.
std::string DumpJson(const nlohmann::json& document, int indent = 2);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_PRINTABLE_H_
