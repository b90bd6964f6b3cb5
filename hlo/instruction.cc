#include "hlo/instruction.h"

#include "hlo/computation.h"
#include "hlo/printer.h"
#include "hlo/unknown_fields.h"

namespace autotune {
namespace {

void MetadataToProto(const OpMetadata& metadata, proto::OpMetadata* proto) {
  if (metadata.full != nullptr) {
    *proto = *metadata.full;
    return;
  }
  proto->set_op_type(std::string(metadata.op_type));
  proto->set_op_name(std::string(metadata.op_name));
  proto->set_source_file(std::string(metadata.source_file));
  proto->set_source_line(metadata.source_line);
  proto->set_source_end_line(metadata.source_end_line);
  proto->set_source_column(metadata.source_column);
  proto->set_source_end_column(metadata.source_end_column);
  proto->set_stack_frame_id(metadata.stack_frame_id);
}

}  // namespace

absl::string_view HloInstruction::opcode_name() const {
  if (f_.opcode == HloOpcode::kUnknown) return f_.attributes->opcode();
  return HloOpcodeName(f_.opcode);
}

bool HloInstruction::IsRoot() const { return &f_.parent->root() == this; }

const OpMetadata& HloInstruction::metadata() const {
  static const OpMetadata kNone;
  return f_.metadata == nullptr ? kNone : *f_.metadata;
}

void HloInstruction::ToProto(proto::HloInstructionProto* proto) const {
  *proto = *f_.attributes;
  proto->set_name(std::string(f_.name));
  proto->set_opcode(std::string(opcode_name()));
  proto->clear_shape();
  f_.shape->ToProto(proto->mutable_shape());
  // Where the instruction comes from a protobuf, its message has the shape as it was read.
  CarryUnknownFields(f_.attributes->shape(), proto->mutable_shape());
  proto->set_id(f_.id);
  proto->clear_operand_ids();
  for (const HloInstruction* operand : operands()) proto->add_operand_ids(operand->id());
  proto->clear_control_predecessor_ids();
  for (const HloInstruction* predecessor : control_predecessors()) {
    proto->add_control_predecessor_ids(predecessor->id());
  }
  proto->clear_called_computation_ids();
  for (const HloComputation* callee : called_computations()) {
    proto->add_called_computation_ids(callee->id());
  }
  proto->mutable_dimensions()->Clear();
  proto->mutable_dimensions()->Add(f_.dimensions.begin(), f_.dimensions.end());
  if (f_.opcode == HloOpcode::kParameter) proto->set_parameter_number(f_.index);
  if (f_.opcode == HloOpcode::kGetTupleElement) proto->set_tuple_index(f_.index);
  if (f_.literal != nullptr && !f_.attributes->has_literal()) {
    LiteralToProto(*f_.literal, proto->mutable_literal());
  }
  proto->set_backend_config(std::string(f_.backend_config));
  // XLA writes these three messages even where they are empty.
  if (f_.metadata != nullptr) {
    MetadataToProto(*f_.metadata, proto->mutable_metadata());
  } else {
    proto->mutable_metadata();
  }
  proto->mutable_frontend_attributes();
  proto->mutable_statistics_viz();
}

std::string HloInstruction::ToString() const { return PrintHlo(*this); }

}  // namespace autotune
