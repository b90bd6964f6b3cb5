// What the module says of itself as a whole.

#include <cstdint>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "hlo/shape_rules.h"
#include "hlo/verifier_rules.h"

namespace autotune::verifier_rules {
namespace {

using shape_rules::Invalid;

// Whether two host transfers do the same with other operands of the same shapes.
bool AreAlike(const HloInstruction& a, const HloInstruction& b) {
  const auto& ours = a.attributes().frontend_attributes().map();
  const auto& others = b.attributes().frontend_attributes().map();
  bool alike = a.opcode() == b.opcode() && a.shape().IsCompatible(b.shape()) &&
               a.operand_count() == b.operand_count() && ours.size() == others.size();
  for (int64_t i = 0; alike && i < a.operand_count(); ++i) {
    alike = a.operand(i).shape().IsCompatible(b.operand(i).shape());
  }
  for (const auto& [key, value] : ours) {
    const auto found = others.find(key);
    alike = alike && found != others.end() && found->second == value;
  }
  return alike;
}

bool IsHostTransfer(const HloInstruction& instruction) {
  return (instruction.opcode() == HloOpcode::kSend || instruction.opcode() == HloOpcode::kRecv) &&
         instruction.attributes().is_host_transfer() && instruction.attributes().channel_id() > 0;
}

bool IsAllReduce(const HloInstruction& instruction) {
  return instruction.opcode() == HloOpcode::kAllReduce ||
         instruction.opcode() == HloOpcode::kAllReduceStart;
}

}  // namespace

absl::Status CheckEntryLayout(const HloModule& module) {
  if (!module.attributes().has_host_program_shape()) {
    return Invalid("the module has no host_program_shape, the shapes of its parameters and result");
  }
  const proto::ProgramShapeProto& declared = module.entry_computation_layout();
  const HloComputation& entry = module.entry_computation();
  if (declared.parameter_names_size() != declared.parameters_size()) {
    return Invalid("host_program_shape has ", declared.parameters_size(), " parameter(s), but ",
                   declared.parameter_names_size(), " name(s) of parameters");
  }
  if (static_cast<size_t>(declared.parameters_size()) != entry.parameters().size()) {
    return Invalid("entry_computation_layout has ", declared.parameters_size(),
                   " parameter(s), the entry computation ", entry.parameters().size());
  }
  for (int i = 0; i < declared.parameters_size(); ++i) {
    const Shape shape = Shape::FromProto(declared.parameters(i));
    const Shape& parameter = entry.parameters()[static_cast<size_t>(i)]->shape();
    if (ShapesSame(shape, parameter)) continue;
    return Invalid("entry_computation_layout gives parameter ", i, " as ", shape.ToString(false),
                   ", the entry computation as ", parameter.ToString(false));
  }
  const Shape result = Shape::FromProto(declared.result());
  if (ShapesSame(result, entry.root().shape())) return absl::OkStatus();
  return Invalid("entry_computation_layout gives the result as ", result.ToString(false),
                 ", the entry computation as ", entry.root().shape().ToString(false));
}

absl::Status CheckOrigin(const HloInstruction& instruction) {
  if (!instruction.attributes().has_original_value()) return absl::OkStatus();
  const proto::OriginalValueProto& origin = instruction.attributes().original_value();
  if (origin.is_synthetic_call()) return absl::OkStatus();
  for (const auto& element : origin.elements()) {
    const Shape* part = PartAt(instruction.shape(), element.shape_index());
    if (part != nullptr && (!part->IsTuple() || part->tuple_shapes().empty())) continue;
    return Invalid("origin names a part that ", instruction.shape().ToString(false),
                   " does not have");
  }
  return absl::OkStatus();
}

absl::Status CheckChannels(const HloModule& module) {
  absl::flat_hash_map<int64_t, const HloInstruction*> transfers;
  const HloInstruction* all_reduce = nullptr;
  for (const HloComputation* computation : module.computations()) {
    for (const HloInstruction* instruction : computation->instructions()) {
      if (IsHostTransfer(*instruction)) {
        const int64_t channel = instruction->attributes().channel_id();
        const HloInstruction* first = transfers.try_emplace(channel, instruction).first->second;
        if (!AreAlike(*first, *instruction)) {
          return Invalid("host transfers '", first->name(), "' and '", instruction->name(),
                         "' of channel ", channel, " differ");
        }
      }
      if (!IsAllReduce(*instruction)) continue;
      if (all_reduce == nullptr) all_reduce = instruction;
      if (all_reduce->attributes().constrain_layout() !=
          instruction->attributes().constrain_layout()) {
        return Invalid("the layout of '", all_reduce->name(), "' is constrained and that of '",
                       instruction->name(), "' is not, or the other way round");
      }
    }
  }
  return absl::OkStatus();
}

absl::Status CheckSchedule(const HloModule& module) {
  if (!module.is_scheduled()) return absl::OkStatus();
  const auto& sequences = module.attributes().schedule().sequences();
  for (const HloComputation* computation : module.computations()) {
    const auto found = sequences.find(computation->id());
    if (found == sequences.end()) continue;
    absl::flat_hash_set<int64_t> scheduled(found->second.instruction_ids().begin(),
                                           found->second.instruction_ids().end());
    for (const HloInstruction* instruction : computation->instructions()) {
      if (scheduled.contains(instruction->id())) continue;
      return Invalid("the schedule of '", computation->name(), "' leaves out '",
                     instruction->name(), "'");
    }
    if (scheduled.size() != computation->instructions().size()) {
      return Invalid("the schedule of '", computation->name(),
                     "' names instructions that are not there");
    }
  }
  return absl::OkStatus();
}

}  // namespace autotune::verifier_rules
