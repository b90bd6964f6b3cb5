#include "hlo/lexer.h"

#include <algorithm>

#include "absl/strings/escaping.h"
#include "hlo/lexer_chars.h"

namespace autotune {

Lexer::Lexer(absl::string_view text)
    : begin_(text.data()), end_(text.data() + text.size()), start_(begin_), position_(begin_) {
  Next();
}

Token Lexer::Next() { return kind_ = Scan(); }

Token Lexer::Peek() const {
  Lexer ahead = *this;
  return ahead.Next();
}

Token Lexer::Resume(size_t offset) {
  position_ = begin_ + offset;
  return Next();
}

Token Lexer::Fail(absl::string_view why) {
  error_ = why;
  if (position_ == start_ && position_ < end_) ++position_;
  return Token::kError;
}

Token Lexer::Take(Token kind, size_t size) {
  position_ = start_ + size;
  return kind;
}

bool Lexer::SkipComment() {
  if (At(position_ + 1) == '/') {
    while (position_ < end_ && *position_ != '\n' && *position_ != '\r') ++position_;
    return true;
  }
  const char* p = position_ + 2;
  while (true) {
    const void* star = p < end_ ? std::memchr(p, '*', static_cast<size_t>(end_ - p)) : nullptr;
    if (star == nullptr) return false;
    p = static_cast<const char*>(star) + 1;
    if (At(p) == '/') break;
  }
  position_ = p + 1;
  return true;
}

Token Lexer::Scan() {
  while (true) {
    while (position_ < end_ && Is(*position_, kSpace)) ++position_;
    start_ = position_;
    if (position_ >= end_) return Token::kEnd;
    const char c = *position_;
    if (Is(c, kLetter)) return ScanIdentifier();
    switch (c) {
      case '=':
        return Take(Token::kEqual, 1);
      case ',':
        return Take(Token::kComma, 1);
      case ':':
        return Take(Token::kColon, 1);
      case '*':
        return Take(Token::kAsterisk, 1);
      case '#':
        return Take(Token::kHash, 1);
      case '+':
        return Take(Token::kPlus, 1);
      case '~':
        return Take(Token::kTilde, 1);
      case '[':
        return Take(Token::kLeftBracket, 1);
      case ']':
        return Take(Token::kRightBracket, 1);
      case '{':
        return Take(Token::kLeftBrace, 1);
      case '}':
        return Take(Token::kRightBrace, 1);
      case '(':
        return Take(Token::kLeftParen, 1);
      case ')':
        return Take(Token::kRightParen, 1);
      case '%':
        return ScanPercent();
      case '"':
      case '\'':
        return ScanString(c);
      case '<':
        if (At(position_ + 1) == '=') return Take(Token::kLessEqual, 2);
        return Fail("'<' must be followed by '='");
      case '.':
        if (At(position_ + 1) == '.' && At(position_ + 2) == '.') return Take(Token::kDots, 3);
        return Fail("unexpected '.'");
      case '/':
        if (At(position_ + 1) != '/' && At(position_ + 1) != '*') return Fail("unexpected '/'");
        if (!SkipComment()) return Fail("this comment has no end");
        continue;
      case '-':
        if (At(position_ + 1) == '>') return Take(Token::kArrow, 2);
        return ScanNumber();
      case '?':
        return ScanNumber();
      default:
        if (Is(c, kDigit)) return ScanNumber();
        return Fail(c == '\0' ? "a zero byte" : "no token begins with this character");
    }
  }
}

Token Lexer::ScanIdentifier() {
  const char* p = position_ + 1;
  while (p < end_ && Is(*p, kIdentifierChar)) ++p;
  text_ = absl::string_view(start_, static_cast<size_t>(p - start_));
  position_ = p;
  const char next = At(p);
  if (next == ':') {
    ++position_;
    return Token::kName;
  }
  if (next == '=') {
    ++position_;
    return Token::kAttributeName;
  }
  if (const std::optional<ElementType> type = FindElementType(text_)) {
    element_type_ = *type;
    return Token::kElementType;
  }
  if (text_ == "nan") {
    if (next == '(' && !ScanNanPayload()) return Fail("bad NaN payload");
    return Token::kDecimal;
  }
  keyword_ = FindKeyword(text_);
  if (keyword_ != Keyword::kNone) return Token::kKeyword;
  if (IsDimLabelChar(*start_, 'b', 'f') && ScanDimLabels()) return Token::kDimLabels;
  return Token::kIdentifier;
}

Token Lexer::ScanPercent() {
  const char* p = position_ + 1;
  if (!Is(At(p), kLetter)) return Fail("'%' must be followed by a name");
  while (p < end_ && Is(*p, kIdentifierChar)) ++p;
  text_ = absl::string_view(start_ + 1, static_cast<size_t>(p - start_ - 1));
  position_ = p;
  return Token::kName;
}

Token Lexer::ScanString(char quote) {
  const char* p = position_ + 1;
  has_escapes_ = false;
  while (p < end_ && *p != quote) {
    if (*p == '\\') {
      has_escapes_ = true;
      ++p;
      // `.` does not match a line end.
      if (p < end_ && *p == '\n') return Fail("bad escape in a string");
    }
    ++p;
  }
  if (p >= end_) return Fail("this string has no end");
  text_ = absl::string_view(start_ + 1, static_cast<size_t>(p - start_ - 1));
  position_ = p + 1;
  if (has_escapes_) {
    std::string ignored;
    if (!absl::CUnescape(text_, &ignored)) return Fail("bad escape in a string");
  }
  return Token::kString;
}

bool Lexer::Unescaped(std::string* out) const {
  if (!has_escapes_) {
    out->assign(text_.data(), text_.size());
    return true;
  }
  return absl::CUnescape(text_, out);
}

bool Lexer::TakeJson() {
  const char* p = start_ + 1;
  for (int64_t depth = 1; depth > 0; ++p) {
    if (p >= end_) return false;
    if (*p == '{') {
      ++depth;
    } else if (*p == '}') {
      --depth;
    } else if (*p == '"') {
      for (++p; p < end_ && *p != '"'; ++p) {
        if (*p == '\\') ++p;
      }
      if (p >= end_) return false;
    }
  }
  position_ = p;
  text_ = raw();
  has_escapes_ = false;
  kind_ = Token::kString;
  return true;
}

std::pair<int, int> Lexer::LineAndColumn(size_t offset) const {
  int line = 1;
  size_t line_start = 0;
  const absl::string_view all = source();
  for (size_t i = 0; i < offset && i < all.size(); ++i) {
    const bool ends = all[i] == '\n' || (all[i] == '\r' && At(begin_ + i + 1) != '\n');
    if (!ends) continue;
    ++line;
    line_start = i + 1;
  }
  return {line, static_cast<int>(offset - line_start) + 1};
}

absl::string_view Lexer::LineAt(size_t offset) const {
  const absl::string_view all = source();
  offset = std::min(offset, all.size());
  const size_t before =
      offset == 0 ? absl::string_view::npos : all.find_last_of("\r\n", offset - 1);
  const size_t from = before == absl::string_view::npos ? 0 : before + 1;
  const size_t to = all.find_first_of("\r\n", offset);
  return all.substr(from, to == absl::string_view::npos ? to : to - from);
}

}  // namespace autotune
