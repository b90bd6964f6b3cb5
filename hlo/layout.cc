#include "hlo/layout.h"

#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "hlo/element_type.h"

namespace autotune {
namespace {

template <typename Values>
void AppendJoined(const Values& values, std::string* out) {
  bool first = true;
  for (const int64_t value : values) {
    if (!first) out->push_back(',');
    first = false;
    absl::StrAppend(out, value);
  }
}

void AppendTile(const Tile& tile, std::string* out) {
  out->push_back('(');
  bool first = true;
  for (const int64_t extent : tile.dimensions) {
    if (!first) out->push_back(',');
    first = false;
    if (extent == Tile::kCombineDimension) {
      out->push_back('*');
    } else {
      absl::StrAppend(out, extent);
    }
  }
  out->push_back(')');
}

void AppendSplit(const SplitConfig& split, std::string* out) {
  absl::StrAppend(out, "(", split.dimension, ":");
  AppendJoined(split.split_indices, out);
  out->push_back(')');
}

}  // namespace

Layout Layout::Default(int64_t rank) {
  Layout layout;
  layout.minor_to_major.resize(static_cast<size_t>(rank));
  for (int64_t i = 0; i < rank; ++i) layout.minor_to_major[static_cast<size_t>(i)] = rank - 1 - i;
  return layout;
}

Layout Layout::FromProto(const proto::LayoutProto& proto) {
  Layout layout;
  layout.minor_to_major.assign(proto.minor_to_major().begin(), proto.minor_to_major().end());
  for (const proto::TileProto& tile : proto.tiles()) {
    layout.tiles.emplace_back().dimensions.assign(tile.dimensions().begin(),
                                                  tile.dimensions().end());
  }
  for (const proto::SplitConfigProto& split : proto.split_configs()) {
    SplitConfig& config = layout.split_configs.emplace_back();
    config.dimension = split.dimension();
    config.split_indices.assign(split.split_indices().begin(), split.split_indices().end());
  }
  if (proto.tail_padding_alignment_in_elements() != 0) {
    layout.tail_padding_alignment_in_elements = proto.tail_padding_alignment_in_elements();
  }
  layout.element_size_in_bits = proto.element_size_in_bits();
  layout.memory_space = proto.memory_space();
  layout.dynamic_shape_metadata_prefix_bytes = proto.dynamic_shape_metadata_prefix_bytes();
  layout.index_primitive_type = proto.index_primitive_type();
  layout.pointer_primitive_type = proto.pointer_primitive_type();
  return layout;
}

void Layout::ToProto(proto::LayoutProto* proto) const {
  proto->mutable_minor_to_major()->Add(minor_to_major.begin(), minor_to_major.end());
  for (const Tile& tile : tiles) {
    proto->add_tiles()->mutable_dimensions()->Add(tile.dimensions.begin(), tile.dimensions.end());
  }
  for (const SplitConfig& split : split_configs) {
    proto::SplitConfigProto* config = proto->add_split_configs();
    config->set_dimension(split.dimension);
    config->mutable_split_indices()->Add(split.split_indices.begin(), split.split_indices.end());
  }
  proto->set_tail_padding_alignment_in_elements(tail_padding_alignment_in_elements);
  proto->set_element_size_in_bits(element_size_in_bits);
  proto->set_memory_space(memory_space);
  proto->set_dynamic_shape_metadata_prefix_bytes(dynamic_shape_metadata_prefix_bytes);
  proto->set_index_primitive_type(index_primitive_type);
  proto->set_pointer_primitive_type(pointer_primitive_type);
}

void Layout::AppendTo(std::string* out) const {
  out->push_back('{');
  AppendJoined(minor_to_major, out);
  const size_t bare = out->size();
  out->push_back(':');
  if (!tiles.empty()) {
    out->push_back('T');
    for (const Tile& tile : tiles) AppendTile(tile, out);
  }
  if (tail_padding_alignment_in_elements != 1) {
    absl::StrAppend(out, "L(", tail_padding_alignment_in_elements, ")");
  }
  if (index_primitive_type != proto::PRIMITIVE_TYPE_INVALID) {
    absl::StrAppend(out, "#(", ElementTypeName(index_primitive_type), ")");
  }
  if (pointer_primitive_type != proto::PRIMITIVE_TYPE_INVALID) {
    absl::StrAppend(out, "*(", ElementTypeName(pointer_primitive_type), ")");
  }
  if (element_size_in_bits != 0) absl::StrAppend(out, "E(", element_size_in_bits, ")");
  if (memory_space != 0) absl::StrAppend(out, "S(", memory_space, ")");
  if (!split_configs.empty()) {
    out->append("SC");
    for (const SplitConfig& split : split_configs) AppendSplit(split, out);
  }
  if (dynamic_shape_metadata_prefix_bytes != 0) {
    absl::StrAppend(out, "M(", dynamic_shape_metadata_prefix_bytes, ")");
  }
  if (out->size() == bare + 1) out->pop_back();
  out->push_back('}');
}

std::string Layout::ToString() const {
  std::string out;
  AppendTo(&out);
  return out;
}

}  // namespace autotune
