// Shardings against the shapes that they split, and against each other in loops and branches.

#include <algorithm>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "hlo/computation.h"
#include "hlo/int_math.h"
#include "hlo/shape_rules.h"
#include "hlo/sharding_subgroups.h"
#include "hlo/tile_assignment.h"
#include "hlo/verifier_rules.h"

namespace autotune::verifier_rules {
namespace {

using proto::OpSharding;
using shape_rules::Invalid;

absl::Status CheckRank(int64_t tiled, const Shape& shape) {
  if (tiled == shape.rank()) return absl::OkStatus();
  return Invalid("the sharding splits ", tiled, " dimension(s) of ", shape.ToString(false));
}

absl::Status CheckNamed(const proto::NamedShardingProto& named, const Shape& shape) {
  const proto::MeshProto& mesh = named.mesh();
  if (mesh.axes().empty() && mesh.device_ids_size() == 1) {
    if (mesh.device_ids(0) >= 0) return absl::OkStatus();
    return Invalid("the sharding names device ", mesh.device_ids(0));
  }
  bool splits = false;
  for (const auto& dimension : named.dim_shardings()) splits |= !dimension.axes().empty();
  const bool whole_mesh = named.manual_axes_size() == mesh.axes_size() ||
                          named.unreduced_axes_size() == mesh.axes_size();
  if (!splits && (whole_mesh || (named.manual_axes().empty() && named.unreduced_axes().empty()))) {
    return absl::OkStatus();
  }
  return CheckRank(named.dim_shardings_size(), shape);
}

absl::Status CheckTiles(const OpSharding& sharding, const Shape& shape) {
  int64_t devices = 1;
  for (const int64_t extent : sharding.tile_assignment_dimensions()) {
    devices = SaturatingMultiply(devices, extent);
  }
  if (devices == 1) return Invalid("a sharding that splits over one device must be {replicated}");
  AUTOTUNE_RETURN_IF_ERROR(CheckRank(sharding.tile_assignment_dimensions_size() -
                                         sharding.last_tile_dims_size() -
                                         (sharding.replicate_on_last_tile_dim() ? 1 : 0),
                                     shape));
  absl::flat_hash_set<int64_t> seen;
  for (const int64_t device : sharding.tile_assignment_devices()) {
    if (device < 0) return Invalid("the sharding names device ", device);
    if (!seen.insert(device).second) return Invalid("the sharding names device ", device, " twice");
  }
  return absl::OkStatus();
}

// A sharding of what is no tuple.
absl::Status CheckLeaf(const OpSharding& sharding, const Shape& shape) {
  if (shape.IsTuple()) return Invalid("the sharding of a tuple must be a tuple");
  if (sharding.has_named_sharding()) return CheckNamed(sharding.named_sharding(), shape);
  if (sharding.type() == OpSharding::OTHER) return CheckTiles(sharding, shape);
  if (sharding.type() != OpSharding::MAXIMAL) return absl::OkStatus();
  if (sharding.tile_assignment_devices_size() != 1) {
    return Invalid("a maximal sharding names one device, not ",
                   sharding.tile_assignment_devices_size());
  }
  if (sharding.tile_assignment_devices(0) >= 0) return absl::OkStatus();
  return Invalid("the sharding names device ", sharding.tile_assignment_devices(0));
}

// Checks the leaves of `shape` against the shardings from *next on. Nesting is capped by Shape.
absl::Status CheckLeaves(const OpSharding& sharding, const Shape& shape, int* next) {
  if (!shape.IsTuple()) return CheckLeaf(sharding.tuple_shardings((*next)++), shape);
  for (const Shape& part : shape.tuple_shapes()) {
    AUTOTUNE_RETURN_IF_ERROR(CheckLeaves(sharding, part, next));
  }
  return absl::OkStatus();
}

// Whether a range from a protobuf, which may hold anything, is sound and not too long.
bool IsListableRange(const TileAssignment& tiles) {
  constexpr int64_t kLargestList = 1 << 20;
  int64_t devices, range;
  if (tiles.reshape.empty() || tiles.permutation.size() != tiles.reshape.size()) return false;
  if (!ProductOf(tiles.dimensions, &devices) || !ProductOf(tiles.reshape, &range)) return false;
  if (range != devices || range > kLargestList) return false;
  std::vector<int64_t> sorted = tiles.permutation;
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] != static_cast<int64_t>(i)) return false;
  }
  return true;
}

