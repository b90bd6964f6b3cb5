#include "hlo/module.h"

#include "hlo/printer.h"
#include "hlo/stack_frames.h"
#include "hlo/unknown_fields.h"

namespace autotune {
namespace {

google::protobuf::ArenaOptions LargeBlocks() {
  google::protobuf::ArenaOptions options;
  options.start_block_size = 4 << 10;
  options.max_block_size = 512 << 10;
  return options;
}

// Writes the frames that instructions refer to, in the modules' order, and renumbers them.
void RenumberStackFrames(const HloModule& module, proto::HloModuleProto* proto) {
  proto::StackFrameIndexProto from;
  from.Swap(proto->mutable_stack_frame_index());
  StackFrameCompactor compactor(from, proto->mutable_stack_frame_index());
  for (const HloComputation* computation : module.computations()) {
    for (const HloInstruction* instruction : computation->instructions()) {
      if (instruction->has_metadata()) compactor.Renumber(instruction->metadata().stack_frame_id);
    }
  }
  for (proto::HloComputationProto& computation : *proto->mutable_computations()) {
    for (proto::HloInstructionProto& instruction : *computation.mutable_instructions()) {
      const int32_t frame = instruction.metadata().stack_frame_id();
      if (frame == 0) continue;
      instruction.mutable_metadata()->set_stack_frame_id(compactor.Renumber(frame));
    }
  }
  if (HasUnknownFields(from)) {
    from.GetReflection()
        ->MutableUnknownFields(proto->mutable_stack_frame_index())
        ->MergeFrom(from.GetReflection()->GetUnknownFields(from));
  } else if (proto->stack_frame_index().stack_frames().empty()) {
    proto->clear_stack_frame_index();
  }
}

}  // namespace

HloModule::HloModule()
    : arena_(LargeBlocks()), attributes_(&proto::HloModuleProto::default_instance()) {}

HloModule::~HloModule() = default;

const HloInstruction* HloModule::FindInstruction(absl::string_view name) const {
  for (const HloComputation* computation : computations_) {
    if (const HloInstruction* found = computation->FindInstruction(name)) return found;
  }
  return nullptr;
}

proto::HloModuleProto HloModule::ToProto() const {
  proto::HloModuleProto proto;
  ToProto(&proto);
  return proto;
}

void HloModule::ToProto(proto::HloModuleProto* proto) const {
  *proto = *attributes_;
  proto->set_name(std::string(name_.data(), name_.size()));
  proto->set_entry_computation_name(std::string(entry_->name().data(), entry_->name().size()));
  proto->set_entry_computation_id(entry_->id());
  proto->mutable_computations()->Reserve(static_cast<int>(computations_.size()));
  for (const HloComputation* computation : computations_) {
    computation->ToProto(proto->add_computations());
  }
  RenumberStackFrames(*this, proto);
  // XLA writes these messages even where they are empty.
  proto->mutable_host_program_shape();
  proto->mutable_input_output_alias();
  proto->mutable_buffer_donor();
  proto->mutable_frontend_attributes();
}

std::string HloModule::ToString() const { return PrintHlo(*this); }

}  // namespace autotune
