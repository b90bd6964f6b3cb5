#include "hlo/literal_reader.h"

#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace autotune {
namespace {

constexpr int kMaxNesting = 100;

template <typename T>
absl::string_view Bytes(const google::protobuf::RepeatedField<T>& field) {
  return {reinterpret_cast<const char*>(field.data()),
          static_cast<size_t>(field.size()) * sizeof(T)};
}

// The field that holds elements of the type, as bytes; packed for types of less than a byte.
absl::string_view DataOf(const proto::LiteralProto& proto, ElementType type) {
  switch (type) {
    case proto::PRED:
      return Bytes(proto.preds());
    case proto::S1:
      return proto.s1s();
    case proto::S2:
      return proto.s2s();
    case proto::S4:
      return proto.s4s();
    case proto::S8:
      return proto.s8s();
    case proto::S16:
      return proto.s16s();
    case proto::S32:
      return Bytes(proto.s32s());
    case proto::S64:
      return Bytes(proto.s64s());
    case proto::U1:
      return proto.u1s();
    case proto::U2:
      return proto.u2s();
    case proto::U4:
      return proto.u4s();
    case proto::U8:
      return proto.u8s();
    case proto::U16:
      return proto.u16s();
    case proto::U32:
      return Bytes(proto.u32s());
    case proto::U64:
      return Bytes(proto.u64s());
    case proto::F16:
      return proto.f16s();
    case proto::BF16:
      return proto.bf16s();
    case proto::F32:
      return Bytes(proto.f32s());
    case proto::F64:
      return Bytes(proto.f64s());
    case proto::C64:
      return Bytes(proto.c64s());
    case proto::C128:
      return Bytes(proto.c128s());
    case proto::F8E5M2:
      return proto.f8e5m2s();
    case proto::F8E4M3:
      return proto.f8e4m3s();
    case proto::F8E4M3FN:
      return proto.f8e4m3fns();
    case proto::F8E4M3B11FNUZ:
      return proto.f8e4m3b11fnuzs();
    case proto::F8E3M4:
      return proto.f8e3m4s();
    case proto::F8E5M2FNUZ:
      return proto.f8e5m2fnuzs();
    case proto::F8E4M3FNUZ:
      return proto.f8e4m3fnuzs();
    case proto::F4E2M1FN:
      return proto.f4e2m1fns();
    case proto::F8E8M0FNU:
      return proto.f8e8m0fnus();
    case proto::F6E3M2FN:
      return proto.f6e3m2fns();
    case proto::F6E2M3FN:
      return proto.f6e2m3fns();
    default:
      return {};
  }
}

// Types of less than a byte: XLA writes a byte per element, older versions packed them, the first
// in the low bits.
std::string Unpack(absl::string_view packed, ElementType type, size_t count) {
  const int bits = BitWidth(type);
  const size_t per_byte = packed.size() == count ? 1 : static_cast<size_t>(8 / bits);
  std::string data(count, '\0');
  for (size_t i = 0; i < count; ++i) {
    const unsigned byte = static_cast<unsigned char>(packed[i / per_byte]);
    unsigned value = byte >> (bits * static_cast<int>(i % per_byte)) & ((1u << bits) - 1);
    // Two's complement of the narrow type.
    if (IsSignedIntegral(type) && (value >> (bits - 1) & 1) != 0) value |= ~((1u << bits) - 1);
    data[i] = static_cast<char>(value);
  }
  return data;
}

absl::Status ReadArray(const proto::LiteralProto& proto, ModuleBuilder* builder, Literal* literal) {
  const ElementType type = literal->shape->element_type();
  const std::optional<int64_t> count = literal->shape->ElementCount();
  const absl::string_view data = DataOf(proto, type);
  if (data.empty() && count != 0) {
    literal->elided = true;
    return absl::OkStatus();
  }
  const int bits = BitWidth(type);
  const bool narrow = bits < 8 && 8 % bits == 0;
  const size_t width = static_cast<size_t>(ByteWidth(type));
  const size_t wanted = static_cast<size_t>(count.value_or(0));
  const size_t per_byte = static_cast<size_t>(narrow ? 8 / bits : 1);
  const bool fits =
      count.has_value() &&
      ((data.size() % width == 0 && data.size() / width == wanted) ||
       (narrow && data.size() == wanted / per_byte + (wanted % per_byte != 0 ? 1 : 0)));
  if (!fits) {
    return absl::InvalidArgumentError(absl::StrCat("the literal holds ", data.size(),
                                                   " bytes, which is not what ",
                                                   literal->shape->ToString(), " needs"));
  }
  if (!narrow) {
    literal->data = data;
  } else {
    literal->data = builder->Copy(Unpack(data, type, static_cast<size_t>(*count)));
  }
  return absl::OkStatus();
}

absl::StatusOr<const Literal*> Read(const proto::LiteralProto& proto, int depth,
                                    ModuleBuilder* builder) {
  if (depth > kMaxNesting) return absl::InvalidArgumentError("the literal is nested too deeply");
  Literal* literal = builder->New<Literal>();
  literal->shape = builder->Intern(Shape::FromProto(proto.shape()));
  literal->dynamic_sizes = {proto.dynamic_sizes().data(),
                            static_cast<size_t>(proto.dynamic_sizes_size())};
  if (literal->shape->IsArray()) {
    if (absl::Status status = ReadArray(proto, builder, literal); !status.ok()) return status;
    return literal;
  }
  if (!literal->shape->IsTuple()) {
    return absl::InvalidArgumentError(
        absl::StrCat("there are no values of ", literal->shape->ToString()));
  }
  if (static_cast<size_t>(proto.tuple_literals_size()) != literal->shape->tuple_shapes().size()) {
    return absl::InvalidArgumentError(absl::StrCat("the literal has ", proto.tuple_literals_size(),
                                                   " parts, its shape ",
                                                   literal->shape->ToString()));
  }
  std::vector<const Literal*> elements;
  for (const proto::LiteralProto& element : proto.tuple_literals()) {
    absl::StatusOr<const Literal*> read = Read(element, depth + 1, builder);
    if (!read.ok()) return read.status();
    elements.push_back(*read);
  }
  literal->elements = builder->Copy<const Literal*>(elements);
  return literal;
}

}  // namespace

absl::StatusOr<const Literal*> ReadLiteral(const proto::LiteralProto& proto,
                                           ModuleBuilder* builder) {
  return Read(proto, 0, builder);
}

}  // namespace autotune
