// Operations between devices: results follow from operands and the size of the groups.

#include <algorithm>
#include <vector>

#include "hlo/computation.h"
#include "hlo/int_math.h"
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

// The groups of a collective, in whatever form they are given.
struct GroupSizes {
  bool listed = false;
  int64_t devices = 0;     // in all groups; 0 if that is not known
  int64_t first_size = 0;  // of the first group; 0 if that is not known
};

GroupSizes SizesOf(const Groups& groups) {
  GroupSizes sizes = {!groups.empty(), 0, groups.empty() ? 0 : groups[0].replica_ids_size()};
  for (const proto::ReplicaGroup& group : groups) sizes.devices += group.replica_ids_size();
  return sizes;
}

GroupSizes SizesOf(const proto::HloInstructionProto& attributes) {
  if (attributes.has_iota_collective_device_list()) {
    const auto& range = attributes.iota_collective_device_list();
    return {true, SaturatingMultiply(range.num_replica_groups(), range.num_devices_per_group()),
            range.num_devices_per_group()};
  }
  if (attributes.has_mesh_axes_replica_group_list()) return {true, 0, 0};
  if (!attributes.collective_device_list().replica_groups().empty()) {
    return SizesOf(attributes.collective_device_list().replica_groups());
  }
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  // The field that programs before 2025 have; reading it is no mistake.
  return SizesOf(attributes.replica_groups());
#pragma GCC diagnostic pop
}

absl::Status CheckReplicaGroups(const HloInstruction& instruction) {
  if (instruction.opcode() == HloOpcode::kCollectiveBroadcast) return absl::OkStatus();
  const proto::HloInstructionProto& attributes = instruction.attributes();
  const bool uniform = instruction.opcode() != HloOpcode::kAllReduce &&
                       instruction.opcode() != HloOpcode::kAllReduceStart;
  AUTOTUNE_RETURN_IF_ERROR(
      CheckGroups(attributes.collective_device_list().replica_groups(), uniform));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  AUTOTUNE_RETURN_IF_ERROR(CheckGroups(attributes.replica_groups(), uniform));
#pragma GCC diagnostic pop
  const GroupSizes sizes = SizesOf(attributes);
  if (!sizes.listed && attributes.use_global_device_ids()) {
    return Invalid("use_global_device_ids=true needs replica_groups that are not empty");
  }
  const int64_t devices = DevicesOf(instruction);
  if (sizes.devices == 0 || devices == 1 || sizes.devices == devices) return absl::OkStatus();
  return Invalid("replica_groups has ", sizes.devices, " devices, the module ", devices);
}

// Into how many parts a group splits an array, by its extents along `dimension`; checks that this
// is the size of the group where that is given.
absl::Status CheckShards(const HloInstruction& instruction, const Shape& part, const Shape& whole,
                         int64_t dimension) {
  const int64_t size = SizesOf(instruction.attributes()).first_size;
  if (size <= 1 || instruction.attributes().has_mesh_axes_replica_group_list()) {
    return absl::OkStatus();
  }
  // Replicas of all partitions take part.
  const bool all_partitions = instruction.attributes().channel_id() > 0 &&
                              !instruction.attributes().use_global_device_ids();
  const int64_t shards =
      all_partitions ? SaturatingMultiply(size, instruction.parent().module().num_partitions())
                     : size;
  const int64_t from = part.dimensions(dimension);
  const int64_t to = whole.dimensions(dimension);
  if (from == Shape::kUnbounded || to == Shape::kUnbounded) return absl::OkStatus();
  if (SaturatingMultiply(from, shards) == to) return absl::OkStatus();
  return Invalid(instruction.opcode_name(), " between ", shards, " devices cannot go from extent ",
                 instruction.opcode() == HloOpcode::kReduceScatter ? to : from, " to ",
                 instruction.opcode() == HloOpcode::kReduceScatter ? from : to);
}

int64_t OnlyDimension(const HloInstruction& instruction) {
  return instruction.dimensions().empty() ? 0 : instruction.dimensions()[0];
}

// In tuple form each device of the group gets one of the operands, which are alike; in array form
// the array is split along a dimension.
absl::Status CheckAllToAll(const HloInstruction& instruction) {
  AUTOTUNE_RETURN_IF_ERROR(CheckParts(instruction, instruction.shape(), -1, true));
  const int64_t size = SizesOf(instruction.attributes()).first_size;
  if (!instruction.dimensions().empty()) {
    AUTOTUNE_RETURN_IF_ERROR(CheckDimension(instruction, instruction.dimensions()[0]));
    if (instruction.operand_count() != 1) {
      return Invalid("all-to-all along a dimension takes one operand, got ",
                     instruction.operand_count());
    }
    const int64_t extent = instruction.operand(0).shape().dimensions(instruction.dimensions()[0]);
    if (size == 0 || extent == Shape::kUnbounded || extent % size == 0) return absl::OkStatus();
    return Invalid("all-to-all cannot split extent ", extent, " between ", size, " devices");
  }
  for (const HloInstruction* operand : instruction.operands()) {
    if (operand->shape().IsCompatible(instruction.operand(0).shape())) continue;
    return Invalid(
        "the operands of all-to-all differ: ", instruction.operand(0).shape().ToString(false),
        " and ", operand->shape().ToString(false));
  }
  if (size == 0 || size == instruction.operand_count()) return absl::OkStatus();
  return Invalid("all-to-all between ", size, " devices takes as many operands, got ",
                 instruction.operand_count());
}

