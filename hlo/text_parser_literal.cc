#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hlo/float_format.h"
#include "hlo/text_parser.h"

namespace autotune {
namespace {

// A literal is written out in full, so one that is far larger than its text is an error anyway.
// Bytes that a program may have in literals of which the text gives one value for all elements.
constexpr size_t kMaxExpandedBytes = size_t{64} << 20;

template <typename T>
void Store(T value, char* to) {
  std::memcpy(to, &value, sizeof(value));
}

// The smallest and largest value of an integer type.
std::pair<int64_t, uint64_t> IntegerRange(ElementType type) {
  const int bits = BitWidth(type);
  if (IsUnsignedIntegral(type)) {
    return {0, bits == 64 ? std::numeric_limits<uint64_t>::max() : (uint64_t{1} << bits) - 1};
  }
  const uint64_t largest = (uint64_t{1} << (bits - 1)) - 1;
  return {-static_cast<int64_t>(largest) - 1, largest};
}

// Payload bits of the type's NaN; 0 for types without payloads.
int NanPayloadBits(ElementType type) {
  if (type == proto::F64 || type == proto::C128) return 52;
  if (type == proto::F32 || type == proto::C64) return 23;
  const std::optional<FloatFormat> format = FloatFormatOf(type);
  if (!format.has_value() || format->special != FloatFormat::Special::kIeee) return 0;
  return format->mantissa_bits;
}

// The shape without what XLA drops from that of a constant: bits of an element, dynamic extents.
Shape ConstantShape(const Shape& shape) {
  Shape result = shape;
  for (int64_t i = 0; i < result.rank(); ++i) result.set_dynamic_dimension(i, false);
  if (result.has_layout()) result.mutable_layout().element_size_in_bits = 0;
  return result;
}

// Moves elements from logical row-major order to that of the layout.
void Relayout(const Shape& shape, size_t width, const std::string& logical, std::string* physical) {
  const DimensionVector& minor_to_major = shape.layout().minor_to_major;
  const size_t rank = minor_to_major.size();
  DimensionVector strides(rank, 1);
  for (size_t i = rank; i-- > 1;) {
    strides[i - 1] = strides[i] * shape.dimensions(static_cast<int64_t>(i));
  }
  DimensionVector index(rank, 0);
  size_t to = 0;
  int64_t from = 0;
  while (to < logical.size()) {
    std::memcpy(physical->data() + to, logical.data() + static_cast<size_t>(from) * width, width);
    to += width;
    for (const int64_t dimension : minor_to_major) {
      const size_t d = static_cast<size_t>(dimension);
      from += strides[d];
      if (++index[d] < shape.dimensions(dimension)) break;
      from -= strides[d] * index[d];
      index[d] = 0;
    }
  }
}

bool IsPermutation(const DimensionVector& minor_to_major) {
  std::vector<bool> seen(minor_to_major.size(), false);
  for (const int64_t d : minor_to_major) {
    if (d < 0 || d >= static_cast<int64_t>(seen.size()) || seen[static_cast<size_t>(d)]) {
      return false;
    }
    seen[static_cast<size_t>(d)] = true;
  }
  return true;
}

bool IsDefaultLayout(const Shape& shape) {
  return shape.layout().minor_to_major == Layout::Default(shape.rank()).minor_to_major;
}

}  // namespace

// An array literal while its tokens come in.
struct TextParser::DenseState {
  const Shape* shape;
  ElementType type;
  size_t width;
  size_t capacity;
  // Elements in logical order.
  std::string data;
  int64_t nesting = 0;
  // How many parts of each open dimension were seen.
  DimensionVector seen;
  bool elided = false;
};

bool TextParser::LiteralWithShape(Literal** literal) {
  Nested nested(this);
  if (!nested.Ok()) return false;
  if (lexer_.kind() != Token::kLeftParen) {
    const Shape* shape;
    return InternedShape(&shape) && LiteralOf(shape, literal);
  }
  // A tuple without a shape: its parts have theirs.
  std::vector<const Literal*> elements;
  std::vector<Shape> shapes;
  if (!List(Token::kLeftParen, Token::kRightParen, Token::kComma, "a tuple literal", [&] {
        Literal* element;
        if (!LiteralWithShape(&element)) return false;
        elements.push_back(element);
        shapes.push_back(*element->shape);
        return true;
      })) {
    return false;
  }
  *literal = builder_->New<Literal>();
  (*literal)->shape = builder_->Intern(Shape::Tuple(std::move(shapes)));
  (*literal)->elements = builder_->Copy<const Literal*>(elements);
  return true;
}

bool TextParser::LiteralOf(const Shape* shape, Literal** literal) {
  Nested nested(this);
  if (!nested.Ok()) return false;
  *literal = builder_->New<Literal>();
  if (shape->IsTuple()) return TupleLiteral(shape, *literal);
  if (!shape->IsArray()) {
    return FailHere(absl::StrCat("there are no values of ", shape->ToString()));
  }
  return ArrayLiteral(shape, *literal);
}

bool TextParser::TupleLiteral(const Shape* shape, Literal* literal) {
  std::vector<const Literal*> elements;
  std::vector<Shape> shapes;
  if (!Expect(Token::kLeftParen, "to begin a tuple literal")) return false;
  for (const Shape& part : shape->tuple_shapes()) {
    if (!elements.empty()) Eat(Token::kComma);  // XLA's parser does not ask for it
    Literal* element;
    if (!LiteralOf(builder_->Intern(part), &element)) return false;
    elements.push_back(element);
    shapes.push_back(*element->shape);
  }
  literal->shape = builder_->Intern(Shape::Tuple(std::move(shapes)));
  literal->elements = builder_->Copy<const Literal*>(elements);
  return Expect(Token::kRightParen,
                absl::StrCat("after the ", elements.size(), " parts of a tuple literal"));
}

bool TextParser::ArrayLiteral(const Shape* shape, Literal* literal) {
  const std::optional<int64_t> count = shape->ElementCount();
  if (!count.has_value()) {
    return FailHere(absl::StrCat("a literal cannot be as large as ", shape->ToString(false)));
  }
  const size_t width = static_cast<size_t>(ByteWidth(shape->element_type()));
  DenseState state{.shape = shape,
                   .type = shape->element_type(),
                   .width = width,
                   .capacity = static_cast<size_t>(*count),
                   .data = "",
                   .seen = DimensionVector(static_cast<size_t>(shape->rank()), 0)};
  const size_t offset = lexer_.offset();
  do {
    if (!DenseToken(&state)) return false;
  } while (state.nesting > 0);
  const Shape constant = ConstantShape(*shape);
  literal->shape = constant == *shape ? shape : builder_->Intern(constant);
  literal->elided = state.elided && *count > 0;
  if (literal->elided) return true;
  // XLA lets one value stand for a whole array and fills up with zeros.
  const size_t size = state.capacity * width;
  if (state.data.size() < size) {
    if (size > kMaxExpandedBytes - expanded_bytes_) {
      return Fail(offset, absl::StrCat(shape->ToString(false), " has ", *count,
                                       " elements, but only one is given"));
    }
    expanded_bytes_ += size;
  }
  state.data.resize(size, '\0');
  if (IsDefaultLayout(*shape)) {
    literal->data = builder_->Copy(state.data);
    return true;
  }
  if (!IsPermutation(shape->layout().minor_to_major)) {
    return Fail(offset, "the layout of the constant is no permutation of its dimensions");
  }
  std::string physical(size, '\0');
  Relayout(*shape, width, state.data, &physical);
  literal->data = builder_->Copy(physical);
  return true;
}

bool TextParser::DenseToken(DenseState* state) {
  switch (lexer_.kind()) {
    case Token::kLeftBrace:
      return DenseOpen(state);
    case Token::kRightBrace:
      return DenseClose(state);
    case Token::kDots:
      return DenseDots(state);
    case Token::kComma:
      lexer_.Next();
      return true;
    case Token::kLeftParen:
      if (!IsComplex(state->type)) return Expected("an element (parentheses are for complex ones)");
      return DenseElement(state);
    case Token::kInt:
    case Token::kDecimal:
    case Token::kNegInf:
      return DenseElement(state);
    case Token::kKeyword:
      if (lexer_.IsKeyword(Keyword::kTrue) || lexer_.IsKeyword(Keyword::kFalse) ||
          lexer_.IsKeyword(Keyword::kInf)) {
        return DenseElement(state);
      }
      break;
    default:
      break;
  }
  return Expected("an element of a literal");
}

bool TextParser::DenseOpen(DenseState* state) {
  const int64_t rank = state->shape->rank();
  if (++state->nesting > rank) {
    return FailHere(absl::StrCat("the literal has ", rank, " dimensions, but is nested deeper"));
  }
  if (state->nesting > 1) {
    const int64_t outer = state->nesting - 2;
    if (++state->seen[static_cast<size_t>(outer)] > state->shape->dimensions(outer)) {
      return FailHere(absl::StrCat("dimension ", outer, " of the literal has more than ",
                                   state->shape->dimensions(outer), " parts"));
    }
  }
  lexer_.Next();
  return true;
}

bool TextParser::DenseClose(DenseState* state) {
  if (state->nesting == 0) return Expected("an element of a literal");
  const int64_t dimension = --state->nesting;
  int64_t& seen = state->seen[static_cast<size_t>(dimension)];
  if (seen != state->shape->dimensions(dimension)) {
    return FailHere(absl::StrCat("dimension ", dimension, " of the literal has ",
                                 state->shape->dimensions(dimension), " parts, but ", seen,
                                 " are given"));
  }
  seen = 0;
  lexer_.Next();
  return true;
}

bool TextParser::DenseDots(DenseState* state) {
  if (state->nesting != 1) return FailHere("'...' stands for a whole array: expected '{...}'");
  state->seen[0] = state->shape->dimensions(0);
  state->elided = true;
  lexer_.Next();
  return true;
}

bool TextParser::DenseElement(DenseState* state) {
  const int64_t rank = state->shape->rank();
  const size_t offset = lexer_.offset();
  if (state->nesting != rank && (rank == 0 || state->nesting > 0)) {
    return FailHere(absl::StrCat("the literal has ", rank,
                                 " dimensions, but this element stands in ", state->nesting));
  }
  if (state->nesting > 0 && ++state->seen.back() > state->shape->dimensions(rank - 1)) {
    return FailHere(absl::StrCat("dimension ", rank - 1, " of the literal has more than ",
                                 state->shape->dimensions(rank - 1), " parts"));
  }
  if (state->data.size() >= state->capacity * state->width) {
    return FailHere(absl::StrCat("the literal has more than ", state->capacity, " elements"));
  }
  if (IsComplex(state->type)) return ComplexElement(state);
  if (IsFloating(state->type)) return FloatElement(state, offset);
  return IntElement(state, offset);
}

bool TextParser::ComplexElement(DenseState* state) {
  double parts[2];
  size_t offsets[2];
  if (!Expect(Token::kLeftParen, "to begin a complex number")) return false;
  offsets[0] = lexer_.offset();
  if (!Double(&parts[0]) || !Expect(Token::kComma, "after the real part")) return false;
  offsets[1] = lexer_.offset();
  if (!Double(&parts[1]) || !Expect(Token::kRightParen, "after the imaginary part")) return false;
  // XLA multiplies the imaginary part by i and adds: a NaN in the real part comes into both.
  if (std::isnan(parts[0])) parts[1] = parts[0];
  const ElementType type = state->type == proto::C64 ? proto::F32 : proto::F64;
  char bytes[16];
  for (int i = 0; i < 2; ++i) {
    char* to = bytes + static_cast<size_t>(i) * state->width / 2;
    if (!StoreFloat(type, parts[i], offsets[i], to)) return false;
  }
  state->data.append(bytes, state->width);
  return true;
}

bool TextParser::IntElement(DenseState* state, size_t offset) {
  int64_t value;
  if (lexer_.kind() == Token::kKeyword && state->type == proto::PRED) {
    bool truth;
    if (!Bool(&truth)) return false;
    value = truth;
  } else {
    if (lexer_.kind() != Token::kInt) {
      return Expected(absl::StrCat("an integer for ", ElementTypeName(state->type)));
    }
    value = lexer_.int_value();
    lexer_.Next();
  }
  if (state->type == proto::PRED) {
    value = value != 0;
  } else {
    const auto [lowest, highest] = IntegerRange(state->type);
    const bool fits = IsUnsignedIntegral(state->type)
                          ? static_cast<uint64_t>(value) <= highest
                          : value >= lowest && value <= static_cast<int64_t>(highest);
    if (!fits) {
      return Fail(offset,
                  absl::StrCat("this integer is out of the range of ", ElementTypeName(state->type),
                               ", ", lowest, " to ", highest));
    }
  }
  char bytes[8];
  Store(value, bytes);
  state->data.append(bytes, state->width);
  return true;
}

bool TextParser::FloatElement(DenseState* state, size_t offset) {
  double value;
  char bytes[8];
  if (!Double(&value) || !StoreFloat(state->type, value, offset, bytes)) return false;
  state->data.append(bytes, state->width);
  return true;
}

bool TextParser::StoreFloat(ElementType type, double value, size_t offset, char* to) {
  uint64_t payload = 0;
  if (std::isnan(value)) {
    uint64_t bits;
    std::memcpy(&bits, &value, sizeof(bits));
    payload = bits & kDoubleNanPayloadMask;
    const int payload_bits = NanPayloadBits(type);
    if (payload == kDoubleQuietNanPayload) {
      payload = payload_bits == 0 ? 0 : uint64_t{1} << (payload_bits - 1);
    } else if (payload_bits == 0 || payload >> payload_bits != 0) {
      return Fail(offset, absl::StrCat("this NaN payload does not fit ", ElementTypeName(type)));
    }
  }
  if (type == proto::F64) {
    Store(value, to);
    return true;
  }
  if (type == proto::F32) {
    const float narrow = static_cast<float>(value);
    if (std::isfinite(value) && !std::isfinite(narrow)) {
      return Fail(offset, "this number is out of the range of f32");
    }
    uint32_t bits;
    std::memcpy(&bits, &narrow, sizeof(bits));
    if (payload != 0) {
      bits = (bits & 0x80000000u) | 0x7f800000u | static_cast<uint32_t>(payload);
    }
    Store(bits, to);
    return true;
  }
  if (type == proto::F8E8M0FNU && value <= 0 && std::isfinite(value)) {
    return Fail(offset, "f8e8m0fnu has positive numbers only");
  }
  const FloatFormat format = *FloatFormatOf(type);
  uint32_t bits = EncodeFloat(format, value);
  // XLA rounds up between the two smallest numbers of this type.
  if (type == proto::F8E8M0FNU && bits == 0 && value > DecodeFloat(format, 0)) bits = 1;
  const double back = DecodeFloat(format, bits);
  if (std::isfinite(value) && !std::isfinite(back)) {
    return Fail(offset, absl::StrCat("this number is out of the range of ", ElementTypeName(type)));
  }
  if (payload != 0) {
    const uint32_t mask = (1u << format.mantissa_bits) - 1;
    bits = (bits & ~mask) | static_cast<uint32_t>(payload);
  }
  if (ByteWidth(type) == 2) {
    Store(static_cast<uint16_t>(bits), to);
  } else {
    Store(static_cast<uint8_t>(bits), to);
  }
  return true;
}

}  // namespace autotune
