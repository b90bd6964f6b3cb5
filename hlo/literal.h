#ifndef AUTOTUNE_HLO_LITERAL_H_
#define AUTOTUNE_HLO_LITERAL_H_

#include <cstdint>
#include <string>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hlo/shape.h"
#include "proto/xla_data.pb.h"

namespace autotune {

// The value of a constant: a view of elements that the module owns, valid as long as the module.
//
// Elements lie densely in the order of the literal's layout (the default one unless its shape says
// otherwise), little endian, ByteWidth(type) bytes each; types of less than a byte take one byte
// per element, its low bits (signed types sign-extended).
struct Literal {
  // Null for a default-constructed literal only.
  const Shape* shape = nullptr;
  // The elements of an array; empty for a tuple, an empty array and an elided literal.
  absl::string_view data;
  // The parts of a tuple.
  absl::Span<const Literal* const> elements;
  // Actual sizes of dynamic dimensions, one per dimension, or empty.
  absl::Span<const int32_t> dynamic_sizes;
  // The text had `{...}` in place of the elements, or the protobuf held none although the shape has
  // some: the value is unknown.
  bool elided = false;

  // True if this literal or a part of it is elided.
  bool HasElided() const;

  // Element `i` in layout order, of an integral type or pred (u64 wraps around).
  // REQUIRES: an array with data, 0 <= i < ElementsIn.
  int64_t AsInt64(int64_t i) const;
};

// Writes the value as XLA does. An elided array becomes a shape without elements, which XLA refuses
// to read and autotune reads back as elided. REQUIRES: *proto is empty.
void LiteralToProto(const Literal& literal, proto::LiteralProto* proto);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_LITERAL_H_
