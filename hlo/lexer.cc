#include "hlo/lexer.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <limits>

#include "absl/strings/ascii.h"
#include "absl/strings/charconv.h"
#include "absl/strings/escaping.h"
#include "hlo/float_format.h"

namespace autotune {
namespace {

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

constexpr std::array<uint8_t, 256> kClasses = MakeCharClasses();

bool Is(char c, uint8_t char_class) {
  return (kClasses[static_cast<unsigned char>(c)] & char_class) != 0;
}

struct KeywordName {
  absl::string_view name;
  Keyword keyword;
};

constexpr KeywordName kKeywords[] = {
    {"true", Keyword::kTrue},
    {"false", Keyword::kFalse},
    {"inf", Keyword::kInf},
    {"HloModule", Keyword::kHloModule},
    {"ENTRY", Keyword::kEntry},
    {"ROOT", Keyword::kRoot},
    {"FileNames", Keyword::kFileNames},
    {"FunctionNames", Keyword::kFunctionNames},
    {"FileLocations", Keyword::kFileLocations},
    {"StackFrames", Keyword::kStackFrames},
    {"maximal", Keyword::kMaximal},
    {"replicated", Keyword::kReplicated},
    {"manual", Keyword::kManual},
    {"last_tile_dim_replicate", Keyword::kLastTileDimReplicate},
    {"shard_as", Keyword::kShardAs},
    {"shard_like", Keyword::kShardLike},
    {"unknown", Keyword::kUnknown},
    {"unreduced", Keyword::kUnreduced},
};

Keyword FindKeyword(absl::string_view name) {
  // Most identifiers are opcodes; only a few first letters can begin a keyword.
  switch (name[0]) {
    case 't':
    case 'f':
    case 'i':
    case 'H':
    case 'E':
    case 'R':
    case 'F':
    case 'S':
    case 'm':
    case 'r':
    case 'l':
    case 's':
    case 'u':
      break;
    default:
      return Keyword::kNone;
  }
  for (const KeywordName& candidate : kKeywords) {
    if (candidate.name == name) return candidate.keyword;
  }
  return Keyword::kNone;
}

// The element type of that name, but not `tuple` and `buffer`, which are written in another way.
std::optional<ElementType> FindElementType(absl::string_view name) {
  if (name.size() < 2 || name.size() > 13) return std::nullopt;
  switch (name[0]) {
    case 'f':
    case 'b':
    case 's':
    case 'u':
    case 'p':
    case 'c':
    case 't':
    case 'o':
      break;
    default:
      return std::nullopt;
  }
  // All but these end in a digit or come from the f8 and f4 families, whose second character is
  // one.
  const bool word = name == "pred" || name == "token" || name == "opaque" || name == "bf16";
  if (!word && !Is(name[1], kDigit)) return std::nullopt;
  const std::optional<ElementType> type = ElementTypeFromName(name);
  if (type.has_value() && (*type == proto::TUPLE || *type == proto::BUFFER)) return std::nullopt;
  return type;
}

bool IsDimLabelChar(char c, char a, char b) {
  return Is(c, kDigit) || c == a || c == b || c == '?';
}

}  // namespace

absl::string_view TokenDescription(Token token) {
  switch (token) {
    case Token::kEnd:
      return "the end of the text";
    case Token::kError:
      return "an invalid token";
    case Token::kIdentifier:
      return "an identifier";
    case Token::kName:
      return "a name";
    case Token::kAttributeName:
      return "an attribute name";
    case Token::kElementType:
      return "an element type";
    case Token::kKeyword:
      return "a keyword";
    case Token::kInt:
      return "an integer";
    case Token::kDecimal:
      return "a decimal number";
    case Token::kNegInf:
      return "-inf";
    case Token::kDxD:
      return "sizes like 3x3";
    case Token::kPad:
      return "padding like 1_1x0_0";
    case Token::kDimLabels:
      return "dimension labels";
    case Token::kString:
      return "a string";
    case Token::kEqual:
      return "'='";
    case Token::kComma:
      return "','";
    case Token::kColon:
      return "':'";
    case Token::kAsterisk:
      return "'*'";
    case Token::kQuestion:
      return "'?'";
    case Token::kHash:
      return "'#'";
    case Token::kPlus:
      return "'+'";
    case Token::kTilde:
      return "'~'";
    case Token::kLeftBracket:
      return "'['";
    case Token::kRightBracket:
      return "']'";
    case Token::kLeftBrace:
      return "'{'";
    case Token::kRightBrace:
      return "'}'";
    case Token::kLeftParen:
      return "'('";
    case Token::kRightParen:
      return "')'";
    case Token::kArrow:
      return "'->'";
    case Token::kLessEqual:
      return "'<='";
    case Token::kDots:
      return "'...'";
  }
  return "a token";
}

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

Token Lexer::ScanNumber() {
  if (ScanFloat()) return Token::kDecimal;
  if (ScanDimLabels()) return Token::kDimLabels;
  if (ScanDxD()) return Token::kDxD;
  if (ScanPad()) return Token::kPad;
  if (Is(*start_, kDigit) || (*start_ == '-' && Is(At(start_ + 1), kDigit))) {
    return ScanInteger() ? Token::kInt : Fail("this integer does not fit in 64 bits");
  }
  const absl::string_view rest(start_, static_cast<size_t>(end_ - start_));
  if (rest.substr(0, 4) == "-inf") return Take(Token::kNegInf, 4);
  if (rest.substr(0, 4) == "-nan") {
    position_ = start_ + 4;
    if (At(position_) == '(' && !ScanNanPayload()) return Fail("bad NaN payload");
    return Token::kDecimal;
  }
  if (*start_ == '?') return Take(Token::kQuestion, 1);
  return Fail("unexpected '-'");
}

bool Lexer::ScanInteger() {
  const char* p = start_;
  const bool negative = *p == '-';
  if (negative) ++p;
  uint64_t value = 0;
  for (; p < end_ && Is(*p, kDigit); ++p) {
    if (__builtin_mul_overflow(value, 10u, &value)) return false;
    if (__builtin_add_overflow(value, static_cast<uint64_t>(*p - '0'), &value)) return false;
  }
  if (negative && value > uint64_t{1} << 63) return false;
  int_value_ = static_cast<int64_t>(negative ? 0 - value : value);
  position_ = p;
  return true;
}

bool Lexer::ScanFloat() {
  const char* p = start_;
  if (*p == '-') ++p;
  const char* whole = p;
  while (p < end_ && Is(*p, kDigit)) ++p;
  size_t digits = static_cast<size_t>(p - whole);
  bool point = false;
  if (At(p) == '.') {
    const char* fraction = p + 1;
    const char* q = fraction;
    while (q < end_ && Is(*q, kDigit)) ++q;
    if (digits > 0 || q > fraction) {
      point = true;
      digits += static_cast<size_t>(q - fraction);
      p = q;
    }
  }
  if (digits == 0) return false;
  bool exponent = false;
  if (At(p) == 'e' || At(p) == 'E') {
    const char* q = p + 1;
    if (At(q) == '+' || At(q) == '-') ++q;
    if (Is(At(q), kDigit)) {
      while (q < end_ && Is(*q, kDigit)) ++q;
      exponent = true;
      p = q;
    }
  }
  if (!point && !exponent) return false;
  position_ = p;
  return true;
}

bool Lexer::ScanDimLabels() {
  const char* p = start_;
  const auto run = [this, &p](char a, char b) {
    const char* from = p;
    while (p < end_ && IsDimLabelChar(*p, a, b)) ++p;
    return p - from >= 2;
  };
  if (!run('b', 'f') || At(p) != '_') return false;
  ++p;
  if (!run('i', 'o') || At(p) != '-' || At(p + 1) != '>') return false;
  p += 2;
  if (!run('b', 'f')) return false;
  position_ = p;
  text_ = raw();
  return true;
}

bool Lexer::ScanDxD() {
  const char* p = start_;
  int numbers = 0;
  while (true) {
    const char* from = p;
    while (p < end_ && Is(*p, kDigit)) ++p;
    if (p == from) break;
    ++numbers;
    position_ = p;
    if (At(p) != 'x') break;
    ++p;
  }
  text_ = raw();
  return numbers >= 2;
}

bool Lexer::ScanPad() {
  const char* p = start_;
  const auto number = [this, &p](bool sign) {
    const char* q = p;
    if (sign && At(q) == '-') ++q;
    const char* from = q;
    while (q < end_ && Is(*q, kDigit)) ++q;
    if (q == from) return false;
    p = q;
    return true;
  };
  const auto dimension = [this, &p, &number]() {
    if (!number(true) || At(p) != '_') return false;
    ++p;
    if (!number(true)) return false;
    if (At(p) == '_' && Is(At(p + 1), kDigit)) {
      ++p;
      number(false);
    }
    return true;
  };
  if (!dimension()) return false;
  position_ = p;
  while (At(p) == 'x') {
    ++p;
    if (!dimension()) break;
    position_ = p;
  }
  text_ = raw();
  return true;
}

bool Lexer::ScanNanPayload() {
  const char* p = position_;
  if (At(p) != '(' || At(p + 1) != '0' || At(p + 2) != 'x') return false;
  p += 3;
  uint64_t payload = 0;
  const char* from = p;
  for (; p < end_ && absl::ascii_isxdigit(static_cast<unsigned char>(*p)); ++p) {
    if (payload >> 60 != 0) return false;
    const char c = absl::ascii_tolower(static_cast<unsigned char>(*p));
    payload = payload << 4 | static_cast<uint64_t>(c <= '9' ? c - '0' : c - 'a' + 10);
  }
  if (p == from || At(p) != ')') return false;
  if (payload == 0 || payload > kDoubleNanPayloadMask) return false;
  position_ = p + 1;
  return true;
}

double Lexer::decimal_value() const {
  absl::string_view number = raw();
  const bool negative = number[0] == '-';
  if (number.substr(negative ? 1 : 0, 3) == "nan") {
    uint64_t payload = kDoubleQuietNanPayload;
    const size_t hex = number.find("0x");
    if (hex != absl::string_view::npos) {
      payload = 0;
      for (const char c : number.substr(hex + 2, number.size() - hex - 3)) {
        const char lower = absl::ascii_tolower(static_cast<unsigned char>(c));
        payload =
            payload << 4 | static_cast<uint64_t>(lower <= '9' ? lower - '0' : lower - 'a' + 10);
      }
    }
    const uint64_t bits = (negative ? uint64_t{1} << 63 : 0) | uint64_t{0x7ff} << 52 | payload;
    double value;
    std::memcpy(&value, &bits, sizeof(value));
    return value;
  }
  double value = 0;
  const absl::from_chars_result result =
      absl::from_chars(number.data(), number.data() + number.size(), value);
  if (result.ec == std::errc::result_out_of_range && std::fabs(value) > 1) {
    return negative ? -std::numeric_limits<double>::infinity()
                    : std::numeric_limits<double>::infinity();
  }
  return value;
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
