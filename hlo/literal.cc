#include "hlo/literal.h"

#include <algorithm>
#include <cstring>

#include "hlo/float_format.h"

namespace autotune {
namespace {

template <typename T>
T Load(absl::string_view data, int64_t i) {
  T value;
  std::memcpy(&value, data.data() + static_cast<size_t>(i) * sizeof(T), sizeof(T));
  return value;
}

template <typename T>
void AddAll(absl::string_view data, google::protobuf::RepeatedField<T>* field) {
  const int count = static_cast<int>(data.size() / sizeof(T));
  field->Resize(count, T());
  if (count > 0) std::memcpy(field->mutable_data(), data.data(), data.size());
}

// XLA writes types of less than a byte as a byte per element with nothing above the value's bits.
std::string Masked(absl::string_view data, int bits) {
  std::string masked(data);
  const unsigned mask = (1u << bits) - 1;
  for (char& c : masked) c = static_cast<char>(static_cast<unsigned char>(c) & mask);
  return masked;
}

std::string ToString(absl::string_view data) { return std::string(data); }

void DataToProto(ElementType type, absl::string_view data, proto::LiteralProto* proto) {
  switch (type) {
    case proto::PRED:
      return AddAll(data, proto->mutable_preds());
    case proto::S1:
      return proto->set_s1s(Masked(data, 1));
    case proto::S2:
      return proto->set_s2s(Masked(data, 2));
    case proto::S4:
      return proto->set_s4s(Masked(data, 4));
    case proto::S8:
      return proto->set_s8s(ToString(data));
    case proto::S16:
      return proto->set_s16s(ToString(data));
    case proto::S32:
      return AddAll(data, proto->mutable_s32s());
    case proto::S64:
      return AddAll(data, proto->mutable_s64s());
    case proto::U1:
      return proto->set_u1s(Masked(data, 1));
    case proto::U2:
      return proto->set_u2s(Masked(data, 2));
    case proto::U4:
      return proto->set_u4s(Masked(data, 4));
    case proto::U8:
      return proto->set_u8s(ToString(data));
    case proto::U16:
      return proto->set_u16s(ToString(data));
    case proto::U32:
      return AddAll(data, proto->mutable_u32s());
    case proto::U64:
      return AddAll(data, proto->mutable_u64s());
    case proto::F16:
      return proto->set_f16s(ToString(data));
    case proto::BF16:
      return proto->set_bf16s(ToString(data));
    case proto::F32:
      return AddAll(data, proto->mutable_f32s());
    case proto::F64:
      return AddAll(data, proto->mutable_f64s());
    case proto::C64:
      return AddAll(data, proto->mutable_c64s());
    case proto::C128:
      return AddAll(data, proto->mutable_c128s());
    case proto::F8E5M2:
      return proto->set_f8e5m2s(ToString(data));
    case proto::F8E4M3:
      return proto->set_f8e4m3s(ToString(data));
    case proto::F8E4M3FN:
      return proto->set_f8e4m3fns(ToString(data));
    case proto::F8E4M3B11FNUZ:
      return proto->set_f8e4m3b11fnuzs(ToString(data));
    case proto::F8E3M4:
      return proto->set_f8e3m4s(ToString(data));
    case proto::F8E5M2FNUZ:
      return proto->set_f8e5m2fnuzs(ToString(data));
    case proto::F8E4M3FNUZ:
      return proto->set_f8e4m3fnuzs(ToString(data));
    case proto::F4E2M1FN:
      return proto->set_f4e2m1fns(Masked(data, 4));
    case proto::F8E8M0FNU:
      return proto->set_f8e8m0fnus(ToString(data));
    case proto::F6E3M2FN:
      return proto->set_f6e3m2fns(ToString(data));
    case proto::F6E2M3FN:
      return proto->set_f6e2m3fns(ToString(data));
    default:
      return;
  }
}

}  // namespace

bool Literal::HasElided() const {
  return elided || std::any_of(elements.begin(), elements.end(),
                               [](const Literal* element) { return element->HasElided(); });
}

int64_t Literal::AsInt64(int64_t i) const {
  switch (shape->element_type()) {
    case proto::S16:
      return Load<int16_t>(data, i);
    case proto::S32:
      return Load<int32_t>(data, i);
    case proto::S64:
      return Load<int64_t>(data, i);
    case proto::U16:
      return Load<uint16_t>(data, i);
    case proto::U32:
      return Load<uint32_t>(data, i);
    case proto::U64:
      return static_cast<int64_t>(Load<uint64_t>(data, i));
    case proto::S1:
    case proto::S2:
    case proto::S4:
    case proto::S8:
      return Load<int8_t>(data, i);
    default:
      return Load<uint8_t>(data, i);
  }
}

void LiteralToProto(const Literal& literal, proto::LiteralProto* proto) {
  if (literal.shape == nullptr) return;
  literal.shape->ToProto(proto->mutable_shape());
  for (const Literal* element : literal.elements) {
    LiteralToProto(*element, proto->add_tuple_literals());
  }
  if (literal.shape->IsArray()) {
    DataToProto(literal.shape->element_type(), literal.data, proto);
  }
  proto->mutable_dynamic_sizes()->Add(literal.dynamic_sizes.begin(), literal.dynamic_sizes.end());
}

}  // namespace autotune
