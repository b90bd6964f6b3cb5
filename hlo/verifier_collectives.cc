// Operations between devices: results follow from operands and the size of the groups.

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "hlo/shape_rules.h"
#include "hlo/verifier_rules.h"

namespace autotune::verifier_rules {
namespace {

using shape_rules::ExtentsAgree;
using shape_rules::Invalid;
using shape_rules::TypesAgree;

// Part `i` of the result: the result itself with one operand, an element of the tuple with more.
const Shape* ResultPart(const Shape& result, int64_t operands, int64_t i) {
  if (result.IsArray()) return operands == 1 ? &result : nullptr;
  if (static_cast<int64_t>(result.tuple_shapes().size()) != operands) return nullptr;
  return &result.tuple_shapes(i);
}

// Each part of the result has its operand's shape but along `dimension`, where `scale_up` says
// whether the result is a multiple of the operand or the other way round; -1 for no such dimension.
absl::Status CheckParts(const HloInstruction& instruction, const Shape& result, int64_t dimension,
                        bool scale_up) {
  for (int64_t i = 0; i < instruction.operand_count(); ++i) {
    const Shape& operand = instruction.operand(i).shape();
    const Shape* part = ResultPart(result, instruction.operand_count(), i);
    bool fits = part != nullptr && operand.IsArray() && part->IsArray() &&
                part->rank() == operand.rank() &&
                TypesAgree(part->element_type(), operand.element_type());
    for (int64_t d = 0; fits && d < operand.rank(); ++d) {
      const int64_t from = operand.dimensions(d);
      const int64_t to = part->dimensions(d);
      if (d == dimension && !ExtentsAgree(from, to)) {
        const int64_t small = scale_up ? from : to;
        const int64_t large = scale_up ? to : from;
        fits = small > 0 && large % small == 0;
      } else {
        fits = ExtentsAgree(from, to);
      }
    }
    if (!fits) {
      return Invalid(instruction.opcode_name(), " of ", operand.ToString(false), " cannot give ",
                     result.ToString(false));
    }
  }
  return absl::OkStatus();
}

absl::Status CheckDimension(const HloInstruction& instruction, int64_t dimension) {
  for (const HloInstruction* operand : instruction.operands()) {
    if (dimension >= 0 && dimension < operand->shape().rank()) continue;
    return Invalid("dimension ", dimension, " is out of range for ",
                   operand->shape().ToString(false));
  }
  return absl::OkStatus();
}

using Groups = google::protobuf::RepeatedPtrField<proto::ReplicaGroup>;

// Groups name the devices from 0 on, each once. `uniform` asks for groups of one size.
absl::Status CheckGroups(const Groups& groups, bool uniform) {
  int64_t count = 0;
  for (const proto::ReplicaGroup& group : groups) {
    if (group.replica_ids().empty()) return Invalid("replica_groups has an empty group");
    if (uniform && group.replica_ids_size() != groups[0].replica_ids_size()) {
      return Invalid("the groups of replica_groups have different sizes");
    }
    count += group.replica_ids_size();
  }
  std::vector<bool> seen(static_cast<size_t>(count), false);
  for (const proto::ReplicaGroup& group : groups) {
    for (int64_t id : group.replica_ids()) {
      if (id < 0 || id >= count) {
        return Invalid("replica_groups names device ", id, ", but has ", count, " devices");
      }
      if (seen[static_cast<size_t>(id)]) {
        return Invalid("replica_groups names device ", id, " twice");
      }
      seen[static_cast<size_t>(id)] = true;
    }
  }
  return absl::OkStatus();
}

absl::Status CheckReplicaGroups(const HloInstruction& instruction) {
  const proto::HloInstructionProto& attributes = instruction.attributes();
  const bool uniform = instruction.opcode() != HloOpcode::kAllReduce &&
                       instruction.opcode() != HloOpcode::kAllReduceStart &&
                       instruction.opcode() != HloOpcode::kCollectiveBroadcast;
  const Groups& groups = attributes.collective_device_list().replica_groups();
  AUTOTUNE_RETURN_IF_ERROR(CheckGroups(groups, uniform));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  // The field that programs before 2025 have; reading it is no mistake.
  const Groups& old_groups = attributes.replica_groups();
#pragma GCC diagnostic pop
  AUTOTUNE_RETURN_IF_ERROR(CheckGroups(old_groups, uniform));
  const bool listed = attributes.has_iota_collective_device_list() ||
                      attributes.has_mesh_axes_replica_group_list() || !groups.empty() ||
                      !old_groups.empty();
  if (listed || !attributes.use_global_device_ids()) return absl::OkStatus();
  return Invalid("use_global_device_ids=true needs replica_groups that are not empty");
}

// How often a device may be a source or a target: once for each slice that is moved in place.
int64_t SlicesMoved(const HloInstruction& permute) {
  if (permute.operand_count() != 4) return 1;
  const Shape* starts = &permute.operand(2).shape();
  if (!permute.operand(0).shape().IsArray() && starts->IsTuple() &&
      !starts->tuple_shapes().empty()) {
    starts = &starts->tuple_shapes(0);
  }
  return std::max<int64_t>(1, static_cast<int64_t>(starts->tuple_shapes().size()));
}

absl::Status CheckSourceTargetPairs(const HloInstruction& permute) {
  const int64_t allowed = SlicesMoved(permute);
  const absl::string_view too_often = allowed == 1 ? "twice" : "more often than it has slices";
  absl::flat_hash_map<int64_t, int64_t> sources, targets;
  for (const auto& pair : permute.attributes().source_target_pairs()) {
    if (pair.source() < 0 || pair.target() < 0) {
      return Invalid("source_target_pairs names device ", std::min(pair.source(), pair.target()));
    }
    if (++sources[pair.source()] > allowed) {
      return Invalid("device ", pair.source(), " is a source ", too_often);
    }
    if (++targets[pair.target()] > allowed) {
      return Invalid("device ", pair.target(), " is a target ", too_often);
    }
  }
  return absl::OkStatus();
}

int64_t OnlyDimension(const HloInstruction& instruction) {
  return instruction.dimensions().empty() ? 0 : instruction.dimensions()[0];
}

absl::Status CheckAllToAll(const HloInstruction& instruction) {
  // In tuple form parts are exchanged whole; in array form extents within the array are.
  return CheckParts(instruction, instruction.shape(), -1, true);
}

}  // namespace

absl::Status CheckCollective(const HloInstruction& instruction) {
  AUTOTUNE_RETURN_IF_ERROR(CheckReplicaGroups(instruction));
  switch (instruction.opcode()) {
    case HloOpcode::kAllReduce:
    case HloOpcode::kAllReduceStart:
    case HloOpcode::kCollectiveBroadcast:
      return CheckParts(instruction, instruction.shape(), -1, true);
    case HloOpcode::kAllGather:
      AUTOTUNE_RETURN_IF_ERROR(CheckDimension(instruction, OnlyDimension(instruction)));
      return CheckParts(instruction, instruction.shape(), OnlyDimension(instruction), true);
    case HloOpcode::kReduceScatter:
      AUTOTUNE_RETURN_IF_ERROR(CheckDimension(instruction, OnlyDimension(instruction)));
      return CheckParts(instruction, instruction.shape(), OnlyDimension(instruction), false);
    case HloOpcode::kAllToAll:
      if (!instruction.dimensions().empty() && instruction.shape().IsArray()) {
        return CheckDimension(instruction, instruction.dimensions()[0]);
      }
      return CheckAllToAll(instruction);
    case HloOpcode::kCollectivePermute:
      AUTOTUNE_RETURN_IF_ERROR(CheckSourceTargetPairs(instruction));
      // With four operands it writes into a buffer that it is given.
      if (instruction.operand_count() == 4) return absl::OkStatus();
      return CheckParts(instruction, instruction.shape(), -1, true);
    case HloOpcode::kCollectivePermuteStart:
      return CheckSourceTargetPairs(instruction);
    default:
      return absl::OkStatus();
  }
}

}  // namespace autotune::verifier_rules
