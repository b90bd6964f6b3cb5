#include <charconv>
#include <cmath>
#include <cstring>

#include "absl/strings/str_cat.h"
#include "hlo/float_format.h"
#include "hlo/literal_reader.h"
#include "hlo/module_builder.h"
#include "hlo/text_printer.h"

namespace autotune {
namespace {

// The payload of a NaN and how many bits the type has for it.
struct NanPayload {
  uint64_t payload;
  int bits;
};

NanPayload PayloadOf(ElementType type, const char* bytes) {
  uint64_t pattern = 0;
  std::memcpy(&pattern, bytes, static_cast<size_t>(ByteWidth(type)));
  int bits = 0;
  if (type == proto::F64) {
    bits = 52;
  } else if (type == proto::F32) {
    bits = 23;
  } else if (const auto format = FloatFormatOf(type);
             format.has_value() && format->special == FloatFormat::Special::kIeee) {
    bits = format->mantissa_bits;
  }
  return {bits == 0 ? 0 : pattern & ((uint64_t{1} << bits) - 1), bits};
}

template <typename T>
T Load(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

}  // namespace

void TextPrinter::LiteralText(const Literal& literal) {
  const Shape& shape = *literal.shape;
  if (shape.IsTuple()) {
    Add("( ");
    bool first = true;
    for (const Literal* element : literal.elements) {
      if (!first) Add(", ");
      first = false;
      LiteralText(*element);
    }
    return Add(" )");
  }
  const int64_t count = shape.ElementsIn();
  const bool too_long = options_.max_literal_elements >= 0 && count > options_.max_literal_elements;
  if (literal.elided || (too_long && shape.rank() > 0)) return Add("{...}");
  // Steps between elements in the literal's own order.
  DimensionVector strides(static_cast<size_t>(shape.rank()), 0);
  const Layout layout = shape.has_layout() ? shape.layout() : Layout::Default(shape.rank());
  int64_t stride = 1;
  for (const int64_t dimension : layout.minor_to_major) {
    if (dimension < 0 || dimension >= shape.rank()) return Add("{...}");
    strides[static_cast<size_t>(dimension)] = stride;
    stride *= shape.dimensions(dimension);
  }
  LiteralDimension(literal, strides, 0, 0);
}

void TextPrinter::LiteralDimension(const Literal& literal, absl::Span<const int64_t> strides,
                                   int64_t dimension, int64_t offset) {
  const Shape& shape = *literal.shape;
  if (dimension == shape.rank()) return Element(literal, offset);
  Add('{');
  const int64_t extent = shape.dimensions(dimension);
  const bool innermost = dimension + 1 == shape.rank();
  for (int64_t i = 0; i < extent; ++i) {
    if (i > 0) Add(innermost ? ", " : ",");
    if (!innermost) Add(' ');
    LiteralDimension(literal, strides, dimension + 1,
                     offset + i * strides[static_cast<size_t>(dimension)]);
  }
  if (!innermost && extent > 0) Add(' ');
  Add('}');
}

void TextPrinter::Element(const Literal& literal, int64_t i) {
  const ElementType type = literal.shape->element_type();
  const size_t width = static_cast<size_t>(ByteWidth(type));
  const char* bytes = literal.data.data() + static_cast<size_t>(i) * width;
  if (type == proto::PRED) {
    if (literal.shape->rank() > 0) return Add(*bytes != 0 ? '1' : '0');
    return Add(*bytes != 0 ? "true" : "false");
  }
  if (type == proto::U64) {
    absl::StrAppend(&out_, Load<uint64_t>(bytes));
    return;
  }
  if (IsIntegral(type)) return Number(literal.AsInt64(i));
  if (!IsComplex(type)) return FloatText(type, bytes);
  const ElementType part = type == proto::C64 ? proto::F32 : proto::F64;
  Add('(');
  FloatText(part, bytes);
  Add(", ");
  FloatText(part, bytes + width / 2);
  Add(')');
}

void TextPrinter::FloatText(ElementType type, const char* bytes) {
  double value;
  char buffer[40];
  std::to_chars_result end;
  if (type == proto::F64) {
    value = Load<double>(bytes);
    end = std::to_chars(buffer, buffer + sizeof(buffer), value);
  } else {
    // The shortest text of the float is exact enough for every narrower type.
    if (type == proto::F32) {
      value = Load<float>(bytes);
    } else {
      const uint32_t bits = ByteWidth(type) == 2 ? Load<uint16_t>(bytes) : Load<uint8_t>(bytes);
      value = DecodeFloat(*FloatFormatOf(type), bits);
    }
    // But f8e8m0fnu rounds up what is above its smallest value, so that is printed in full.
    end = type == proto::F8E8M0FNU
              ? std::to_chars(buffer, buffer + sizeof(buffer), value)
              : std::to_chars(buffer, buffer + sizeof(buffer), static_cast<float>(value));
  }
  if (std::isinf(value)) return Add(value < 0 ? "-inf" : "inf");
  // Without a point it would be an integer to the parser, which has no negative zero.
  if (value == 0 && std::signbit(value)) return Add("-0.0");
  if (!std::isnan(value)) {
    out_.append(buffer, static_cast<size_t>(end.ptr - buffer));
    return;
  }
  Add(std::signbit(value) ? "-nan" : "nan");
  const NanPayload nan = PayloadOf(type, bytes);
  if (nan.bits == 0 || nan.payload == uint64_t{1} << (nan.bits - 1)) return;
  absl::StrAppend(&out_, "(0x", absl::Hex(nan.payload), ")");
}

void TextPrinter::LiteralProtoText(const proto::LiteralProto& literal) {
  ModuleBuilder builder;
  const absl::StatusOr<const Literal*> read = ReadLiteral(literal, &builder);
  if (!read.ok()) return Add("()");
  if (!(*read)->shape->IsTuple()) {
    (*read)->shape->AppendTo(&out_);
    Add(' ');
    return LiteralText(**read);
  }
  Add('(');
  for (int i = 0; i < literal.tuple_literals_size(); ++i) {
    if (i > 0) Add(", ");
    LiteralProtoText(literal.tuple_literals(i));
  }
  Add(')');
}

}  // namespace autotune
