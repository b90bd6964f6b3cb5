#include "hlo/module_builder.h"

#include <algorithm>
#include <utility>

namespace autotune {

ModuleBuilder::ModuleBuilder(std::string text)
    : module_(new HloModule),
      no_attributes_(&proto::HloInstructionProto::default_instance()),
      no_computation_attributes_(&proto::HloComputationProto::default_instance()) {
  module_->text_ = std::move(text);
}

char* ModuleBuilder::AllocateBytes(size_t size) {
  return google::protobuf::Arena::CreateArray<char>(arena(), size);
}

const Shape* ModuleBuilder::Intern(Shape shape) {
  return &*module_->shapes_.insert(std::move(shape)).first;
}

absl::string_view ModuleBuilder::Copy(absl::string_view text) {
  if (text.empty()) return {};
  char* copy = AllocateBytes(text.size());
  std::memcpy(copy, text.data(), text.size());
  return {copy, text.size()};
}

HloComputation* ModuleBuilder::NewComputation() {
  HloComputation* computation = &module_->computation_storage_.emplace_back();
  computation->f_.module = module_.get();
  computation->f_.attributes = no_computation_attributes_;
  return computation;
}

HloInstruction* ModuleBuilder::NewInstruction() {
  HloInstruction* instruction = New<HloInstruction>();
  instruction->f_.attributes = no_attributes_;
  return instruction;
}

void ModuleBuilder::LinkUsers(HloComputation* computation) {
  const std::vector<const HloInstruction*>& instructions = computation->f_.instructions;
  // Counts distinct operands first, then hands out one array for all users of the computation.
  std::vector<uint32_t> counts(instructions.size(), 0);
  std::vector<const HloInstruction*> last_user(instructions.size(), nullptr);
  size_t total = 0;
  for (const HloInstruction* user : instructions) {
    for (const HloInstruction* operand : user->operands()) {
      const uint32_t position = operand->f_.position;
      if (std::exchange(last_user[position], user) == user) continue;
      ++counts[position];
      ++total;
    }
  }
  const HloInstruction** users = NewArray<const HloInstruction*>(total);
  std::vector<const HloInstruction**> next(instructions.size());
  for (size_t i = 0; i < instructions.size(); ++i) {
    next[i] = users;
    const_cast<HloInstruction*>(instructions[i])->f_.users = {users, counts[i]};
    users += counts[i];
  }
  std::fill(last_user.begin(), last_user.end(), nullptr);
  for (const HloInstruction* user : instructions) {
    for (const HloInstruction* operand : user->operands()) {
      const uint32_t position = operand->f_.position;
      if (std::exchange(last_user[position], user) == user) continue;
      *next[position]++ = user;
    }
  }
}

std::unique_ptr<HloModule> ModuleBuilder::Finish() {
  for (const HloComputation* const_computation : module_->computations_) {
    HloComputation* computation = const_cast<HloComputation*>(const_computation);
    uint32_t position = 0;
    for (const HloInstruction* const_instruction : computation->instructions()) {
      HloInstruction* instruction = const_cast<HloInstruction*>(const_instruction);
      instruction->f_.parent = computation;
      instruction->f_.position = position++;
      for (const HloComputation* callee : instruction->called_computations()) {
        std::vector<const HloInstruction*>& callers =
            const_cast<HloComputation*>(callee)->f_.callers;
        if (callers.empty() || callers.back() != instruction) callers.push_back(instruction);
        if (instruction->opcode() == HloOpcode::kFusion) {
          const_cast<HloComputation*>(callee)->f_.is_fusion = true;
        }
      }
      if (instruction->has_elided_literal()) ++module_->elided_constant_count_;
    }
    module_->instruction_count_ += position;
    LinkUsers(computation);
  }
  return std::move(module_);
}

}  // namespace autotune
