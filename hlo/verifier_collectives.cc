// Operations between devices: results follow from operands and the size of the groups.

#include <algorithm>
#include <vector>

#include "absl/container/flat_hash_set.h"
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

absl::Status CheckGroups(const google::protobuf::RepeatedPtrField<proto::ReplicaGroup>& groups) {
  absl::flat_hash_set<int64_t> seen;
  for (const proto::ReplicaGroup& group : groups) {
    for (int64_t id : group.replica_ids()) {
      if (id < 0) return Invalid("replica_groups names device ", id);
      if (!seen.insert(id).second) return Invalid("replica_groups names device ", id, " twice");
    }
  }
  return absl::OkStatus();
}

absl::Status CheckReplicaGroups(const proto::HloInstructionProto& attributes) {
  AUTOTUNE_RETURN_IF_ERROR(CheckGroups(attributes.collective_device_list().replica_groups()));
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  // The field that programs before 2025 have; reading it is no mistake.
  return CheckGroups(attributes.replica_groups());
#pragma GCC diagnostic pop
}

absl::Status CheckSourceTargetPairs(const proto::HloInstructionProto& attributes) {
  absl::flat_hash_set<int64_t> sources, targets;
  for (const auto& pair : attributes.source_target_pairs()) {
    if (!sources.insert(pair.source()).second) {
      return Invalid("device ", pair.source(), " is a source twice");
    }
    if (!targets.insert(pair.target()).second) {
      return Invalid("device ", pair.target(), " is a target twice");
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
  AUTOTUNE_RETURN_IF_ERROR(CheckReplicaGroups(instruction.attributes()));
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
      AUTOTUNE_RETURN_IF_ERROR(CheckSourceTargetPairs(instruction.attributes()));
      // With four operands it writes into a buffer that it is given.
      if (instruction.operand_count() == 4) return absl::OkStatus();
      return CheckParts(instruction, instruction.shape(), -1, true);
    case HloOpcode::kCollectivePermuteStart:
      return CheckSourceTargetPairs(instruction.attributes());
    default:
      return absl::OkStatus();
  }
}

}  // namespace autotune::verifier_rules
