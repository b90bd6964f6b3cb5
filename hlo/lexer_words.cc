// The words that the lexer knows, and what it calls its tokens in errors.

#include "hlo/lexer_chars.h"

namespace autotune {
namespace {

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

}  // namespace

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

}  // namespace autotune
