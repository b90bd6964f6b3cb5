#include "hlo/text_parser.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"

namespace autotune {
namespace {

constexpr size_t kErrorContext = 60;

// The line of an error, shortened around the column where it is long, with a caret under it.
std::string Excerpt(absl::string_view line, size_t column) {
  size_t from = 0;
  if (column > kErrorContext) from = column - kErrorContext;
  const bool cut = from + 2 * kErrorContext < line.size();
  absl::string_view shown = line.substr(from, 2 * kErrorContext);
  std::string text;
  for (const char c : shown) text.push_back(static_cast<unsigned char>(c) < ' ' ? ' ' : c);
  const absl::string_view before = from > 0 ? "..." : "";
  return absl::StrCat("  ", before, text, cut ? "..." : "", "\n  ",
                      std::string(before.size() + column - from, ' '), "^");
}

}  // namespace

TextParser::TextParser(ModuleBuilder* builder, const ParseOptions& options)
    : builder_(builder), options_(options), lexer_(builder->text()) {}

bool TextParser::Nested::Ok() {
  if (parser_->nesting_ <= kMaxNesting) return true;
  return parser_->FailHere("this is nested too deeply");
}

bool TextParser::Fail(size_t offset, const std::string& message) {
  if (has_error_) return false;
  has_error_ = true;
  error_ = message;
  error_offset_ = offset;
  return false;
}

bool TextParser::Expected(absl::string_view what) {
  std::string got;
  switch (lexer_.kind()) {
    case Token::kEnd:
      got = std::string(TokenDescription(Token::kEnd));
      break;
    case Token::kError:
      return FailHere(std::string(lexer_.error()));
    default:
      got = absl::StrCat("\"", lexer_.raw().substr(0, 40), "\"");
  }
  return FailHere(absl::StrCat("expected ", what, ", got ", got));
}

absl::Status TextParser::ErrorStatus() const {
  const auto [line, column] = lexer_.LineAndColumn(error_offset_);
  return absl::InvalidArgumentError(
      absl::StrCat(options_.file_name, ":", line, ":", column, ": ", error_, "\n",
                   Excerpt(lexer_.LineAt(error_offset_), static_cast<size_t>(column - 1))));
}

bool TextParser::Expect(Token token, absl::string_view context) {
  if (lexer_.kind() == token) {
    lexer_.Next();
    return true;
  }
  if (context.empty()) return Expected(TokenDescription(token));
  return Expected(absl::StrCat(TokenDescription(token), " ", context));
}

bool TextParser::Eat(Token token) {
  if (lexer_.kind() != token) return false;
  lexer_.Next();
  return true;
}

bool TextParser::EatKeyword(Keyword keyword) {
  if (!lexer_.IsKeyword(keyword)) return false;
  lexer_.Next();
  return true;
}

bool TextParser::Name(absl::string_view* name, absl::string_view what) {
  if (lexer_.kind() != Token::kName && lexer_.kind() != Token::kIdentifier) return Expected(what);
  *name = lexer_.text();
  lexer_.Next();
  return true;
}

bool TextParser::Identifier(absl::string_view* name, absl::string_view what) {
  if (lexer_.kind() != Token::kIdentifier) return Expected(what);
  *name = lexer_.text();
  lexer_.Next();
  return true;
}

bool TextParser::Int64(int64_t* value) {
  if (lexer_.kind() != Token::kInt) return Expected("an integer");
  *value = lexer_.int_value();
  lexer_.Next();
  return true;
}

bool TextParser::Int32(int32_t* value) {
  const size_t offset = lexer_.offset();
  int64_t wide;
  if (!Int64(&wide)) return false;
  *value = static_cast<int32_t>(wide);
  if (*value != wide) return Fail(offset, "this integer does not fit in 32 bits");
  return true;
}

bool TextParser::Double(double* value) {
  switch (lexer_.kind()) {
    case Token::kDecimal:
      *value = lexer_.decimal_value();
      if (std::isinf(*value)) return FailHere("this number is out of the range of a double");
      break;
    case Token::kInt:
      // "-0" is an integer, which has no negative zero; "-0.0" keeps its sign. As in XLA.
      *value = static_cast<double>(lexer_.int_value());
      break;
    case Token::kNegInf:
      *value = -std::numeric_limits<double>::infinity();
      break;
    default:
      if (!lexer_.IsKeyword(Keyword::kInf)) return Expected("a number");
      *value = std::numeric_limits<double>::infinity();
  }
  lexer_.Next();
  return true;
}

bool TextParser::Bool(bool* value) {
  if (EatKeyword(Keyword::kTrue)) {
    *value = true;
    return true;
  }
  *value = false;
  if (EatKeyword(Keyword::kFalse)) return true;
  return Expected("true or false");
}

bool TextParser::String(absl::string_view* value) {
  if (lexer_.kind() != Token::kString) return Expected("a string in quotes");
  *value = lexer_.text();
  if (lexer_.has_escapes()) {
    std::string unescaped;
    if (!lexer_.Unescaped(&unescaped)) return FailHere("bad escape in a string");
    *value = builder_->Copy(unescaped);
  }
  lexer_.Next();
  return true;
}

bool TextParser::StringOrJson(absl::string_view* value) {
  if (lexer_.kind() == Token::kString) return String(value);
  if (lexer_.kind() != Token::kLeftBrace) return Expected("a string in quotes or a JSON object");
  if (!lexer_.TakeJson()) return FailHere("the braces of this JSON object do not match");
  *value = lexer_.text();
  lexer_.Next();
  return true;
}

bool TextParser::List(Token open, Token close, Token delimiter, absl::string_view what,
                      absl::FunctionRef<bool()> item) {
  if (!Eat(open)) {
    return Expected(absl::StrCat(TokenDescription(open), " to begin ", what));
  }
  if (Eat(close)) return true;
  do {
    if (!item()) return false;
  } while (Eat(delimiter));
  if (Eat(close)) return true;
  return Expected(
      absl::StrCat(TokenDescription(delimiter), " or ", TokenDescription(close), " in ", what));
}

absl::string_view TextParser::UpToLastToken(absl::string_view text) {
  Lexer lexer(text);
  size_t end = 0;
  while (lexer.kind() != Token::kEnd && lexer.kind() != Token::kError) {
    end = lexer.offset() + lexer.raw().size();
    lexer.Next();
  }
  return text.substr(0, end);
}

bool TextParser::BracedInt64s(Int64s* values) {
  return List(Token::kLeftBrace, Token::kRightBrace, Token::kComma, "a list of integers", [&] {
    int64_t value;
    if (!Int64(&value)) return false;
    values->push_back(value);
    return true;
  });
}

bool TextParser::BracedInt64s(Int64Field64* values) {
  return List(Token::kLeftBrace, Token::kRightBrace, Token::kComma, "a list of integers", [&] {
    int64_t value;
    if (!Int64(&value)) return false;
    values->Add(value);
    return true;
  });
}

bool TextParser::ShapeIndex(Int64Field64* index) {
  // XLA allows a comma at the end.
  if (!Expect(Token::kLeftBrace, "to begin a shape index")) return false;
  while (lexer_.kind() != Token::kRightBrace) {
    int64_t value;
    if (!Int64(&value)) return false;
    index->Add(value);
    if (!Eat(Token::kComma)) break;
  }
  return Expect(Token::kRightBrace, "to end a shape index");
}

int32_t TextParser::LineOf(size_t offset) {
  const absl::string_view text = lexer_.source();
  if (offset < line_offset_) {
    line_offset_ = 0;
    line_ = 1;
  }
  for (size_t i = line_offset_; i < offset; ++i) {
    if (static_cast<unsigned char>(text[i]) > '\r') continue;
    const bool lone_return = text[i] == '\r' && (i + 1 >= text.size() || text[i + 1] != '\n');
    if (text[i] == '\n' || lone_return) ++line_;
  }
  line_offset_ = offset;
  return line_;
}

absl::StatusOr<std::unique_ptr<HloModule>> ParseHloText(std::string text,
                                                        const ParseOptions& options) {
  ModuleBuilder builder(std::move(text));
  TextParser parser(&builder, options);
  if (absl::Status status = parser.ParseModule(); !status.ok()) return status;
  return builder.Finish();
}

absl::StatusOr<Shape> ParseShape(absl::string_view text) {
  ModuleBuilder builder{std::string(text)};
  ParseOptions options;
  options.file_name = "<shape>";
  TextParser parser(&builder, options);
  Shape shape;
  if (absl::Status status = parser.ParseLoneShape(&shape); !status.ok()) return status;
  return shape;
}

}  // namespace autotune
