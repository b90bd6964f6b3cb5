#ifndef AUTOTUNE_HLO_ELEMENT_TYPE_H_
#define AUTOTUNE_HLO_ELEMENT_TYPE_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "proto/xla_data.pb.h"

namespace autotune {

// The type of an array's elements, or the kind of a value that is no array (proto::TUPLE,
// proto::TOKEN, proto::OPAQUE_TYPE, proto::BUFFER): the enumeration of the wire schema.
using ElementType = proto::PrimitiveType;

// The name in text form: "f32", "bf16", "f8e4m3fn", "pred", "c64", "token", "opaque", ...;
// "invalid" for a number that is none of them.
absl::string_view ElementTypeName(ElementType type);

// The type with that name, or nothing. Case matters.
std::optional<ElementType> ElementTypeFromName(absl::string_view name);

// The width of one element in bits as a value (1 for s1, 4 for f4e2m1fn, 8 for pred, 128 for
// c128); 0 for what is no array element.
int BitWidth(ElementType type);

// The bytes that one element takes where it is not packed: BitWidth rounded up to bytes.
int ByteWidth(ElementType type);

// True for every type that an array may have.
bool IsArrayType(ElementType type);
bool IsSignedIntegral(ElementType type);
bool IsUnsignedIntegral(ElementType type);
// Signed or unsigned; pred is neither.
bool IsIntegral(ElementType type);
// Real floating point of any width; complex types are not.
bool IsFloating(ElementType type);
bool IsComplex(ElementType type);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_ELEMENT_TYPE_H_
