#ifndef AUTOTUNE_TUNER_TEXT_TABLE_H_
#define AUTOTUNE_TUNER_TEXT_TABLE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/strings/string_view.h"

namespace autotune {

// Lines up columns of text. Not thread-safe.
class TextTable {
 public:
  enum class Align { kLeft, kRight };

  // The first row.
  TextTable& Column(const std::string& title, Align align = Align::kRight);
  // A row; missing cells are empty. REQUIRES: no more cells than columns.
  void Row(std::vector<std::string> cells);

  // All rows, each with `indent` spaces before it and a newline after it, columns two spaces apart,
  // without spaces at the ends of lines.
  std::string ToString(int indent = 0) const;

 private:
  std::vector<Align> aligns_;
  std::vector<std::vector<std::string>> rows_{{}};
};

// "598.0 ns", "137.3 us", "24.10 ms", "3.200 s": four significant digits; "1.000e+21 s" far outside
// of these, "-" for what is not finite.
std::string FormatSeconds(double seconds);
// "1.10x"; "-" for what is not finite.
std::string FormatSpeedup(double ratio);
// "1,234,567".
std::string FormatCount(int64_t count);
// "1 run", "1,234 runs". REQUIRES: a noun whose plural ends with an s.
std::string CountOf(int64_t count, absl::string_view noun);
// "12.3 M", "1.20 G", three significant digits with a decimal prefix, for FLOPs and bytes.
std::string FormatQuantity(double quantity);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_TEXT_TABLE_H_
