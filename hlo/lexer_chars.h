#ifndef AUTOTUNE_HLO_LEXER_CHARS_H_
#define AUTOTUNE_HLO_LEXER_CHARS_H_

#include <array>
#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "hlo/element_type.h"
#include "hlo/lexer.h"

// What the parts of the lexer share; not for use elsewhere.

namespace autotune {

enum CharClass : uint8_t { kIdentifierChar = 1, kDigit = 2, kSpace = 4, kLetter = 8 };

constexpr std::array<uint8_t, 256> MakeCharClasses() {
  std::array<uint8_t, 256> classes{};
  for (int c = 'a'; c <= 'z'; ++c) classes[static_cast<size_t>(c)] = kIdentifierChar | kLetter;
  for (int c = 'A'; c <= 'Z'; ++c) classes[static_cast<size_t>(c)] = kIdentifierChar | kLetter;
  for (int c = '0'; c <= '9'; ++c) classes[static_cast<size_t>(c)] = kIdentifierChar | kDigit;
  classes['_'] = kIdentifierChar | kLetter;
  classes['-'] = kIdentifierChar;
  classes['.'] = kIdentifierChar;
  classes[' '] = classes['\t'] = classes['\n'] = classes['\r'] = kSpace;
  return classes;
}

inline constexpr std::array<uint8_t, 256> kClasses = MakeCharClasses();

// Whether a character is of one of the classes.
inline bool Is(char c, uint8_t char_class) {
  return (kClasses[static_cast<unsigned char>(c)] & char_class) != 0;
}

// Whether a character can stand in the labels of one side of a convolution, whose two letters are
// `a` and `b`.
inline bool IsDimLabelChar(char c, char a, char b) {
  return Is(c, kDigit) || c == a || c == b || c == '?';
}

// The keyword of that name, or kNone. REQUIRES: not empty.
Keyword FindKeyword(absl::string_view name);

// The element type of that name, but not `tuple` and `buffer`, which are written in another way.
std::optional<ElementType> FindElementType(absl::string_view name);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_LEXER_CHARS_H_
