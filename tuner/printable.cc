#include "tuner/printable.h"

#include <cstdint>
#include <optional>

#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"

namespace autotune {
namespace {

// A character of UTF-8: its code point and how many bytes it takes.
struct CodePoint {
  uint32_t value;
  size_t bytes;
};

// The first character of a text that is not empty; nullopt if it does not begin with valid UTF-8
// (overlong forms, surrogates and what lies beyond U+10FFFF are not valid).
std::optional<CodePoint> FirstCodePoint(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  if (byte(0) < 0x80) return CodePoint{byte(0), 1};
  const size_t bytes = byte(0) >= 0xF0 ? 4 : byte(0) >= 0xE0 ? 3 : 2;
  if (byte(0) < 0xC2 || byte(0) > 0xF4 || text.size() < bytes) return std::nullopt;
  uint32_t value = byte(0) & (0xFFu >> (bytes + 1));
  for (size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xC0) != 0x80) return std::nullopt;
    value = (value << 6) | (byte(i) & 0x3Fu);
  }
  constexpr uint32_t kSmallest[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < kSmallest[bytes] || value > 0x10FFFF || surrogate) return std::nullopt;
  return CodePoint{value, bytes};
}

bool IsControl(uint32_t value) { return value < 0x20 || (value >= 0x7F && value < 0xA0); }

bool ReordersOrHides(uint32_t value) {
  return (value >= 0x200B && value <= 0x200F) || (value >= 0x2028 && value <= 0x202E) ||
         (value >= 0x2060 && value <= 0x2069) || value == 0xFEFF;
}

std::string Printable(absl::string_view text, bool one_line) {
  std::string result;
  result.reserve(text.size());
  while (!text.empty()) {
    const std::optional<CodePoint> next = FirstCodePoint(text);
    const size_t bytes = next ? next->bytes : 1;
    const bool blank = text[0] == '\n' || text[0] == '\t';
    if (blank && one_line) {
      result += text[0] == '\n' ? "\\n" : "\\t";
    } else if (!next || (IsControl(next->value) && !blank)) {
      for (size_t i = 0; i < bytes; ++i) {
        absl::StrAppendFormat(&result, "\\x%02x", static_cast<unsigned char>(text[i]));
      }
    } else if (ReordersOrHides(next->value)) {
      absl::StrAppendFormat(&result, "\\u%04x", next->value);
    } else {
      result.append(text.data(), bytes);
    }
    text.remove_prefix(bytes);
  }
  return result;
}

}  // namespace

std::string PrintableText(absl::string_view text) { return Printable(text, /*one_line=*/false); }

std::string PrintableLine(absl::string_view text) { return Printable(text, /*one_line=*/true); }

std::string DumpJson(const nlohmann::json& document, int indent) {
  return document.dump(indent, ' ', /*ensure_ascii=*/true,
                       nlohmann::json::error_handler_t::replace);
}

}  // namespace autotune
