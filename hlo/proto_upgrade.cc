#include "hlo/proto_upgrade.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "hlo/element_type.h"
#include "hlo/name_uniquer.h"
#include "hlo/opcode.h"
#include "hlo/shape.h"
#include "hlo/shape_validation.h"
#include "hlo/unknown_fields.h"

namespace autotune {
namespace {

using Instruction = proto::HloInstructionProto;
using Computation = proto::HloComputationProto;
using Ids = google::protobuf::RepeatedField<int64_t>;

// Today's id of an instruction: that of its computation above 32 bits of its own.
int64_t TodaysId(int64_t computation, int64_t id) {
  constexpr uint64_t kOwnBits = 0xffffffff;
  return static_cast<int64_t>(static_cast<uint64_t>(computation) << 32 |
                              (static_cast<uint64_t>(id) & kOwnBits));
}

void Renumber(int64_t computation, Ids* ids) {
  for (int64_t& id : *ids) id = TodaysId(computation, id);
}

// Leaves the ids alone if two instructions would get the same.
void UpgradeIds(Computation* computation, proto::HloModuleProto* module) {
  absl::flat_hash_set<int64_t> seen;
  for (const Instruction& i : computation->instructions()) {
    if (i.id() < 0 || !seen.insert(TodaysId(computation->id(), i.id())).second) return;
  }
  for (Instruction& i : *computation->mutable_instructions()) {
    i.set_id(TodaysId(computation->id(), i.id()));
    Renumber(computation->id(), i.mutable_operand_ids());
    Renumber(computation->id(), i.mutable_control_predecessor_ids());
  }
  computation->set_root_id(TodaysId(computation->id(), computation->root_id()));
  if (!module->has_schedule()) return;
  auto& sequences = *module->mutable_schedule()->mutable_sequences();
  const auto sequence = sequences.find(computation->id());
  if (sequence != sequences.end()) {
    Renumber(computation->id(), sequence->second.mutable_instruction_ids());
  }
}

// Before 2025 the groups were a field of the instruction.
void UpgradeReplicaGroups(Instruction* i) {
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wdeprecated-declarations"
  if (i->replica_groups().empty()) return;
  if (i->replica_group_list_case() == Instruction::REPLICA_GROUP_LIST_NOT_SET) {
    i->mutable_collective_device_list()->mutable_replica_groups()->Swap(
        i->mutable_replica_groups());
  }
  i->clear_replica_groups();
#pragma GCC diagnostic pop
}

void SetPrecisions(Instruction* i, int operands) {
  auto* precisions = i->mutable_precision_config()->mutable_operand_precision();
  if (precisions->size() > operands) precisions->Truncate(operands);
  while (precisions->size() < operands) precisions->Add(proto::PrecisionConfig::DEFAULT);
}

void SetGroupCounts(Instruction* i) {
  i->set_feature_group_count(std::max<int64_t>(1, i->feature_group_count()));
  i->set_batch_group_count(std::max<int64_t>(1, i->batch_group_count()));
}

absl::string_view ComparisonType(ElementType type) {
  if (IsFloating(type) || IsComplex(type)) return "FLOAT";
  return IsSignedIntegral(type) ? "SIGNED" : "UNSIGNED";
}

void UpgradeAttributes(Instruction* i, HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kConvolution:
      i->mutable_window();
      i->mutable_sparsity_config();
      SetGroupCounts(i);
      return SetPrecisions(i, i->operand_ids_size());
    case HloOpcode::kCustomCall:
      SetGroupCounts(i);
      return SetPrecisions(i, i->operand_ids_size());
    case HloOpcode::kDot:
    case HloOpcode::kRaggedDot:
      return SetPrecisions(i, 2);
    default:
      if (IsCollective(opcode)) UpgradeReplicaGroups(i);
  }
}

void UpgradeComparisons(Computation* computation) {
  absl::flat_hash_map<int64_t, ElementType> types;
  for (Instruction& i : *computation->mutable_instructions()) {
    if (i.opcode() == HloOpcodeName(HloOpcode::kCompare) && i.comparison_type().empty() &&
        !i.operand_ids().empty()) {
      if (types.empty()) {
        for (const Instruction& any : computation->instructions()) {
          types.emplace(any.id(), any.shape().element_type());
        }
      }
      const auto type = types.find(i.operand_ids(0));
      if (type != types.end()) i.set_comparison_type(std::string(ComparisonType(type->second)));
    }
  }
}

bool NeedsNewName(const std::string& name) { return !name.empty() && !IsSanitizedName(name); }

// A shape that is wrong stays as it is, for the reader to say so.
void UpgradeShape(proto::ShapeProto* proto) {
  const Shape shape = Shape::FromProto(*proto);
  if (!ValidateShape(shape).ok()) return;
  proto::ShapeProto upgraded;
  shape.ToProto(&upgraded);
  CarryUnknownFields(*proto, &upgraded);
  *proto = std::move(upgraded);
}

}  // namespace

void UpgradeModuleProto(proto::HloModuleProto* module) {
  for (Computation& computation : *module->mutable_computations()) {
    if (NeedsNewName(computation.name())) computation.set_name(SanitizedName(computation.name()));
    // One pass over all of them, which are more than a cache holds; what is rare has its own.
    bool old_ids = false;
    bool old_comparisons = false;
    for (Instruction& i : *computation.mutable_instructions()) {
      if (NeedsNewName(i.name())) i.set_name(SanitizedName(i.name()));
      old_ids |= i.id() != TodaysId(computation.id(), i.id());
      if (i.has_literal()) UpgradeShape(i.mutable_literal()->mutable_shape());
      const HloOpcode opcode = HloOpcodeFromName(i.opcode()).value_or(HloOpcode::kUnknown);
      old_comparisons |= opcode == HloOpcode::kCompare && i.comparison_type().empty();
      UpgradeAttributes(&i, opcode);
    }
    if (old_ids) UpgradeIds(&computation, module);
    if (old_comparisons) UpgradeComparisons(&computation);
  }
  if (NeedsNewName(module->entry_computation_name())) {
    module->set_entry_computation_name(SanitizedName(module->entry_computation_name()));
  }
  if (!module->has_host_program_shape()) return;
  proto::ProgramShapeProto* entry = module->mutable_host_program_shape();
  for (proto::ShapeProto& parameter : *entry->mutable_parameters()) UpgradeShape(&parameter);
  if (entry->has_result()) UpgradeShape(entry->mutable_result());
}

}  // namespace autotune
