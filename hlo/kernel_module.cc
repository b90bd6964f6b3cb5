#include "hlo/kernel_module.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "hlo/computation.h"

namespace autotune {
namespace {

// All computations that `operation` reaches, in the module's order (callees first).
std::vector<const HloComputation*> ReachedComputations(const HloInstruction& operation) {
  absl::flat_hash_set<const HloComputation*> reached;
  std::vector<const HloComputation*> pending(operation.called_computations().begin(),
                                             operation.called_computations().end());
  while (!pending.empty()) {
    const HloComputation* computation = pending.back();
    pending.pop_back();
    if (!reached.insert(computation).second) continue;
    for (const HloInstruction* instruction : computation->instructions()) {
      for (const HloComputation* callee : instruction->called_computations()) {
        pending.push_back(callee);
      }
    }
  }
  std::vector<const HloComputation*> ordered;
  if (reached.empty()) return ordered;
  for (const HloComputation* computation : operation.parent().module().computations()) {
    if (reached.contains(computation)) ordered.push_back(computation);
  }
  return ordered;
}

void DropStackFrame(proto::HloInstructionProto* instruction) {
  if (instruction->has_metadata()) instruction->mutable_metadata()->clear_stack_frame_id();
}

// Writes the entry computation of one kernel.
class EntryBuilder {
 public:
  EntryBuilder(const HloInstruction& operation, int64_t first_id, proto::HloComputationProto* entry)
      : operation_(operation), next_id_(first_id), entry_(*entry) {}

  void Build(int64_t computation_id) {
    proto::HloInstructionProto root;
    operation_.ToProto(&root);
    root.clear_operand_ids();
    root.clear_control_predecessor_ids();
    for (const HloInstruction* operand : operation_.operands()) {
      root.add_operand_ids(InputFor(*operand));
    }
    root.set_id(next_id_++);
    DropStackFrame(&root);

    entry_.set_name(std::string(operation_.name()));
    entry_.set_id(computation_id);
    entry_.set_root_id(root.id());
    auto& signature = *entry_.mutable_program_shape();
    *signature.mutable_result() = root.shape();
    for (const auto& input : entry_.instructions()) {
      if (input.opcode() != HloOpcodeName(HloOpcode::kParameter)) continue;
      *signature.add_parameters() = input.shape();
      signature.add_parameter_names(input.name());
    }
    *entry_.add_instructions() = std::move(root);
  }

 private:
  // The id of the parameter or constant that stands for `operand`.
  int64_t InputFor(const HloInstruction& operand) {
    const auto [known, is_new] = ids_.emplace(&operand, next_id_);
    if (!is_new) return known->second;
    proto::HloInstructionProto& input = *entry_.add_instructions();
    const bool inlined = operand.opcode() == HloOpcode::kConstant &&
                         operand.shape().ElementsIn() == 1 &&
                         operation_.opcode() != HloOpcode::kFusion;
    if (inlined) {
      operand.ToProto(&input);
      input.clear_control_predecessor_ids();
      DropStackFrame(&input);
    } else {
      input.set_name(absl::StrCat("parameter.", parameters_));
      input.set_opcode(std::string(HloOpcodeName(HloOpcode::kParameter)));
      input.set_parameter_number(parameters_++);
      operand.shape().ToProto(input.mutable_shape());
    }
    input.set_id(next_id_);
    return next_id_++;
  }

  const HloInstruction& operation_;
  int64_t next_id_;
  int64_t parameters_ = 0;
  proto::HloComputationProto& entry_;
  absl::flat_hash_map<const HloInstruction*, int64_t> ids_;
};

}  // namespace

bool IsKernelInput(HloOpcode opcode) {
  return opcode == HloOpcode::kParameter || opcode == HloOpcode::kConstant;
}

absl::StatusOr<std::unique_ptr<HloModule>> BuildKernelModule(const HloInstruction& operation) {
  proto::HloModuleProto module;
  module.set_name(std::string(operation.name()));
  module.set_entry_computation_name(std::string(operation.name()));
  int64_t last_computation_id = 0;
  int64_t last_id = 0;
  for (const HloComputation* computation : ReachedComputations(operation)) {
    proto::HloComputationProto& copy = *module.add_computations();
    computation->ToProto(&copy);
    last_computation_id = std::max(last_computation_id, copy.id());
    for (auto& instruction : *copy.mutable_instructions()) {
      last_id = std::max(last_id, instruction.id());
      DropStackFrame(&instruction);
    }
  }
  EntryBuilder(operation, last_id + 1, module.add_computations()).Build(last_computation_id + 1);
  module.set_entry_computation_id(last_computation_id + 1);
  *module.mutable_host_program_shape() =
      module.computations(module.computations_size() - 1).program_shape();
  return HloModule::FromProto(module);
}

}  // namespace autotune
