#include "hlo/computation.h"

#include "hlo/module.h"
#include "hlo/unknown_fields.h"

namespace autotune {
bool HloComputation::IsEntry() const { return &f_.module->entry_computation() == this; }

const HloInstruction* HloComputation::FindInstruction(absl::string_view name) const {
  for (const HloInstruction* instruction : f_.instructions) {
    if (instruction->name() == name) return instruction;
  }
  return nullptr;
}

std::vector<const HloInstruction*> HloComputation::PostOrder() const {
  std::vector<const HloInstruction*> order;
  order.reserve(f_.instructions.size());
  enum State : uint8_t { kNew, kOpen, kDone };
  std::vector<State> states(f_.instructions.size(), kNew);
  std::vector<const HloInstruction*> stack;
  const auto push = [&](const HloInstruction* instruction) {
    if (states[instruction->position()] != kDone) stack.push_back(instruction);
  };
  for (const HloInstruction* last : f_.instructions) {
    if (!last->users().empty()) continue;
    push(last);
    while (!stack.empty()) {
      const HloInstruction* top = stack.back();
      State& state = states[top->position()];
      if (state != kNew) {
        stack.pop_back();
        if (state == kOpen) order.push_back(top);
        state = kDone;
        continue;
      }
      state = kOpen;
      const auto operands = top->operands();
      for (auto it = operands.rbegin(); it != operands.rend(); ++it) push(*it);
      for (const HloInstruction* predecessor : top->control_predecessors()) push(predecessor);
    }
  }
  return order;
}

void HloComputation::ProgramShapeToProto(proto::ProgramShapeProto* proto) const {
  for (const HloInstruction* parameter : f_.parameters) {
    parameter->shape().ToProto(proto->add_parameters());
    CarryUnknownFields(parameter->attributes().shape(),
                       proto->mutable_parameters(proto->parameters_size() - 1));
    proto->add_parameter_names(std::string(parameter->name()));
  }
  f_.root->shape().ToProto(proto->mutable_result());
  CarryUnknownFields(f_.root->attributes().shape(), proto->mutable_result());
}

void HloComputation::ToProto(proto::HloComputationProto* proto) const {
  *proto = *f_.attributes;
  proto->set_name(std::string(f_.name));
  proto->set_id(f_.id);
  proto->set_root_id(f_.root->id());
  proto->clear_program_shape();
  ProgramShapeToProto(proto->mutable_program_shape());
  if (HasUnknownFields(f_.attributes->program_shape())) {
    proto::ProgramShapeProto* to = proto->mutable_program_shape();
    to->GetReflection()->MutableUnknownFields(to)->MergeFrom(
        to->GetReflection()->GetUnknownFields(f_.attributes->program_shape()));
  }
  proto->set_is_fusion_computation(f_.is_fusion);
  if (f_.execution_thread != "main") {
    proto->set_execution_thread(std::string(f_.execution_thread));
  } else {
    proto->clear_execution_thread();
  }
  proto->clear_instructions();
  proto->mutable_instructions()->Reserve(static_cast<int>(f_.instructions.size()));
  for (const HloInstruction* instruction : PostOrder()) {
    instruction->ToProto(proto->add_instructions());
  }
}

}  // namespace autotune
