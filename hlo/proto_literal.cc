// Literals from their protobuf form.

#include <cstring>

#include "absl/strings/str_cat.h"
#include "hlo/element_type.h"
#include "hlo/proto_reader.h"

namespace autotune {
namespace {

constexpr int kMaxLiteralNesting = 32;

// The bytes of a repeated field of numbers, which lie as the literal wants them.
template <typename T>
absl::string_view NumberBytes(const google::protobuf::RepeatedField<T>& values) {
  return {reinterpret_cast<const char*>(values.data()),
          static_cast<size_t>(values.size()) * sizeof(T)};
}

// The bytes of the elements as the message holds them: adopted, not copied.
absl::string_view ElementBytes(const proto::LiteralProto& p, ElementType type) {
  switch (type) {
    case proto::PRED:
      return NumberBytes(p.preds());
    case proto::S32:
      return NumberBytes(p.s32s());
    case proto::S64:
      return NumberBytes(p.s64s());
    case proto::U32:
      return NumberBytes(p.u32s());
    case proto::U64:
      return NumberBytes(p.u64s());
    case proto::F32:
      return NumberBytes(p.f32s());
    case proto::F64:
      return NumberBytes(p.f64s());
    case proto::C64:
      return NumberBytes(p.c64s());
    case proto::C128:
      return NumberBytes(p.c128s());
    case proto::S1:
      return p.s1s();
    case proto::U1:
      return p.u1s();
    case proto::S2:
      return p.s2s();
    case proto::U2:
      return p.u2s();
    case proto::S4:
      return p.s4s();
    case proto::U4:
      return p.u4s();
    case proto::S8:
      return p.s8s();
    case proto::U8:
      return p.u8s();
    case proto::S16:
      return p.s16s();
    case proto::U16:
      return p.u16s();
    case proto::F16:
      return p.f16s();
    case proto::BF16:
      return p.bf16s();
    case proto::F4E2M1FN:
      return p.f4e2m1fns();
    case proto::F8E3M4:
      return p.f8e3m4s();
    case proto::F8E4M3:
      return p.f8e4m3s();
    case proto::F8E4M3FN:
      return p.f8e4m3fns();
    case proto::F8E4M3B11FNUZ:
      return p.f8e4m3b11fnuzs();
    case proto::F8E4M3FNUZ:
      return p.f8e4m3fnuzs();
    case proto::F8E5M2:
      return p.f8e5m2s();
    case proto::F8E5M2FNUZ:
      return p.f8e5m2fnuzs();
    case proto::F8E8M0FNU:
      return p.f8e8m0fnus();
    default:
      return {};
  }
}

}  // namespace

absl::StatusOr<const Literal*> ReadLiteral(const proto::LiteralProto& source,
                                           ModuleBuilder* builder, int depth) {
  if (depth > kMaxLiteralNesting) {
    return absl::InvalidArgumentError("the literal's tuples are nested too deeply");
  }
  Literal* literal = builder->New<Literal>();
  literal->shape = builder->Intern(Shape::FromProto(source.shape()));
  literal->dynamic_sizes = source.dynamic_sizes();
  if (literal->shape->IsTuple()) {
    if (static_cast<size_t>(source.tuple_literals_size()) !=
        literal->shape->tuple_shapes().size()) {
      return absl::InvalidArgumentError(absl::StrCat("a literal of shape ",
                                                     literal->shape->ToString(), " has ",
                                                     source.tuple_literals_size(), " parts"));
    }
    std::vector<const Literal*> parts;
    for (const proto::LiteralProto& part : source.tuple_literals()) {
      absl::StatusOr<const Literal*> read = ReadLiteral(part, builder, depth + 1);
      if (!read.ok()) return read.status();
      parts.push_back(*read);
    }
    literal->elements = builder->Copy(absl::Span<const Literal* const>(parts));
    return literal;
  }
  if (!literal->shape->IsArray()) return literal;
  const std::optional<int64_t> count = literal->shape->ElementCount();
  literal->data = ElementBytes(source, literal->shape->element_type());
  if (!count.has_value() || *count > 0) literal->elided = literal->data.empty();
  const int64_t width = ByteWidth(literal->shape->element_type());
  if (literal->elided ||
      (count.has_value() && static_cast<int64_t>(literal->data.size()) / width == *count &&
       static_cast<int64_t>(literal->data.size()) % width == 0)) {
    return literal;
  }
  return absl::InvalidArgumentError(
      absl::StrCat("a literal of shape ", literal->shape->ToString(), " holds ",
                   literal->data.size() / static_cast<size_t>(width), " elements"));
}

}  // namespace autotune
