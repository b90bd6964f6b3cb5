#include "hlo/sharding_subgroups.h"

#include <algorithm>
#include <utility>

namespace autotune {
namespace {

using Sharding = proto::OpSharding;

void AssignmentToProto(const TileAssignment& tiles, Sharding* sharding) {
  sharding->set_type(Sharding::OTHER);
  const auto add = [](const std::vector<int64_t>& from, auto* to) {
    for (const int64_t value : from) to->Add(static_cast<int>(value));
  };
  sharding->mutable_tile_assignment_dimensions()->Add(tiles.dimensions.begin(),
                                                      tiles.dimensions.end());
  sharding->mutable_tile_assignment_devices()->Add(tiles.devices.begin(), tiles.devices.end());
  sharding->mutable_iota_reshape_dims()->Add(tiles.reshape.begin(), tiles.reshape.end());
  add(tiles.permutation, sharding->mutable_iota_transpose_perm());
}

// Replication over the last dimension: nothing is left of it if it is trivial, and listed groups
// are sorted, since their order says nothing.
void PartialTile(TileAssignment tiles, Sharding* sharding) {
  const int64_t last = tiles.dimensions.back();
  if (tiles.dimensions.size() == 1 || last == tiles.size()) {
    sharding->set_type(Sharding::REPLICATED);
    return;
  }
  if (last == 1) {
    tiles.dimensions.pop_back();
    AssignmentToProto(tiles, sharding);
    return;
  }
  if (tiles.IsRange() && !tiles.SortGroups(last)) tiles.Materialize();
  for (auto it = tiles.devices.begin(); it != tiles.devices.end(); it += last) {
    std::sort(it, it + last);
  }
  AssignmentToProto(tiles, sharding);
  sharding->set_replicate_on_last_tile_dim(true);
}

// Replicated groups last, the others by number.
bool TypeLess(Sharding::Type a, Sharding::Type b) {
  const bool a_last = a == Sharding::REPLICATED;
  const bool b_last = b == Sharding::REPLICATED;
  return a_last != b_last ? b_last : a < b;
}

// Merges the last dimensions that have the same type and puts the types in order.
void MergeTypes(TileAssignment* tiles, std::vector<Sharding::Type>* types) {
  const size_t data = tiles->dimensions.size() - types->size();
  bool needed = false;
  std::vector<Sharding::Type> merged;
  for (size_t i = 0; i < types->size(); ++i) {
    const bool known = std::find(merged.begin(), merged.end(), (*types)[i]) != merged.end();
    if (known || tiles->dimensions[data + i] == 1) {
      needed = true;
    } else {
      merged.push_back((*types)[i]);
    }
  }
  if (!needed && merged.size() <= 1) return;
  std::sort(merged.begin(), merged.end(), TypeLess);
  std::vector<int64_t> order;
  std::vector<int64_t> shape;
  for (size_t i = 0; i < data; ++i) {
    order.push_back(static_cast<int64_t>(i));
    shape.push_back(tiles->dimensions[i]);
  }
  for (const Sharding::Type type : merged) {
    int64_t size = 1;
    for (size_t i = 0; i < types->size(); ++i) {
      if ((*types)[i] != type || tiles->dimensions[data + i] == 1) continue;
      order.push_back(static_cast<int64_t>(data + i));
      size *= tiles->dimensions[data + i];
    }
    shape.push_back(size);
  }
  for (size_t i = 0; i < types->size(); ++i) {
    if (tiles->dimensions[data + i] == 1) order.push_back(static_cast<int64_t>(data + i));
  }
  tiles->Transpose(order);
  tiles->dimensions = std::move(shape);
  *types = std::move(merged);
}

}  // namespace

bool ProductOf(absl::Span<const int64_t> values, int64_t* product) {
  *product = 1;
  for (const int64_t value : values) {
    if (value <= 0 || __builtin_mul_overflow(*product, value, product)) return false;
  }
  return true;
}

void TiledShardingToProto(TileAssignment tiles, std::vector<Sharding::Type> types,
                          Sharding* sharding) {
  if (types.empty()) return AssignmentToProto(tiles, sharding);
  const auto data =
      absl::MakeConstSpan(tiles.dimensions).first(tiles.dimensions.size() - types.size());
  int64_t data_tiles;
  const bool uniform = std::all_of(types.begin(), types.end(),
                                   [&](Sharding::Type type) { return type == types[0]; });
  if (uniform && ProductOf(data, &data_tiles) && data_tiles == 1 && types[0] != Sharding::MAXIMAL) {
    sharding->set_type(types[0]);
    return;
  }
  MergeTypes(&tiles, &types);
  if (types.size() == 1 && types[0] == Sharding::REPLICATED) {
    return PartialTile(std::move(tiles), sharding);
  }
  if (types.size() == 1 && tiles.size() == tiles.dimensions.back() &&
      types[0] == Sharding::MANUAL) {
    sharding->set_type(Sharding::MANUAL);
    return;
  }
  if (!types.empty() && types.back() == Sharding::REPLICATED) {
    PartialTile(std::move(tiles), sharding);
    sharding->set_replicate_on_last_tile_dim(false);
  } else {
    AssignmentToProto(tiles, sharding);
  }
  for (const Sharding::Type type : types) sharding->add_last_tile_dims(type);
}

}  // namespace autotune
