#include "hlo/proto_reader.h"

#include <algorithm>
#include <utility>

#include "absl/container/flat_hash_set.h"
#include "absl/strings/str_cat.h"
#include "hlo/opcode.h"

namespace autotune {
namespace {

template <typename... Parts>
absl::Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

absl::Status InInstruction(const absl::Status& status, const proto::HloInstructionProto& source) {
  if (status.ok()) return status;
  return Invalid("instruction '", source.name(), "': ", std::string(status.message()));
}

// An empty message in the same memory as `like`, owned by the arena in the end either way.
template <typename Message>
Message* NewBeside(const Message& like, google::protobuf::Arena* arena) {
  if (like.GetArena() != nullptr) {
    return google::protobuf::Arena::CreateMessage<Message>(like.GetArena());
  }
  auto* message = new Message;
  arena->Own(message);
  return message;
}

}  // namespace

absl::StatusOr<std::unique_ptr<HloModule>> ProtoReader::Read(proto::HloModuleProto* source) {
  module_ = source;
  // What remains of `source` are the module's attributes.
  proto::HloModuleProto* body = NewBeside(*source, builder_.arena());
  body->mutable_computations()->Swap(source->mutable_computations());
  for (proto::HloComputationProto& computation : *body->mutable_computations()) {
    if (absl::Status status = ReadComputation(&computation); !status.ok()) {
      return Invalid("computation '", computation.name(), "': ", std::string(status.message()));
    }
  }
  const auto entry = computations_.find(source->entry_computation_id());
  if (entry == computations_.end()) {
    return Invalid("there is no computation with the entry's id ", source->entry_computation_id());
  }
  builder_.set_name(source->name());
  builder_.set_attributes(source);
  builder_.set_entry(entry->second);
  builder_.set_computations(std::move(order_));
  return builder_.Finish();
}

absl::Status ProtoReader::ReadComputation(proto::HloComputationProto* source) {
  if (source->name().empty()) return Invalid("it has no name");
  HloComputation* computation = builder_.NewComputation();
  if (!computations_.emplace(source->id(), computation).second) {
    return Invalid("its id ", source->id(), " occurs twice");
  }
  proto::HloComputationProto* body = NewBeside(*source, builder_.arena());
  body->mutable_instructions()->Swap(source->mutable_instructions());
  ModuleBuilder::Computation& fields = ModuleBuilder::Edit(computation);
  fields.id = source->id();
  fields.name = source->name();
  if (!source->execution_thread().empty()) fields.execution_thread = source->execution_thread();
  fields.attributes = source;
  fields.instructions.reserve(static_cast<size_t>(body->instructions_size()));

  InstructionMap by_id;
  by_id.reserve(static_cast<size_t>(body->instructions_size()));
  for (const proto::HloInstructionProto& instruction : body->instructions()) {
    absl::Status status = ReadInstruction(instruction, &by_id, computation);
    if (!status.ok()) return InInstruction(status, instruction);
  }
  if (absl::Status status = LinkControl(body->instructions(), by_id); !status.ok()) return status;
  const auto root = by_id.find(source->root_id());
  if (root == by_id.end()) return Invalid("there is no root with the id ", source->root_id());
  fields.root = root->second;
  if (absl::Status status = PlaceParameters(computation); !status.ok()) return status;
  order_.push_back(computation);
  return ApplySchedule(by_id, computation);
}

absl::Status ProtoReader::ReadInstruction(const proto::HloInstructionProto& source,
                                          InstructionMap* by_id, HloComputation* computation) {
  if (source.name().empty()) return Invalid("it has no name");
  const std::optional<HloOpcode> opcode = HloOpcodeFromName(source.opcode());
  if (!opcode.has_value()) return Invalid("unknown opcode \"", source.opcode(), "\"");
  HloInstruction* instruction = builder_.NewInstruction();
  ModuleBuilder::Instruction& fields = ModuleBuilder::Edit(instruction);
  fields.id = source.id();
  fields.name = source.name();
  fields.opcode = *opcode;
  fields.shape = builder_.Intern(Shape::FromProto(source.shape()));
  fields.attributes = &source;
  fields.dimensions = source.dimensions();
  fields.backend_config = source.backend_config();
  if (*opcode == HloOpcode::kParameter) fields.index = source.parameter_number();
  if (*opcode == HloOpcode::kGetTupleElement) fields.index = source.tuple_index();
  fields.metadata = ReadMetadata(source.metadata());
  if (absl::Status status = LinkOperands(source, *by_id, &fields); !status.ok()) return status;
  if (absl::Status status = LinkCalls(source, &fields); !status.ok()) return status;
  if (*opcode == HloOpcode::kConstant) {
    absl::StatusOr<const Literal*> literal = ReadLiteral(source.literal(), &builder_);
    if (!literal.ok()) return literal.status();
    fields.literal = *literal;
  }
  if (!by_id->emplace(source.id(), instruction).second) {
    return Invalid("its id ", source.id(), " occurs twice in its computation");
  }
  ModuleBuilder::Edit(computation).instructions.push_back(instruction);
  return absl::OkStatus();
}

absl::Status ProtoReader::LinkOperands(const proto::HloInstructionProto& source,
                                       const InstructionMap& by_id,
                                       ModuleBuilder::Instruction* instruction) {
  if (source.operand_ids().empty()) return absl::OkStatus();
  auto** operands =
      builder_.NewArray<const HloInstruction*>(static_cast<size_t>(source.operand_ids_size()));
  for (int i = 0; i < source.operand_ids_size(); ++i) {
    const auto operand = by_id.find(source.operand_ids(i));
    if (operand == by_id.end()) {
      return Invalid("operand ", i, " has the id ", source.operand_ids(i),
                     ", which no earlier instruction of the computation has");
    }
    operands[i] = operand->second;
  }
  instruction->operands = {operands, static_cast<size_t>(source.operand_ids_size())};
  return absl::OkStatus();
}

absl::Status ProtoReader::LinkCalls(const proto::HloInstructionProto& source,
                                    ModuleBuilder::Instruction* instruction) {
  if (source.called_computation_ids().empty()) return absl::OkStatus();
  const auto count = static_cast<size_t>(source.called_computation_ids_size());
  auto** called = builder_.NewArray<const HloComputation*>(count);
  for (size_t i = 0; i < count; ++i) {
    const int64_t id = source.called_computation_ids(static_cast<int>(i));
    const auto computation = computations_.find(id);
    // The computation that is being read has no root yet.
    if (computation == computations_.end() || ModuleBuilder::Edit(computation->second).root == nullptr) {
      return Invalid("it calls the computation with the id ", id,
                     ", which no earlier computation has");
    }
    called[i] = computation->second;
  }
  instruction->called_computations = {called, count};
  return absl::OkStatus();
}

absl::Status ProtoReader::LinkControl(
    const google::protobuf::RepeatedPtrField<proto::HloInstructionProto>& sources,
    const InstructionMap& by_id) {
  for (const proto::HloInstructionProto& source : sources) {
    if (source.control_predecessor_ids().empty()) continue;
    const auto count = static_cast<size_t>(source.control_predecessor_ids_size());
    auto** predecessors = builder_.NewArray<const HloInstruction*>(count);
    for (size_t i = 0; i < count; ++i) {
      const int64_t id = source.control_predecessor_ids(static_cast<int>(i));
      const auto predecessor = by_id.find(id);
      if (predecessor == by_id.end()) {
        return InInstruction(Invalid("its control predecessor ", id, " is not in the computation"),
                             source);
      }
      predecessors[i] = predecessor->second;
    }
    ModuleBuilder::Edit(by_id.find(source.id())->second).control_predecessors = {predecessors,
                                                                                count};
  }
  return absl::OkStatus();
}

absl::Status ProtoReader::PlaceParameters(HloComputation* computation) {
  ModuleBuilder::Computation& fields = ModuleBuilder::Edit(computation);
  for (const HloInstruction* instruction : fields.instructions) {
    if (instruction->opcode() == HloOpcode::kParameter) fields.parameters.push_back(instruction);
  }
  std::sort(fields.parameters.begin(), fields.parameters.end(),
            [](const HloInstruction* a, const HloInstruction* b) {
              return a->parameter_number() < b->parameter_number();
            });
  for (size_t i = 0; i < fields.parameters.size(); ++i) {
    if (fields.parameters[i]->parameter_number() != static_cast<int64_t>(i)) {
      return Invalid("it has ", fields.parameters.size(), " parameter(s), but their numbers are not",
                     " 0 to ", fields.parameters.size() - 1);
    }
  }
  return absl::OkStatus();
}

absl::Status ProtoReader::ApplySchedule(const InstructionMap& by_id, HloComputation* computation) {
  const auto& sequences = module_->schedule().sequences();
  const auto sequence = sequences.find(computation->id());
  if (sequence == sequences.end()) return absl::OkStatus();
  ModuleBuilder::Computation& fields = ModuleBuilder::Edit(computation);
  std::vector<const HloInstruction*> scheduled;
  absl::flat_hash_set<const HloInstruction*> placed;
  for (int64_t id : sequence->second.instruction_ids()) {
    const auto instruction = by_id.find(id);
    if (instruction == by_id.end()) return Invalid("its schedule names the unknown id ", id);
    for (const HloInstruction* operand : instruction->second->operands()) {
      if (placed.contains(operand)) continue;
      return Invalid("its schedule runs '", instruction->second->name(), "' before its operand '",
                     operand->name(), "'");
    }
    if (!placed.insert(instruction->second).second) {
      return Invalid("its schedule names '", instruction->second->name(), "' twice");
    }
    scheduled.push_back(instruction->second);
  }
  if (scheduled.size() != fields.instructions.size()) {
    return Invalid("its schedule leaves out ", fields.instructions.size() - scheduled.size(),
                   " instruction(s)");
  }
  fields.instructions = std::move(scheduled);
  return absl::OkStatus();
}

const OpMetadata* ProtoReader::ReadMetadata(const proto::OpMetadata& source) {
  if (source.ByteSizeLong() == 0) return nullptr;
  OpMetadata* metadata = builder_.New<OpMetadata>();
  metadata->op_type = source.op_type();
  metadata->op_name = source.op_name();
  metadata->source_file = source.source_file();
  metadata->source_line = source.source_line();
  metadata->source_end_line = source.source_end_line();
  metadata->source_column = source.source_column();
  metadata->source_end_column = source.source_end_column();
  metadata->stack_frame_id = source.stack_frame_id();
  metadata->full = &source;
  return metadata;
}

absl::StatusOr<std::unique_ptr<HloModule>> HloModule::FromProto(const proto::HloModuleProto& proto) {
  ModuleBuilder builder;
  auto* copy = builder.NewMessage<proto::HloModuleProto>();
  *copy = proto;
  return ProtoReader(&builder).Read(copy);
}

absl::StatusOr<std::unique_ptr<HloModule>> HloModule::FromProto(proto::HloModuleProto&& proto) {
  if (proto.GetArena() != nullptr) return FromProto(std::as_const(proto));
  ModuleBuilder builder;
  auto* adopted = new proto::HloModuleProto(std::move(proto));
  builder.arena()->Own(adopted);
  return ProtoReader(&builder).Read(adopted);
}

}  // namespace autotune
