#ifndef AUTOTUNE_HLO_LAYOUT_H_
#define AUTOTUNE_HLO_LAYOUT_H_

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/inlined_vector.h"
#include "proto/xla_data.pb.h"

namespace autotune {

// Extents or dimension numbers of an array; few arrays have more than six dimensions.
using DimensionVector = absl::InlinedVector<int64_t, 6>;

// One tile of a tiled layout: its extents, major to minor. It covers the last dimensions of what it
// tiles (the array in physical order, or the tile before it). An extent of `kCombineDimension`
// (written `*`) merges that dimension into the next more minor one.
struct Tile {
  static constexpr int64_t kCombineDimension = INT64_MIN;
  absl::InlinedVector<int64_t, 2> dimensions;

  friend bool operator==(const Tile&, const Tile&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Tile& tile) {
    return H::combine(std::move(h), tile.dimensions);
  }
};

// A dimension that is cut at the given indices so that its parts lie in different memories.
struct SplitConfig {
  int64_t dimension = 0;
  absl::InlinedVector<int64_t, 2> split_indices;

  friend bool operator==(const SplitConfig&, const SplitConfig&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const SplitConfig& split) {
    return H::combine(std::move(h), split.dimension, split.split_indices);
  }
};

// How an array lies in memory. A plain value.
struct Layout {
  // Dimension numbers, the fastest varying first.
  DimensionVector minor_to_major;
  absl::InlinedVector<Tile, 2> tiles;
  std::vector<SplitConfig> split_configs;
  // The array is padded to a multiple of this; XLA writes 1 for "no padding".
  int64_t tail_padding_alignment_in_elements = 1;
  // 0: the size of the element type.
  int64_t element_size_in_bits = 0;
  // Set by the backend; on a TPU 0 is HBM and 1 is VMEM.
  int64_t memory_space = 0;
  int64_t dynamic_shape_metadata_prefix_bytes = 0;
  // Types of the indices and pointers of a sparse array; PRIMITIVE_TYPE_INVALID if not given.
  proto::PrimitiveType index_primitive_type = proto::PRIMITIVE_TYPE_INVALID;
  proto::PrimitiveType pointer_primitive_type = proto::PRIMITIVE_TYPE_INVALID;

  // The layout {n-1, ..., 1, 0}: the last dimension varies fastest.
  static Layout Default(int64_t rank);

  static Layout FromProto(const proto::LayoutProto& proto);
  void ToProto(proto::LayoutProto* proto) const;

  // The text form with its braces, for instance "{1,0:T(8,128)(2,1)S(1)}".
  std::string ToString() const;
  void AppendTo(std::string* out) const;

  friend bool operator==(const Layout&, const Layout&) = default;
  template <typename H>
  friend H AbslHashValue(H h, const Layout& layout) {
    return H::combine(std::move(h), layout.minor_to_major, layout.tiles, layout.split_configs,
                      layout.tail_padding_alignment_in_elements, layout.element_size_in_bits,
                      layout.memory_space, layout.dynamic_shape_metadata_prefix_bytes,
                      layout.index_primitive_type, layout.pointer_primitive_type);
  }
};

}  // namespace autotune

#endif  // AUTOTUNE_HLO_LAYOUT_H_
