#ifndef AUTOTUNE_HLO_LEXER_H_
#define AUTOTUNE_HLO_LEXER_H_

#include <cstdint>
#include <string>
#include <utility>

#include "absl/strings/string_view.h"
#include "hlo/element_type.h"

namespace autotune {

enum class Token : uint8_t {
  kEnd,
  kError,
  kIdentifier,     // add, all-reduce, T, ...
  kName,           // %name or name:
  kAttributeName,  // name=
  kElementType,    // f32, token, ...
  kKeyword,        // see Keyword
  kInt,
  kDecimal,    // 1.5, 1e3, nan, -nan(0x7fc0)
  kNegInf,     // -inf
  kDxD,        // 3x3
  kPad,        // 1_1x0_0
  kDimLabels,  // b01f_01io->b01f
  kString,
  kEqual,
  kComma,
  kColon,
  kAsterisk,
  kQuestion,
  kHash,
  kPlus,
  kTilde,
  kLeftBracket,
  kRightBracket,
  kLeftBrace,
  kRightBrace,
  kLeftParen,
  kRightParen,
  kArrow,      // ->
  kLessEqual,  // <=
  kDots,       // ...
};

// Identifiers that are never names.
enum class Keyword : uint8_t {
  kNone,
  kTrue,
  kFalse,
  kInf,
  kHloModule,
  kEntry,
  kRoot,
  kFileNames,
  kFunctionNames,
  kFileLocations,
  kStackFrames,
  kMaximal,
  kReplicated,
  kManual,
  kLastTileDimReplicate,
  kShardAs,
  kShardLike,
  kUnknown,
  kUnreduced,
};

// How a token is called in an error message, for instance "')'" or "an integer".
absl::string_view TokenDescription(Token token);

// Splits HLO text into tokens. Works on the text in place: nothing is copied, and the text must
// outlive the lexer. A copy of a lexer is a cheap bookmark. Never reads outside the text, whatever
// it holds.
//
// White space and comments (`/* */`, `// ...`) separate tokens. A byte 0 or any other character
// that no token can begin with gives kError, as do a string or comment without an end, bad escapes,
// and integers beyond 64 bits; error() then says why.
class Lexer {
 public:
  // Starts at the first token.
  explicit Lexer(absl::string_view text);

  Token kind() const { return kind_; }
  Keyword keyword() const { return keyword_; }
  bool IsKeyword(Keyword keyword) const { return kind_ == Token::kKeyword && keyword_ == keyword; }
  // The text of a name (without `%`, `:` or `=`), identifier, DxD, pad or dim labels; the raw
  // inside of a string's quotes.
  absl::string_view text() const { return text_; }
  // True if a string's inside has escapes: use Unescaped().
  bool has_escapes() const { return has_escapes_; }
  // Of a kString; fails on bad escapes.
  bool Unescaped(std::string* out) const;
  // Of a kInt. Numbers from 2^63 to 2^64-1 wrap around to negative ones.
  int64_t int_value() const { return int_value_; }
  // Of a kDecimal; out of range gives an infinity.
  double decimal_value() const;
  ElementType element_type() const { return element_type_; }
  absl::string_view error() const { return error_; }

  // Offsets into the text: where the current token begins, and where scanning goes on.
  size_t offset() const { return static_cast<size_t>(start_ - begin_); }
  // The raw characters of the current token.
  absl::string_view raw() const { return {start_, static_cast<size_t>(position_ - start_)}; }
  absl::string_view source() const { return {begin_, static_cast<size_t>(end_ - begin_)}; }

  // Moves on to the next token and returns its kind.
  Token Next();
  // The kind of the token after the current one.
  Token Peek() const;
  // Goes on scanning at an offset: the next token there becomes the current one.
  Token Resume(size_t offset);

  // The current token is `{`: takes everything up to the matching `}` as one raw token, quoted
  // strings inside skipped over, and makes it the current token of kind kString (without escapes).
  // text() then includes the braces. Returns false if the braces do not match.
  bool TakeJson();

  // 1-based line and column of an offset. Lines end at "\n", "\r\n" or "\r".
  std::pair<int, int> LineAndColumn(size_t offset) const;
  // The line that the offset stands in, without its end.
  absl::string_view LineAt(size_t offset) const;

 private:
  Token Scan();
  Token Fail(absl::string_view why);
  Token Take(Token kind, size_t size);
  bool SkipComment();
  Token ScanIdentifier();
  Token ScanPercent();
  Token ScanNumber();
  Token ScanString(char quote);
  bool ScanInteger();
  bool ScanFloat();
  bool ScanDimLabels();
  bool ScanDxD();
  bool ScanPad();
  bool ScanNanPayload();
  char At(const char* p) const { return p < end_ ? *p : '\0'; }

  const char* begin_;
  const char* end_;
  const char* start_;
  const char* position_;
  absl::string_view text_;
  absl::string_view error_;
  int64_t int_value_ = 0;
  ElementType element_type_ = proto::PRIMITIVE_TYPE_INVALID;
  Token kind_ = Token::kEnd;
  Keyword keyword_ = Keyword::kNone;
  bool has_escapes_ = false;
};

}  // namespace autotune

#endif  // AUTOTUNE_HLO_LEXER_H_
