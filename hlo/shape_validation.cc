#include "hlo/shape_validation.h"

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hlo/layout.h"

namespace autotune {
namespace {

// Padding to tiles must not overflow: no real layout has tiles near this.
constexpr int64_t kMaxTileExtent = int64_t{1} << 24;

absl::Status ValidateOrder(const DimensionVector& minor_to_major, int64_t rank) {
  if (static_cast<int64_t>(minor_to_major.size()) != rank) {
    return absl::InvalidArgumentError(
        absl::StrCat("the array has ", rank, " dimensions, its layout ", minor_to_major.size()));
  }
  std::vector<bool> seen(static_cast<size_t>(rank), false);
  for (const int64_t dimension : minor_to_major) {
    const bool in_range = dimension >= 0 && dimension < rank;
    if (!in_range || seen[static_cast<size_t>(dimension)]) {
      return absl::InvalidArgumentError(absl::StrCat("the layout of an array of ", rank,
                                                     " dimensions names dimension ", dimension,
                                                     in_range ? " twice" : ""));
    }
    seen[static_cast<size_t>(dimension)] = true;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status ValidateShape(const Shape& shape) {
  for (const Shape& part : shape.tuple_shapes()) {
    if (absl::Status status = ValidateShape(part); !status.ok()) return status;
  }
  if (!shape.IsArray()) return absl::OkStatus();
  for (const int64_t extent : shape.dimensions()) {
    if (extent >= 0 || extent == Shape::kUnbounded) continue;
    return absl::InvalidArgumentError(absl::StrCat("a dimension has the extent ", extent));
  }
  const bool sized = !shape.HasUnboundedDimension();
  if (sized && (!shape.ElementCount().has_value() ||
                shape.ByteSize() == std::numeric_limits<int64_t>::max())) {
    return absl::InvalidArgumentError("the array is larger than 64 bits can count");
  }
  if (!shape.has_layout()) return absl::OkStatus();
  for (const Tile& tile : shape.layout().tiles) {
    for (const int64_t extent : tile.dimensions) {
      if (extent == Tile::kCombineDimension || (extent > 0 && extent <= kMaxTileExtent)) continue;
      return absl::InvalidArgumentError(absl::StrCat("the layout has a tile of extent ", extent));
    }
  }
  return ValidateOrder(shape.layout().minor_to_major, shape.rank());
}

}  // namespace autotune