// Equal for shardings that mean the same: a range of devices is listed, metadata are left out.
std::string Key(const OpSharding& sharding) {
  OpSharding plain = sharding;
  plain.clear_metadata();
  plain.mutable_named_sharding()->clear_metadata();
  if (!sharding.has_named_sharding()) plain.clear_named_sharding();
  for (OpSharding& part : *plain.mutable_tuple_shardings()) part.clear_metadata();
  TileAssignment tiles;
  tiles.dimensions.assign(plain.tile_assignment_dimensions().begin(),
                          plain.tile_assignment_dimensions().end());
  tiles.reshape.assign(plain.iota_reshape_dims().begin(), plain.iota_reshape_dims().end());
  tiles.permutation.assign(plain.iota_transpose_perm().begin(), plain.iota_transpose_perm().end());
  if (IsListableRange(tiles)) {
    tiles.Materialize();
    plain.mutable_tile_assignment_devices()->Assign(tiles.devices.begin(), tiles.devices.end());
    plain.clear_iota_reshape_dims();
    plain.clear_iota_transpose_perm();
  }
  return plain.SerializeAsString();
}

absl::Status CheckConsistent(const HloInstruction& caller,
                             const std::vector<const HloInstruction*>& all) {
  const HloInstruction* first = nullptr;
  for (const HloInstruction* instruction : all) {
    if (!instruction->attributes().has_sharding()) continue;
    if (first == nullptr) {
      first = instruction;
    } else if (Key(first->attributes().sharding()) != Key(instruction->attributes().sharding())) {
      return Invalid("the shardings of '", first->name(), "' and '", instruction->name(),
                     "' differ; a ", caller.opcode_name(), " passes one on to the other");
    }
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status CheckSharding(const HloInstruction& instruction) {
  if (instruction.opcode() == HloOpcode::kWhile) {
    const HloComputation& body = *instruction.called_computations()[0];
    const HloComputation& condition = *instruction.called_computations()[1];
    AUTOTUNE_RETURN_IF_ERROR(CheckConsistent(
        instruction,
        {&instruction, &body.root(), body.parameters()[0], condition.parameters()[0]}));
  } else if (instruction.opcode() == HloOpcode::kConditional) {
    std::vector<const HloInstruction*> all = {&instruction};
    for (const HloComputation* branch : instruction.called_computations()) {
      all.push_back(&branch->root());
    }
    AUTOTUNE_RETURN_IF_ERROR(CheckConsistent(instruction, all));
  }
  if (!instruction.attributes().has_sharding()) return absl::OkStatus();
  const Shape& shape = instruction.shape();
  const OpSharding& sharding = instruction.attributes().sharding();
  if (shape.element_type() == proto::TOKEN) return absl::OkStatus();
  if (sharding.type() != OpSharding::TUPLE) return CheckLeaf(sharding, shape);
  if (!shape.IsTuple()) {
    return Invalid("the sharding is that of a tuple, but the value is ", shape.ToString(false));
  }
  const int64_t leaves = shape.LeafCount();
  if (leaves == 0 && sharding.tuple_shardings_size() <= 1) return absl::OkStatus();
  if (leaves != sharding.tuple_shardings_size()) {
    return Invalid("the sharding has ", sharding.tuple_shardings_size(), " part(s), the value ",
                   leaves);
  }
  int next = 0;
  return CheckLeaves(sharding, shape, &next);
}

}  // namespace autotune::verifier_rules
