#include "hlo/shape.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_cat.h"
#include "hlo/int_math.h"

namespace autotune {
namespace {

constexpr int64_t kMaxInt64 = std::numeric_limits<int64_t>::max();

}  // namespace

Shape Shape::Array(ElementType type, absl::Span<const int64_t> dimensions) {
  Shape shape(type);
  shape.dimensions_.assign(dimensions.begin(), dimensions.end());
  return shape;
}

Shape Shape::ArrayWithDefaultLayout(ElementType type, absl::Span<const int64_t> dimensions) {
  Shape shape = Array(type, dimensions);
  shape.layout_ = Layout::Default(shape.rank());
  return shape;
}

Shape Shape::Tuple(std::vector<Shape> elements) {
  Shape shape(proto::TUPLE);
  shape.tuple_shapes_ = std::move(elements);
  return shape;
}

Shape Shape::Buffer(Shape content) {
  Shape shape(proto::BUFFER);
  shape.tuple_shapes_.push_back(std::move(content));
  return shape;
}

Shape Shape::FromProto(const proto::ShapeProto& proto) { return FromProto(proto, 0); }

Shape Shape::FromProto(const proto::ShapeProto& proto, int depth) {
  Shape shape(proto.element_type());
  shape.dimensions_.assign(proto.dimensions().begin(), proto.dimensions().end());
  for (int i = 0; i < proto.is_dynamic_dimension_size(); ++i) {
    if (proto.is_dynamic_dimension(i)) shape.set_dynamic_dimension(i, true);
  }
  if (depth < kMaxNesting) {
    shape.tuple_shapes_.reserve(static_cast<size_t>(proto.tuple_shapes_size()));
    for (const proto::ShapeProto& element : proto.tuple_shapes()) {
      shape.tuple_shapes_.push_back(FromProto(element, depth + 1));
    }
  }
  if (proto.has_layout()) shape.layout_ = Layout::FromProto(proto.layout());
  return shape;
}

void Shape::ToProto(proto::ShapeProto* proto) const {
  proto->set_element_type(element_type_);
  proto->mutable_dimensions()->Add(dimensions_.begin(), dimensions_.end());
  for (int64_t i = 0; i < rank(); ++i) proto->add_is_dynamic_dimension(is_dynamic_dimension(i));
  for (const Shape& element : tuple_shapes_) element.ToProto(proto->add_tuple_shapes());
  if (layout_.has_value()) layout_->ToProto(proto->mutable_layout());
}

void Shape::add_dimension(int64_t extent, bool dynamic) {
  dimensions_.push_back(extent);
  if (dynamic) set_dynamic_dimension(rank() - 1, true);
}

void Shape::set_dynamic_dimension(int64_t i, bool dynamic) {
  if (i < 0 || i >= 64) return;
  const uint64_t bit = uint64_t{1} << i;
  dynamic_ = dynamic ? dynamic_ | bit : dynamic_ & ~bit;
}

bool Shape::HasDynamicDimension() const {
  return dynamic_ != 0 || std::any_of(tuple_shapes_.begin(), tuple_shapes_.end(),
                                      [](const Shape& s) { return s.HasDynamicDimension(); });
}

bool Shape::HasUnboundedDimension() const {
  return std::find(dimensions_.begin(), dimensions_.end(), kUnbounded) != dimensions_.end() ||
         std::any_of(tuple_shapes_.begin(), tuple_shapes_.end(),
                     [](const Shape& s) { return s.HasUnboundedDimension(); });
}

void Shape::SetDefaultLayouts() {
  if (IsArray() && !layout_.has_value()) layout_ = Layout::Default(rank());
  for (Shape& element : tuple_shapes_) element.SetDefaultLayouts();
}

std::optional<int64_t> Shape::ElementCount() const {
  if (!IsArray()) return std::nullopt;
  // A zero anywhere makes the product zero, whatever the other factors are.
  bool zero = false;
  for (const int64_t extent : dimensions_) {
    if (extent < 0) return std::nullopt;
    zero |= extent == 0;
  }
  if (zero) return 0;
  int64_t count = 1;
  for (const int64_t extent : dimensions_) {
    if (__builtin_mul_overflow(count, extent, &count)) return std::nullopt;
  }
  return count;
}

int64_t Shape::ByteSize() const {
  if (IsTuple() || IsBuffer()) {
    int64_t total = 0;
    for (const Shape& element : tuple_shapes_) total = SaturatingAdd(total, element.ByteSize());
    return total;
  }
  if (!IsArray()) return 0;
  const std::optional<int64_t> count = ElementCount();
  if (!count.has_value()) return HasUnboundedDimension() ? 0 : kMaxInt64;
  const int64_t layout_bits = layout_.has_value() ? layout_->element_size_in_bits : 0;
  if (layout_bits > 0 && layout_bits < 8) {
    const int64_t bits = SaturatingMultiply(*count, layout_bits);
    return bits / 8 + (bits % 8 != 0 ? 1 : 0);
  }
  return SaturatingMultiply(*count, ByteWidth(element_type_));
}

DimensionVector Shape::PhysicalDimensions() const {
  if (!layout_.has_value() || layout_->minor_to_major.size() != dimensions_.size()) {
    return dimensions_;
  }
  DimensionVector physical;
  const DimensionVector& minor_to_major = layout_->minor_to_major;
  for (auto it = minor_to_major.rbegin(); it != minor_to_major.rend(); ++it) {
    physical.push_back(*it >= 0 && *it < rank() ? dimensions_[static_cast<size_t>(*it)] : 1);
  }
  return physical;
}

int64_t Shape::LeafCount() const {
  if (!IsTuple()) return 1;
  int64_t count = 0;
  for (const Shape& element : tuple_shapes_) count += element.LeafCount();
  return count;
}

void Shape::AppendTo(std::string* out, bool with_layout) const {
  if (IsTuple()) {
    out->push_back('(');
    int64_t index = 0;
    for (const Shape& element : tuple_shapes_) {
      if (index > 0) out->append(", ");
      // XLA numbers every fifth element of a long tuple.
      if (index > 0 && index % 5 == 0) absl::StrAppend(out, "/*index=", index, "*/");
      element.AppendTo(out, with_layout);
      ++index;
    }
    out->push_back(')');
    return;
  }
  if (IsBuffer() && !tuple_shapes_.empty()) {
    out->append("b(");
    tuple_shapes_[0].AppendTo(out, with_layout);
    out->push_back(')');
    return;
  }
  const absl::string_view name = ElementTypeName(element_type_);
  out->append(name.data(), name.size());
  out->push_back('[');
  for (int64_t i = 0; i < rank(); ++i) {
    if (i > 0) out->push_back(',');
    const int64_t extent = dimensions(i);
    if (extent == kUnbounded) {
      out->push_back('?');
      continue;
    }
    if (is_dynamic_dimension(i)) out->append("<=");
    absl::StrAppend(out, extent);
  }
  out->push_back(']');
  // A scalar's layout shows only where it says something.
  if (!with_layout || !layout_.has_value()) return;
  if (rank() > 0 || *layout_ != Layout()) layout_->AppendTo(out);
}

std::string Shape::ToString(bool with_layout) const {
  std::string out;
  AppendTo(&out, with_layout);
  return out;
}

bool Shape::EqualIgnoringLayout(const Shape& other) const {
  return element_type_ == other.element_type_ && dynamic_ == other.dynamic_ &&
         dimensions_ == other.dimensions_ &&
         std::equal(tuple_shapes_.begin(), tuple_shapes_.end(), other.tuple_shapes_.begin(),
                    other.tuple_shapes_.end(),
                    [](const Shape& a, const Shape& b) { return a.EqualIgnoringLayout(b); });
}

bool Shape::EqualIgnoringLayoutAndElementType(const Shape& other) const {
  if (IsArray() != other.IsArray()) return false;
  if (!IsArray() && element_type_ != other.element_type_) return false;
  return dynamic_ == other.dynamic_ && dimensions_ == other.dimensions_ &&
         std::equal(tuple_shapes_.begin(), tuple_shapes_.end(), other.tuple_shapes_.begin(),
                    other.tuple_shapes_.end(), [](const Shape& a, const Shape& b) {
                      return a.EqualIgnoringLayoutAndElementType(b);
                    });
}

bool Shape::IsCompatible(const Shape& other) const {
  if (this == &other) return true;
  return element_type_ == other.element_type_ && dimensions_ == other.dimensions_ &&
         std::equal(tuple_shapes_.begin(), tuple_shapes_.end(), other.tuple_shapes_.begin(),
                    other.tuple_shapes_.end(),
                    [](const Shape& a, const Shape& b) { return a.IsCompatible(b); });
}

bool operator==(const Shape& a, const Shape& b) {
  return a.element_type_ == b.element_type_ && a.dynamic_ == b.dynamic_ &&
         a.dimensions_ == b.dimensions_ && a.layout_ == b.layout_ &&
         a.tuple_shapes_ == b.tuple_shapes_;
}

}  // namespace autotune
