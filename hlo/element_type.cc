#include "hlo/element_type.h"

#include <array>

namespace autotune {
namespace {

enum class Class : uint8_t { kNone, kPred, kSigned, kUnsigned, kFloat, kComplex };

struct TypeInfo {
  ElementType type;
  absl::string_view name;
  int bits;
  Class kind;
};

// Indexed by the number of the type.
constexpr TypeInfo kTypes[] = {
    {proto::PRIMITIVE_TYPE_INVALID, "invalid", 0, Class::kNone},
    {proto::PRED, "pred", 8, Class::kPred},
    {proto::S8, "s8", 8, Class::kSigned},
    {proto::S16, "s16", 16, Class::kSigned},
    {proto::S32, "s32", 32, Class::kSigned},
    {proto::S64, "s64", 64, Class::kSigned},
    {proto::U8, "u8", 8, Class::kUnsigned},
    {proto::U16, "u16", 16, Class::kUnsigned},
    {proto::U32, "u32", 32, Class::kUnsigned},
    {proto::U64, "u64", 64, Class::kUnsigned},
    {proto::F16, "f16", 16, Class::kFloat},
    {proto::F32, "f32", 32, Class::kFloat},
    {proto::F64, "f64", 64, Class::kFloat},
    {proto::TUPLE, "tuple", 0, Class::kNone},
    {proto::OPAQUE_TYPE, "opaque", 0, Class::kNone},
    {proto::C64, "c64", 64, Class::kComplex},
    {proto::BF16, "bf16", 16, Class::kFloat},
    {proto::TOKEN, "token", 0, Class::kNone},
    {proto::C128, "c128", 128, Class::kComplex},
    {proto::F8E5M2, "f8e5m2", 8, Class::kFloat},
    {proto::F8E4M3FN, "f8e4m3fn", 8, Class::kFloat},
    {proto::S4, "s4", 4, Class::kSigned},
    {proto::U4, "u4", 4, Class::kUnsigned},
    {proto::F8E4M3B11FNUZ, "f8e4m3b11fnuz", 8, Class::kFloat},
    {proto::F8E5M2FNUZ, "f8e5m2fnuz", 8, Class::kFloat},
    {proto::F8E4M3FNUZ, "f8e4m3fnuz", 8, Class::kFloat},
    {proto::S2, "s2", 2, Class::kSigned},
    {proto::U2, "u2", 2, Class::kUnsigned},
    {proto::F8E4M3, "f8e4m3", 8, Class::kFloat},
    {proto::F8E3M4, "f8e3m4", 8, Class::kFloat},
    {proto::S1, "s1", 1, Class::kSigned},
    {proto::U1, "u1", 1, Class::kUnsigned},
    {proto::F4E2M1FN, "f4e2m1fn", 4, Class::kFloat},
    {proto::F8E8M0FNU, "f8e8m0fnu", 8, Class::kFloat},
    {proto::BUFFER, "buffer", 0, Class::kNone},
    {proto::F6E3M2FN, "f6e3m2fn", 6, Class::kFloat},
    {proto::F6E2M3FN, "f6e2m3fn", 6, Class::kFloat},
};

constexpr bool TableIsIndexedByType() {
  for (size_t i = 0; i < std::size(kTypes); ++i) {
    if (static_cast<size_t>(kTypes[i].type) != i) return false;
  }
  return true;
}
static_assert(TableIsIndexedByType());

const TypeInfo& Info(ElementType type) {
  const size_t index = static_cast<size_t>(type);
  return kTypes[index < std::size(kTypes) ? index : 0];
}

}  // namespace

absl::string_view ElementTypeName(ElementType type) { return Info(type).name; }

std::optional<ElementType> ElementTypeFromName(absl::string_view name) {
  // Asked of every name in a program: most are told by their length or second character. No name of
  // a type is longer than f8e4m3b11fnuz, and those that are no words have a digit there.
  if (name.size() < 2 || name.size() > 13) return std::nullopt;
  const bool may_be_word = name.size() <= 6;
  if (!may_be_word && (name[1] < '0' || name[1] > '9')) return std::nullopt;
  for (const TypeInfo& info : kTypes) {
    if (info.name.size() != name.size() || info.name[0] != name[0]) continue;
    if (info.name == name && info.type != proto::PRIMITIVE_TYPE_INVALID) return info.type;
  }
  return std::nullopt;
}

int BitWidth(ElementType type) { return Info(type).bits; }

int ByteWidth(ElementType type) { return (Info(type).bits + 7) / 8; }

bool IsArrayType(ElementType type) { return Info(type).kind != Class::kNone; }

bool IsSignedIntegral(ElementType type) { return Info(type).kind == Class::kSigned; }

bool IsUnsignedIntegral(ElementType type) { return Info(type).kind == Class::kUnsigned; }

bool IsIntegral(ElementType type) { return IsSignedIntegral(type) || IsUnsignedIntegral(type); }

bool IsFloating(ElementType type) { return Info(type).kind == Class::kFloat; }

bool IsComplex(ElementType type) { return Info(type).kind == Class::kComplex; }

}  // namespace autotune
