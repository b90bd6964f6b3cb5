#include "tuner/text_table.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "tuner/printable.h"

namespace autotune {
namespace {

// Columns that a UTF-8 text takes, counting code points.
size_t Width(const std::string& text) {
  return static_cast<size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  }));
}

// `value` with so many significant digits, without an exponent for values below 1000.
std::string Significant(double value, int digits) {
  if (value == 0 || !std::isfinite(value)) return absl::StrFormat("%g", value);
  const int magnitude = static_cast<int>(std::floor(std::log10(std::abs(value))));
  const int decimals = std::clamp(digits - 1 - magnitude, 0, digits);
  return absl::StrFormat("%.*f", decimals, value);
}

}  // namespace

TextTable& TextTable::Column(const std::string& title, Align align) {
  aligns_.push_back(align);
  rows_[0].push_back(PrintableLine(title));
  return *this;
}

void TextTable::Row(std::vector<std::string> cells) {
  cells.resize(aligns_.size());
  for (std::string& cell : cells) cell = PrintableLine(cell);
  rows_.push_back(std::move(cells));
}

std::string TextTable::ToString(int indent) const {
  std::vector<size_t> widths(aligns_.size(), 0);
  for (const std::vector<std::string>& row : rows_) {
    for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], Width(row[i]));
  }
  std::string text;
  for (const std::vector<std::string>& row : rows_) {
    std::string line(static_cast<size_t>(indent), ' ');
    for (size_t i = 0; i < row.size(); ++i) {
      const std::string padding(widths[i] - Width(row[i]), ' ');
      absl::StrAppend(&line, i == 0 ? "" : "  ");
      absl::StrAppend(&line, aligns_[i] == Align::kRight ? padding : "", row[i],
                      aligns_[i] == Align::kLeft ? padding : "");
    }
    absl::string_view trimmed = line;
    while (absl::ConsumeSuffix(&trimmed, " ")) {
    }
    absl::StrAppend(&text, trimmed, "\n");
  }
  return text;
}

std::string FormatSeconds(double seconds) {
  if (!std::isfinite(seconds)) return "-";
  // Beyond a day, or below what any clock resolves, the digits would only fill the line.
  if (seconds >= 1e5 || (seconds > 0 && seconds < 1e-13)) {
    return absl::StrFormat("%.3e s", seconds);
  }
  const double micros = seconds * 1e6;
  if (micros < 0.99995) return absl::StrCat(Significant(micros * 1e3, 4), " ns");
  if (micros < 999.95) return absl::StrCat(Significant(micros, 4), " us");
  if (micros < 999.95e3) return absl::StrCat(Significant(micros / 1e3, 4), " ms");
  return absl::StrCat(Significant(seconds, 4), " s");
}

std::string FormatSpeedup(double ratio) {
  if (!std::isfinite(ratio)) return "-";
  return ratio < 1e5 ? absl::StrFormat("%.2fx", ratio) : absl::StrFormat("%.3gx", ratio);
}

std::string FormatCount(int64_t count) {
  std::string digits = absl::StrCat(count);
  for (int64_t i = static_cast<int64_t>(digits.size()) - 3; i > (count < 0 ? 1 : 0); i -= 3) {
    digits.insert(static_cast<size_t>(i), ",");
  }
  return digits;
}

std::string CountOf(int64_t count, absl::string_view noun) {
  return absl::StrCat(FormatCount(count), " ", noun, count == 1 ? "" : "s");
}

std::string FormatQuantity(double quantity) {
  constexpr const char* kPrefixes[] = {"", " k", " M", " G", " T", " P"};
  size_t prefix = 0;
  while (std::abs(quantity) >= 999.5 && prefix + 1 < std::size(kPrefixes)) {
    quantity /= 1000;
    ++prefix;
  }
  if (!(std::abs(quantity) < 999.5)) return absl::StrFormat("%.3g%s", quantity, kPrefixes[prefix]);
  if (prefix == 0 && quantity == std::floor(quantity)) return absl::StrFormat("%.0f", quantity);
  return absl::StrCat(Significant(quantity, 3), kPrefixes[prefix]);
}

}  // namespace autotune
