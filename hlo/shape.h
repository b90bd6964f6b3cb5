#ifndef AUTOTUNE_HLO_SHAPE_H_
#define AUTOTUNE_HLO_SHAPE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "absl/types/span.h"
#include "hlo/element_type.h"
#include "hlo/layout.h"
#include "proto/xla_data.pb.h"

namespace autotune {

// The type of a value: an array (element type, extents, perhaps a layout), a tuple of shapes, a
// token, an opaque value, or a buffer around an array. A value type; equality and hash take
// everything into account, layouts included.
class Shape {
 public:
  // The extent of an unbounded dynamic dimension, written `?`.
  static constexpr int64_t kUnbounded = INT64_MIN;

  // An invalid shape.
  Shape() = default;

  // An array without a layout.
  static Shape Array(ElementType type, absl::Span<const int64_t> dimensions);
  // An array with the default layout {rank-1, ..., 0}.
  static Shape ArrayWithDefaultLayout(ElementType type, absl::Span<const int64_t> dimensions);
  static Shape Tuple(std::vector<Shape> elements);
  static Shape Token() { return Shape(proto::TOKEN); }
  static Shape Buffer(Shape content);

  // Total on any message: what does not fit the schema's rules is kept as it is and left to the
  // verifier, but nesting deeper than kMaxNesting is cut off.
  static Shape FromProto(const proto::ShapeProto& proto);
  // REQUIRES: *proto is empty.
  void ToProto(proto::ShapeProto* proto) const;

  static constexpr int kMaxNesting = 64;

  ElementType element_type() const { return element_type_; }
  void set_element_type(ElementType type) { element_type_ = type; }

  bool IsArray() const { return IsArrayType(element_type_); }
  bool IsTuple() const { return element_type_ == proto::TUPLE; }
  bool IsBuffer() const { return element_type_ == proto::BUFFER; }
  bool IsScalar() const { return IsArray() && dimensions_.empty(); }

  // Extents, dimension 0 first; the upper bound of a dynamic dimension, kUnbounded if it has none.
  const DimensionVector& dimensions() const { return dimensions_; }
  int64_t dimensions(int64_t i) const { return dimensions_[static_cast<size_t>(i)]; }
  int64_t rank() const { return static_cast<int64_t>(dimensions_.size()); }
  void set_dimension(int64_t i, int64_t extent) { dimensions_[static_cast<size_t>(i)] = extent; }
  void add_dimension(int64_t extent, bool dynamic = false);

  bool is_dynamic_dimension(int64_t i) const { return i < 64 && (dynamic_ >> i & 1) != 0; }
  void set_dynamic_dimension(int64_t i, bool dynamic);
  // Of this array or of any array within this tuple.
  bool HasDynamicDimension() const;
  bool HasUnboundedDimension() const;

  // Parts of a tuple; the one content of a buffer.
  const std::vector<Shape>& tuple_shapes() const { return tuple_shapes_; }
  const Shape& tuple_shapes(int64_t i) const { return tuple_shapes_[static_cast<size_t>(i)]; }
  std::vector<Shape>& mutable_tuple_shapes() { return tuple_shapes_; }

  bool has_layout() const { return layout_.has_value(); }
  // REQUIRES: has_layout().
  const Layout& layout() const { return *layout_; }
  Layout& mutable_layout() { return *layout_; }
  void set_layout(Layout layout) { layout_ = std::move(layout); }
  // Gives every array within this shape that has no layout the default one.
  void SetDefaultLayouts();

  // The number of elements of an array: the product of its extents (bounds where dynamic). Nothing
  // for what is no array, with an unbounded dimension, or beyond int64.
  std::optional<int64_t> ElementCount() const;
  // The same, but 0 where ElementCount gives nothing.
  int64_t ElementsIn() const { return ElementCount().value_or(0); }

  // Bytes of the logical data, unpadded: of all leaves of a tuple, sub-byte elements at the
  // layout's element size if it has one, else a whole byte each. Tokens and opaque values count 0.
  // Saturates at the largest int64.
  int64_t ByteSize() const;

  // Extents in physical order, major to minor: dimensions permuted by the layout (by the default
  // one without a layout).
  DimensionVector PhysicalDimensions() const;

  // The number of leaves: 1 for what is no tuple.
  int64_t LeafCount() const;

  // Text form as XLA writes it: "f32[8,<=128]{1,0:T(8,128)}", "(f32[], token[])".
  std::string ToString(bool with_layout = true) const;
  void AppendTo(std::string* out, bool with_layout = true) const;

  // Equality that leaves layouts out.
  bool EqualIgnoringLayout(const Shape& other) const;
  // Equality that leaves layouts, element types of arrays and nothing else out.
  bool EqualIgnoringLayoutAndElementType(const Shape& other) const;

  // Equality that leaves layouts and which dimensions are dynamic out: XLA lets such values stand
  // for each other.
  bool IsCompatible(const Shape& other) const;

  friend bool operator==(const Shape& a, const Shape& b);
  friend bool operator!=(const Shape& a, const Shape& b) { return !(a == b); }
  template <typename H>
  friend H AbslHashValue(H h, const Shape& shape) {
    if (shape.layout_.has_value()) h = H::combine(std::move(h), *shape.layout_);
    return H::combine(std::move(h), shape.element_type_, shape.dimensions_, shape.dynamic_,
                      shape.layout_.has_value(), shape.tuple_shapes_);
  }

 private:
  explicit Shape(ElementType type) : element_type_(type) {}

  static Shape FromProto(const proto::ShapeProto& proto, int depth);

  ElementType element_type_ = proto::PRIMITIVE_TYPE_INVALID;
  // Bit i: dimension i is dynamic. Arrays of more than 64 dimensions keep no flags beyond those.
  uint64_t dynamic_ = 0;
  DimensionVector dimensions_;
  std::vector<Shape> tuple_shapes_;
  std::optional<Layout> layout_;
};

}  // namespace autotune

#endif  // AUTOTUNE_HLO_SHAPE_H_
