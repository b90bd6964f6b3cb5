#include "hlo/computation.h"

#include "hlo/module.h"

namespace autotune {
namespace {

std::string ToString(absl::string_view text) { return std::string(text.data(), text.size()); }

}  // namespace

bool HloComputation::IsEntry() const { return &f_.module->entry_computation() == this; }

const HloInstruction* HloComputation::FindInstruction(absl::string_view name) const {
  for (const HloInstruction* instruction : f_.instructions) {
    if (instruction->name() == name) return instruction;
  }
  return nullptr;
}

void HloComputation::ProgramShapeToProto(proto::ProgramShapeProto* proto) const {
  for (const HloInstruction* parameter : f_.parameters) {
    parameter->shape().ToProto(proto->add_parameters());
    proto->add_parameter_names(ToString(parameter->name()));
  }
  f_.root->shape().ToProto(proto->mutable_result());
}

void HloComputation::ToProto(proto::HloComputationProto* proto) const {
  *proto = *f_.attributes;
  proto->set_name(ToString(f_.name));
  proto->set_id(f_.id);
  proto->set_root_id(f_.root->id());
  proto->clear_program_shape();
  ProgramShapeToProto(proto->mutable_program_shape());
  proto->set_is_fusion_computation(f_.is_fusion);
  if (f_.execution_thread != "main") {
    proto->set_execution_thread(ToString(f_.execution_thread));
  } else {
    proto->clear_execution_thread();
  }
  proto->clear_instructions();
  proto->mutable_instructions()->Reserve(static_cast<int>(f_.instructions.size()));
  for (const HloInstruction* instruction : f_.instructions) {
    instruction->ToProto(proto->add_instructions());
  }
}

}  // namespace autotune
