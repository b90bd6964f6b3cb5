#include <array>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hlo/shape_validation.h"
#include "hlo/text_parser.h"

namespace autotune {
namespace {

// Characters that the text of a shape is made of.
constexpr std::array<bool, 256> MakeShapeChars() {
  std::array<bool, 256> chars{};
  for (int c = 'a'; c <= 'z'; ++c) chars[static_cast<size_t>(c)] = true;
  for (int c = 'A'; c <= 'Z'; ++c) chars[static_cast<size_t>(c)] = true;
  for (int c = '0'; c <= '9'; ++c) chars[static_cast<size_t>(c)] = true;
  for (const char c : {'[', ']', '{', '}', '(', ')', ',', ':', '<', '=', '?', '*', '#', ' ', '/'}) {
    chars[static_cast<size_t>(c)] = true;
  }
  return chars;
}

constexpr std::array<bool, 256> kShapeChars = MakeShapeChars();

bool IsShapeChar(char c) { return kShapeChars[static_cast<unsigned char>(c)]; }

}  // namespace

absl::Status TextParser::ParseLoneShape(Shape* shape) {
  if (ShapeValue(shape) && lexer_.kind() != Token::kEnd) Expected("the end of the shape");
  return has_error_ ? ErrorStatus() : absl::OkStatus();
}

bool TextParser::AtShape() const {
  switch (lexer_.kind()) {
    case Token::kElementType:
    case Token::kLeftParen:
      return true;
    case Token::kIdentifier:
      return lexer_.text() == "b" && lexer_.Peek() == Token::kLeftParen;
    default:
      return false;
  }
}

size_t TextParser::PlainShapeEnd() const {
  const absl::string_view text = lexer_.source();
  size_t i = lexer_.offset();
  if (text[i] == '(') {
    int64_t depth = 0;
    for (; i < text.size() && IsShapeChar(text[i]); ++i) {
      if (text[i] == '(') ++depth;
      if (text[i] == ')' && --depth == 0) return i + 1;
    }
    return 0;
  }
  while (i < text.size() && IsShapeChar(text[i]) && text[i] != '[') ++i;
  if (i >= text.size() || text[i] != '[') return 0;
  while (i < text.size() && IsShapeChar(text[i]) && text[i] != ']') ++i;
  if (i >= text.size() || text[i] != ']') return 0;
  ++i;
  if (i < text.size() && text[i] == '{') {
    while (i < text.size() && IsShapeChar(text[i]) && text[i] != '}') ++i;
    return i < text.size() && text[i] == '}' ? i + 1 : 0;
  }
  // A layout may follow after white space or a comment.
  size_t next = i;
  while (next < text.size() && text[next] == ' ') ++next;
  const char c = next < text.size() ? text[next] : '\0';
  return c == '{' || c == '/' || c == '\n' || c == '\r' || c == '\t' ? 0 : i;
}

// The same few shapes stand all over a program, so their texts are looked up before they are
// parsed.
bool TextParser::InternedShape(const Shape** shape) {
  const size_t begin = lexer_.offset();
  const size_t plain_end = lexer_.kind() == Token::kIdentifier || !AtShape() ? 0 : PlainShapeEnd();
  absl::string_view key;
  if (plain_end != 0) {
    key = lexer_.source().substr(begin, plain_end - begin);
    const auto it = shape_cache_.find(key);
    if (it != shape_cache_.end()) {
      *shape = it->second;
      lexer_.Resume(plain_end);
      return true;
    }
  }
  Lexer before = lexer_;
  Shape parsed;
  if (!ShapeValue(&parsed)) return false;
  *shape = builder_->Intern(std::move(parsed));
  if (plain_end != 0) {
    // Only if the tokens agree with what the characters looked like.
    before.Resume(plain_end);
    if (before.offset() == lexer_.offset() && before.kind() == lexer_.kind()) {
      shape_cache_.emplace(key, *shape);
    }
  }
  return true;
}

bool TextParser::ShapeValue(Shape* shape) {
  Nested nested(this);
  if (!nested.Ok()) return false;
  if (AtIdentifier("b") && lexer_.Peek() == Token::kLeftParen) return BufferShape(shape);
  if (lexer_.kind() == Token::kLeftParen) return TupleShape(shape);
  if (lexer_.kind() != Token::kElementType) return Expected("a shape");
  const size_t begin = lexer_.offset();
  *shape = Shape::Array(lexer_.element_type(), {});
  lexer_.Next();
  if (!ArrayDimensions(shape)) return false;
  shape->SetDefaultLayouts();
  if (absl::Status status = ValidateShape(*shape); !status.ok()) {
    return Fail(begin, std::string(status.message()));
  }
  if (lexer_.kind() != Token::kLeftBrace) return true;
  const Token next = lexer_.Peek();
  if (next != Token::kInt && next != Token::kColon) return true;
  const size_t offset = lexer_.offset();
  if (!shape->IsArray()) {
    return Fail(offset, absl::StrCat(ElementTypeName(shape->element_type()), " has no layout"));
  }
  Layout layout;
  if (!LayoutValue(&layout)) return false;
  if (layout.minor_to_major.size() != shape->dimensions().size()) {
    return Fail(offset, absl::StrCat("the array has ", shape->rank(), " dimensions, its layout ",
                                     layout.minor_to_major.size()));
  }
  shape->set_layout(std::move(layout));
  if (absl::Status status = ValidateShape(*shape); !status.ok()) {
    return Fail(offset, std::string(status.message()));
  }
  return true;
}

bool TextParser::TupleShape(Shape* shape) {
  std::vector<Shape> elements;
  const size_t offset = lexer_.offset();
  if (++shape_nesting_ > Shape::kMaxNesting) return FailHere("this is nested too deeply");
  if (!List(Token::kLeftParen, Token::kRightParen, Token::kComma, "a tuple shape",
            [&] { return ShapeValue(&elements.emplace_back()); })) {
    return false;
  }
  --shape_nesting_;
  for (const Shape& element : elements) {
    const bool sparse = element.has_layout() &&
                        (element.layout().index_primitive_type != proto::PRIMITIVE_TYPE_INVALID ||
                         element.layout().pointer_primitive_type != proto::PRIMITIVE_TYPE_INVALID);
    if (sparse) return Fail(offset, "an array with index types is no part of a tuple");
  }
  *shape = Shape::Tuple(std::move(elements));
  return true;
}

bool TextParser::BufferShape(Shape* shape) {
  lexer_.Next();
  lexer_.Next();
  Shape content;
  const size_t offset = lexer_.offset();
  if (!ShapeValue(&content)) return false;
  if (!content.IsArray()) return Fail(offset, "a buffer holds an array");
  *shape = Shape::Buffer(std::move(content));
  return Expect(Token::kRightParen, "to end a buffer shape");
}

bool TextParser::ArrayDimensions(Shape* shape) {
  const auto dimension = [&] {
    if (Eat(Token::kQuestion)) {
      shape->add_dimension(Shape::kUnbounded, true);
      return true;
    }
    const bool dynamic = Eat(Token::kLessEqual);
    const size_t offset = lexer_.offset();
    int64_t extent;
    if (!Int64(&extent)) return false;
    if (extent < 0) return Fail(offset, "the extent of a dimension must not be negative");
    shape->add_dimension(extent, dynamic);
    return true;
  };
  if (!List(Token::kLeftBracket, Token::kRightBracket, Token::kComma, "dimensions", dimension)) {
    return false;
  }
  if (!shape->IsArray() && shape->rank() > 0) {
    return FailHere(absl::StrCat(ElementTypeName(shape->element_type()), " has no dimensions"));
  }
  return true;
}

bool TextParser::LayoutValue(Layout* layout) {
  lexer_.Next();
  if (lexer_.kind() == Token::kInt) {
    do {
      int64_t dimension;
      if (!Int64(&dimension)) return false;
      layout->minor_to_major.push_back(dimension);
    } while (Eat(Token::kComma));
  }
  if (Eat(Token::kColon) && !LayoutDetails(layout)) return false;
  return Expect(Token::kRightBrace, "to end a layout");
}

bool TextParser::LayoutDetails(Layout* layout) {
  const auto eat = [this](absl::string_view name) {
    if (!AtIdentifier(name)) return false;
    lexer_.Next();
    return true;
  };
  // As in XLA's parser, a detail may stop short where the layout ends: {0:T(256}.
  const auto or_end = [this](bool ok) {
    if (ok || lexer_.kind() != Token::kRightBrace) return ok;
    has_error_ = false;
    return true;
  };
  if (eat("D") && !or_end(DimLevelTypes())) return false;
  if (eat("T") && !or_end(Tiles(layout))) return false;
  if (eat("L")) {
    const size_t offset = lexer_.offset();
    if (!or_end(LayoutInt(&layout->tail_padding_alignment_in_elements))) return false;
    if (layout->tail_padding_alignment_in_elements < 1) {
      return Fail(offset, "the tail padding of a layout must be positive");
    }
  }
  if (Eat(Token::kHash) && !or_end(LayoutType(&layout->index_primitive_type))) return false;
  if (Eat(Token::kAsterisk) && !or_end(LayoutType(&layout->pointer_primitive_type))) return false;
  if (eat("E") && !or_end(LayoutInt(&layout->element_size_in_bits))) return false;
  if (eat("S")) {
    if (!or_end(LayoutInt(&layout->memory_space))) return false;
    layout->memory_space = static_cast<int8_t>(layout->memory_space);  // as XLA keeps it
  }
  if (eat("SC") && !or_end(Splits(layout))) return false;
  if (AtIdentifier("P")) return FailHere("only sparse arrays have a physical shape");
  if (eat("M") && !or_end(LayoutInt(&layout->dynamic_shape_metadata_prefix_bytes))) return false;
  return true;
}

bool TextParser::LayoutInt(int64_t* value) {
  return Expect(Token::kLeftParen, "before a number of the layout") && Int64(value) &&
         Expect(Token::kRightParen, "after a number of the layout");
}

bool TextParser::LayoutType(proto::PrimitiveType* type) {
  if (!Expect(Token::kLeftParen, "before a type of the layout")) return false;
  if (lexer_.kind() != Token::kElementType || !IsUnsignedIntegral(lexer_.element_type())) {
    return Expected("an unsigned integer type");
  }
  *type = lexer_.element_type();
  lexer_.Next();
  return Expect(Token::kRightParen, "after a type of the layout");
}

bool TextParser::Tiles(Layout* layout) {
  do {
    Tile& tile = layout->tiles.emplace_back();
    if (!List(Token::kLeftParen, Token::kRightParen, Token::kComma, "a tile", [&] {
          if (Eat(Token::kAsterisk)) {
            tile.dimensions.push_back(Tile::kCombineDimension);
            return true;
          }
          int64_t extent;
          if (!Int64(&extent)) return false;
          tile.dimensions.push_back(extent);
          return true;
        })) {
      return false;
    }
  } while (lexer_.kind() == Token::kLeftParen);
  return true;
}

bool TextParser::Splits(Layout* layout) {
  do {
    SplitConfig& split = layout->split_configs.emplace_back();
    if (!Expect(Token::kLeftParen, "to begin a split") || !Int64(&split.dimension) ||
        !List(Token::kColon, Token::kRightParen, Token::kComma, "the split's indices", [&] {
          int64_t index;
          if (!Int64(&index)) return false;
          split.split_indices.push_back(index);
          return true;
        })) {
      return false;
    }
  } while (lexer_.kind() == Token::kLeftParen);
  return true;
}

// Types of the levels of a sparse array: checked, but XLA keeps nothing of them.
bool TextParser::DimLevelTypes() {
  return List(Token::kLeftParen, Token::kRightParen, Token::kComma, "dimension level types", [&] {
    if (!AtIdentifier("D") && !AtIdentifier("C") && !AtIdentifier("S") && !AtIdentifier("H")) {
      return Expected("one of D, C, S, H");
    }
    lexer_.Next();
    Eat(Token::kPlus);
    Eat(Token::kTilde);
    return true;
  });
}

}  // namespace autotune