// Sizes and offsets are arrays of one shape, of rank 1 or 2; the result is the operand written to.
absl::Status CheckRaggedAllToAll(const HloInstruction& instruction) {
  for (int64_t i = 2; i < instruction.operand_count(); ++i) {
    const Shape& shape = instruction.operand(i).shape();
    if (shape.rank() != 1 && shape.rank() != 2) {
      return Invalid("operand ", i, " of ragged-all-to-all must have rank 1 or 2, is ",
                     shape.ToString(false));
    }
    if (!shape.IsCompatible(instruction.operand(2).shape())) {
      return Invalid("offsets and sizes of ragged-all-to-all differ: ",
                     instruction.operand(2).shape().ToString(false), " and ",
                     shape.ToString(false));
    }
  }
  if (ShapesAgree(instruction.shape(), instruction.operand(1).shape())) return absl::OkStatus();
  return Invalid("declared as ", instruction.shape().ToString(false),
                 ", but ragged-all-to-all gives ", instruction.operand(1).shape().ToString(false));
}

absl::Status CheckAllGather(const HloInstruction& instruction, const Shape& result) {
  const int64_t dimension = OnlyDimension(instruction);
  AUTOTUNE_RETURN_IF_ERROR(CheckDimension(instruction, dimension));
  AUTOTUNE_RETURN_IF_ERROR(CheckParts(instruction, result, dimension, true));
  for (int64_t i = 0; i < instruction.operand_count(); ++i) {
    AUTOTUNE_RETURN_IF_ERROR(CheckShards(instruction, instruction.operand(i).shape(),
                                         *ResultPart(result, instruction.operand_count(), i),
                                         dimension));
  }
  return absl::OkStatus();
}

absl::Status CheckReduceScatter(const HloInstruction& instruction) {
  const int64_t dimension = OnlyDimension(instruction);
  AUTOTUNE_RETURN_IF_ERROR(CheckDimension(instruction, dimension));
  AUTOTUNE_RETURN_IF_ERROR(CheckParts(instruction, instruction.shape(), dimension, false));
  for (int64_t i = 0; i < instruction.operand_count(); ++i) {
    AUTOTUNE_RETURN_IF_ERROR(
        CheckShards(instruction, *ResultPart(instruction.shape(), instruction.operand_count(), i),
                    instruction.operand(i).shape(), dimension));
  }
  return absl::OkStatus();
}

// (operands, results)
absl::Status CheckAllGatherStart(const HloInstruction& start) {
  const Shape& shape = start.shape();
  if (!shape.IsTuple() || shape.tuple_shapes().size() != 2) {
    return Invalid("all-gather-start gives (operands, results), not ", shape.ToString(false));
  }
  return CheckAllGather(start, shape.tuple_shapes(1));
}

absl::Status CheckDone(const HloInstruction& done, const Shape& expected) {
  if (ShapesAgree(done.shape(), expected)) return absl::OkStatus();
  return Invalid("declared as ", done.shape().ToString(false), ", but ", done.opcode_name(),
                 " gives ", expected.ToString(false));
}

// The done of a start that gives (operands, results, ...).
absl::Status CheckDoneOfPair(const HloInstruction& done) {
  const Shape& started = done.operand(0).shape();
  if (started.IsTuple() && started.tuple_shapes().size() > 1) {
    return CheckDone(done, started.tuple_shapes(1));
  }
  return Invalid(done.opcode_name(), " cannot take ", started.ToString(false));
}

}  // namespace

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

int64_t DevicesOf(const HloInstruction& instruction) {
  const HloModule& module = instruction.parent().module();
  const proto::HloInstructionProto& attributes = instruction.attributes();
  if (attributes.use_global_device_ids()) {
    return SaturatingMultiply(module.replica_count(), module.num_partitions());
  }
  const bool between_partitions = instruction.opcode() == HloOpcode::kAllToAll ||
                                  instruction.opcode() == HloOpcode::kRaggedAllToAll ||
                                  instruction.opcode() == HloOpcode::kCollectivePermute ||
                                  instruction.opcode() == HloOpcode::kCollectivePermuteStart;
  return between_partitions && attributes.channel_id() > 0 ? module.num_partitions()
                                                           : module.replica_count();
}

absl::Status CheckCollective(const HloInstruction& instruction) {
  AUTOTUNE_RETURN_IF_ERROR(CheckReplicaGroups(instruction));
  switch (instruction.opcode()) {
    case HloOpcode::kAllReduce:
    case HloOpcode::kAllReduceStart:
    case HloOpcode::kCollectiveBroadcast:
      return CheckParts(instruction, instruction.shape(), -1, true);
    case HloOpcode::kAllGather:
      return CheckAllGather(instruction, instruction.shape());
    case HloOpcode::kAllGatherStart:
      return CheckAllGatherStart(instruction);
    case HloOpcode::kReduceScatter:
      return CheckReduceScatter(instruction);
    case HloOpcode::kAllToAll:
      return CheckAllToAll(instruction);
    case HloOpcode::kRaggedAllToAll:
      return CheckRaggedAllToAll(instruction);
    case HloOpcode::kCollectivePermute:
    case HloOpcode::kCollectivePermuteStart:
      return CheckPermute(instruction);
    case HloOpcode::kAllReduceDone:
      return CheckDone(instruction, instruction.operand(0).shape());
    case HloOpcode::kAllGatherDone:
    case HloOpcode::kCollectivePermuteDone:
      return CheckDoneOfPair(instruction);
    default:
      return absl::OkStatus();
  }
}

}  // namespace autotune::verifier_rules
