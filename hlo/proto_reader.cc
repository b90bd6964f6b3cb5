#include <algorithm>
#include <limits>
#include <string>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "hlo/backend_config_text.h"
#include "hlo/literal_reader.h"
#include "hlo/module.h"
#include "hlo/module_builder.h"
#include "hlo/shape_validation.h"
#include "hlo/unknown_fields.h"

namespace autotune {
namespace {

// Turns a module's protobuf, which lies in the builder's arena, into the module. The messages of
// instructions become their attribute stores without being copied.
class ProtoReader {
 public:
  ProtoReader(ModuleBuilder* builder, bool keep_unknown)
      : builder_(builder), keep_unknown_(keep_unknown) {}

  absl::Status Read(proto::HloModuleProto* module);

 private:
  absl::Status ReadComputation(proto::HloComputationProto* proto);
  absl::Status ReadInstructions(proto::HloComputationProto* proto,
                                ModuleBuilder::Computation* computation);
  absl::Status ReadInstruction(const proto::HloInstructionProto& proto,
                               ModuleBuilder::Instruction* f);
  absl::Status ReadBackendConfig(proto::HloInstructionProto* proto, ModuleBuilder::Instruction* f);
  absl::Status Link(const proto::HloInstructionProto& proto, ModuleBuilder::Instruction* f);
  absl::Status ReadParameters(ModuleBuilder::Computation* computation);
  void ReadMetadata(const proto::OpMetadata& proto, ModuleBuilder::Instruction* f);
  absl::Status ReadSchedule(const proto::HloModuleProto& module);

  template <typename... Parts>
  absl::Status Error(const Parts&... parts) {
    return absl::InvalidArgumentError(absl::StrCat(where_, parts...));
  }

  ModuleBuilder* builder_;
  bool keep_unknown_;
  const google::protobuf::RepeatedPtrField<std::string>* payloads_ = nullptr;
  // "computation NAME: " or "instruction NAME of computation NAME: ".
  std::string where_;
  std::vector<HloComputation*> computations_;
  absl::flat_hash_map<int64_t, HloComputation*> by_id_;
  absl::flat_hash_map<int64_t, HloInstruction*> instructions_;
};

// What Shape::FromProto overlooks: lists of different lengths, layouts of what has none, buffers of
// nothing, and what it cuts off.
absl::Status CheckFields(const proto::ShapeProto& shape, int depth = 0) {
  const int rank = shape.dimensions_size();
  const int dynamic = shape.is_dynamic_dimension_size();
  if (dynamic != 0 && dynamic != rank) {
    return absl::InvalidArgumentError(absl::StrCat(
        "a shape has ", rank, " dimensions, but says of ", dynamic, " whether they are dynamic"));
  }
  if (shape.has_layout() && shape.element_type() == proto::PRIMITIVE_TYPE_INVALID) {
    return absl::InvalidArgumentError("a shape has a layout, but no element type");
  }
  if (shape.layout().tail_padding_alignment_in_elements() < 0) {
    return absl::InvalidArgumentError("the tail padding of a layout must not be negative");
  }
  if (shape.element_type() == proto::BUFFER &&
      (shape.tuple_shapes_size() != 1 || !IsArrayType(shape.tuple_shapes(0).element_type()))) {
    return absl::InvalidArgumentError("a buffer holds one array");
  }
  if (depth >= Shape::kMaxNesting && !shape.tuple_shapes().empty()) {
    return absl::InvalidArgumentError("a shape is nested too deeply");
  }
  for (const proto::ShapeProto& part : shape.tuple_shapes()) {
    if (absl::Status status = CheckFields(part, depth + 1); !status.ok()) return status;
  }
  return absl::OkStatus();
}

bool IsPlain(const proto::OpMetadata& metadata) {
  return metadata.deduplicated_name().empty() && metadata.scheduling_name().empty() &&
         !metadata.has_profile_info() && !metadata.has_metadata_payload() &&
         metadata.size_of_generated_code_in_bytes() == 0 &&
         metadata.size_of_memory_working_set_in_bytes() == 0 &&
         metadata.GetReflection()->FieldSize(metadata,
                                             metadata.GetDescriptor()->FindFieldByNumber(5)) == 0 &&
         metadata.GetReflection()->GetUnknownFields(metadata).empty();
}

absl::Status ProtoReader::Read(proto::HloModuleProto* module) {
  builder_->set_name(module->name());
  payloads_ = &module->payloads();
  if (module->computations().empty()) return Error("the module has no computations");
  for (proto::HloComputationProto& computation : *module->mutable_computations()) {
    if (absl::Status status = ReadComputation(&computation); !status.ok()) return status;
  }
  where_.clear();
  const auto entry = by_id_.find(module->entry_computation_id());
  if (entry == by_id_.end()) {
    return Error("the module has no computation with the entry's id, ",
                 module->entry_computation_id());
  }
  builder_->set_entry(entry->second);
  if (absl::Status status = ReadSchedule(*module); !status.ok()) return status;
  std::vector<const HloComputation*> computations(computations_.begin(), computations_.end());
  builder_->set_computations(std::move(computations));
  // The computations' messages stay alive in the arena; the module's own message loses them.
  std::vector<proto::HloComputationProto*> taken(static_cast<size_t>(module->computations_size()));
  module->mutable_computations()->UnsafeArenaExtractSubrange(0, module->computations_size(),
                                                             taken.data());
  builder_->set_attributes(module);
  return absl::OkStatus();
}

absl::Status ProtoReader::ReadComputation(proto::HloComputationProto* proto) {
  where_ = absl::StrCat("computation ", proto->name(), ": ");
  HloComputation* computation = builder_->NewComputation();
  ModuleBuilder::Computation& f = ModuleBuilder::Edit(computation);
  f.id = proto->id();
  f.name = proto->name();
  if (!proto->execution_thread().empty()) f.execution_thread = proto->execution_thread();
  f.is_fusion = proto->is_fusion_computation();
  if (proto->instructions().empty()) return Error("it has no instructions");
  if (absl::Status status = ReadInstructions(proto, &f); !status.ok()) return status;
  where_ = absl::StrCat("computation ", proto->name(), ": ");
  if (absl::Status status = ReadParameters(&f); !status.ok()) return status;
  if (!by_id_.emplace(f.id, computation).second) {
    return Error("another computation has the same id, ", f.id);
  }
  computations_.push_back(computation);
  std::vector<proto::HloInstructionProto*> taken(static_cast<size_t>(proto->instructions_size()));
  proto->mutable_instructions()->UnsafeArenaExtractSubrange(0, proto->instructions_size(),
                                                            taken.data());
  f.attributes = proto;
  return absl::OkStatus();
}

absl::Status ProtoReader::ReadInstructions(proto::HloComputationProto* proto,
                                           ModuleBuilder::Computation* computation) {
  instructions_.clear();
  instructions_.reserve(static_cast<size_t>(proto->instructions_size()));
  std::vector<std::pair<HloInstruction*, const proto::HloInstructionProto*>> order;
  order.reserve(static_cast<size_t>(proto->instructions_size()));
  for (proto::HloInstructionProto& instruction_proto : *proto->mutable_instructions()) {
    HloInstruction* instruction = builder_->NewInstruction();
    ModuleBuilder::Instruction& f = ModuleBuilder::Edit(instruction);
    if (absl::Status status = ReadBackendConfig(&instruction_proto, &f); !status.ok()) {
      return status;
    }
    if (absl::Status status = ReadInstruction(instruction_proto, &f); !status.ok()) return status;
    // Operands have to be there already: that is what rules out cycles.
    if (absl::Status status = Link(instruction_proto, &f); !status.ok()) return status;
    if (!instructions_.emplace(f.id, instruction).second) {
      return Error("instruction ", f.name, " has the id of another one, ", f.id);
    }
    order.emplace_back(instruction, &instruction_proto);
  }
  const auto root = instructions_.find(proto->root_id());
  if (root == instructions_.end()) {
    return Error("it has no instruction with the root's id, ", proto->root_id());
  }
  computation->root = root->second;
  computation->instructions.reserve(order.size());
  for (const auto& [instruction, unused] : order) computation->instructions.push_back(instruction);
  return absl::OkStatus();
}

absl::Status ProtoReader::ReadInstruction(const proto::HloInstructionProto& proto,
                                          ModuleBuilder::Instruction* f) {
  f->id = proto.id();
  f->name = proto.name();
  f->attributes = &proto;
  f->opcode = HloOpcodeFromName(proto.opcode()).value_or(HloOpcode::kUnknown);
  if (proto.name().empty())
    return Error("the instruction with the id ", proto.id(), " has no name");
  if (proto.opcode().empty()) return Error("instruction ", proto.name(), " has no opcode");
  if (absl::Status status = CheckFields(proto.shape()); !status.ok()) {
    return Error("instruction ", proto.name(), ": ", std::string(status.message()));
  }
  if (f->opcode == HloOpcode::kUnknown && !keep_unknown_) {
    return Error("instruction ", proto.name(), " has the unknown opcode \"", proto.opcode(), "\"");
  }
  Shape shape = Shape::FromProto(proto.shape());
  if (absl::Status status = ValidateShape(shape); !status.ok()) {
    return Error("instruction ", proto.name(), ": ", std::string(status.message()));
  }
  f->shape = builder_->Intern(std::move(shape));
  f->dimensions = {proto.dimensions().data(), static_cast<size_t>(proto.dimensions_size())};
  if (f->opcode == HloOpcode::kParameter) f->index = proto.parameter_number();
  if (f->opcode == HloOpcode::kGetTupleElement) f->index = proto.tuple_index();
  if (proto.has_metadata()) ReadMetadata(proto.metadata(), f);
  if (f->opcode != HloOpcode::kConstant) return absl::OkStatus();
  if (!proto.has_literal()) {
    // Left out on purpose by who wrote it: the shape alone is known.
    Literal* literal = builder_->New<Literal>();
    literal->shape = f->shape;
    literal->elided = true;
    f->literal = literal;
    return absl::OkStatus();
  }
  absl::StatusOr<const Literal*> literal = ReadLiteral(proto.literal(), builder_);
  if (!literal.ok()) {
    return Error("instruction ", proto.name(), ": ", literal.status().message());
  }
  f->literal = *literal;
  return absl::OkStatus();
}

// In place, or by number in the module's table of payloads. It is put in place, as XLA does.
absl::Status ProtoReader::ReadBackendConfig(proto::HloInstructionProto* proto,
                                            ModuleBuilder::Instruction* f) {
  absl::string_view config = proto->backend_config();
  if (proto->has_backend_config_payload()) {
    const proto::Payload& payload = proto->backend_config_payload();
    const bool newer = !payload.has_value() && !payload.has_id() && HasUnknownFields(payload);
    if (newer) {
      // The configuration in place counts.
    } else if (!payload.has_id()) {
      config = builder_->Copy(payload.value());
    } else if (payload.id() >= 0 && payload.id() < payloads_->size()) {
      config = builder_->Copy(payloads_->Get(static_cast<int>(payload.id())));
    } else {
      return Error("instruction ", proto->name(), " has the backend_config number ", payload.id(),
                   ", but the module has ", payloads_->size(), " payloads");
    }
    proto->mutable_backend_config_payload()->clear_payload_source();
    if (!HasUnknownFields(payload)) proto->clear_backend_config_payload();
  }
  f->backend_config = NormalizedBackendConfig(config, builder_);
  return absl::OkStatus();
}

void ProtoReader::ReadMetadata(const proto::OpMetadata& proto, ModuleBuilder::Instruction* f) {
  if (proto.ByteSizeLong() == 0) return;
  OpMetadata* metadata = builder_->New<OpMetadata>();
  metadata->op_type = proto.op_type();
  metadata->op_name = proto.op_name();
  metadata->source_file = proto.source_file();
  metadata->source_line = proto.source_line();
  metadata->source_end_line = proto.source_end_line();
  metadata->source_column = proto.source_column();
  metadata->source_end_column = proto.source_end_column();
  metadata->stack_frame_id = proto.stack_frame_id();
  if (!IsPlain(proto)) metadata->full = &proto;
  f->metadata = metadata;
}

absl::Status ProtoReader::Link(const proto::HloInstructionProto& proto,
                               ModuleBuilder::Instruction* f) {
  const auto link = [&](const google::protobuf::RepeatedField<int64_t>& ids,
                        absl::Span<const HloInstruction* const>* to) -> absl::Status {
    if (ids.empty()) return absl::OkStatus();
    const size_t count = static_cast<size_t>(ids.size());
    const HloInstruction** linked = builder_->NewArray<const HloInstruction*>(count);
    for (size_t i = 0; i < count; ++i) {
      const auto it = instructions_.find(ids.Get(static_cast<int>(i)));
      if (it == instructions_.end()) {
        return Error("instruction ", proto.name(), " uses the id ", ids.Get(static_cast<int>(i)),
                     ", which no instruction before it has");
      }
      linked[i] = it->second;
    }
    *to = {linked, count};
    return absl::OkStatus();
  };
  if (absl::Status status = link(proto.operand_ids(), &f->operands); !status.ok()) return status;
  if (absl::Status status = link(proto.control_predecessor_ids(), &f->control_predecessors);
      !status.ok()) {
    return status;
  }
  if (proto.called_computation_ids().empty()) return absl::OkStatus();
  const size_t count = static_cast<size_t>(proto.called_computation_ids_size());
  const HloComputation** callees = builder_->NewArray<const HloComputation*>(count);
  for (size_t i = 0; i < count; ++i) {
    const int64_t id = proto.called_computation_ids(static_cast<int>(i));
    const auto it = by_id_.find(id);
    if (it == by_id_.end()) {
      return Error("instruction ", proto.name(), " calls the computation with the id ", id,
                   ", which none before this one has");
    }
    callees[i] = it->second;
  }
  f->called_computations = {callees, count};
  return absl::OkStatus();
}

absl::Status ProtoReader::ReadParameters(ModuleBuilder::Computation* computation) {
  size_t count = 0;
  for (const HloInstruction* i : computation->instructions) {
    count += i->opcode() == HloOpcode::kParameter ? 1 : 0;
  }
  computation->parameters.assign(count, nullptr);
  for (const HloInstruction* i : computation->instructions) {
    if (i->opcode() != HloOpcode::kParameter) continue;
    const int64_t number = i->parameter_number();
    if (number < 0 || number >= static_cast<int64_t>(count)) {
      return Error("it has ", count, " parameters, but ", i->name(), " is number ", number);
    }
    if (std::exchange(computation->parameters[static_cast<size_t>(number)], i) != nullptr) {
      return Error("it has two parameters with the number ", number);
    }
  }
  return absl::OkStatus();
}

// A scheduled module keeps its instructions in the order of the schedule.
absl::Status ProtoReader::ReadSchedule(const proto::HloModuleProto& module) {
  if (!module.has_schedule()) return absl::OkStatus();
  for (HloComputation* computation : computations_) {
    const auto it = module.schedule().sequences().find(computation->id());
    if (it == module.schedule().sequences().end()) continue;
    const auto& ids = it->second.instruction_ids();
    std::vector<const HloInstruction*>& instructions =
        ModuleBuilder::Edit(computation).instructions;
    where_ = absl::StrCat("the schedule of computation ", computation->name(), " ");
    if (static_cast<size_t>(ids.size()) != instructions.size()) {
      return Error("has ", ids.size(), " instructions, the computation ", instructions.size());
    }
    absl::flat_hash_map<int64_t, const HloInstruction*> by_id;
    for (const HloInstruction* i : instructions) by_id.emplace(i->id(), i);
    absl::flat_hash_map<const HloInstruction*, size_t> positions;
    std::vector<const HloInstruction*> scheduled;
    for (const int64_t id : ids) {
      const auto found = by_id.find(id);
      if (found == by_id.end() || !positions.emplace(found->second, scheduled.size()).second) {
        return Error("names the id ", id, ", which is not there or stands twice");
      }
      for (const HloInstruction* operand : found->second->operands()) {
        if (!positions.contains(operand)) {
          return Error("has ", found->second->name(), " before its operand ", operand->name());
        }
      }
      scheduled.push_back(found->second);
    }
    instructions = std::move(scheduled);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<std::unique_ptr<HloModule>> HloModule::FromProto(const proto::HloModuleProto& proto,
                                                                bool keep_unknown) {
  const auto copy = [&](google::protobuf::Arena* arena) -> absl::StatusOr<proto::HloModuleProto*> {
    auto* message = google::protobuf::Arena::CreateMessage<proto::HloModuleProto>(arena);
    *message = proto;
    return message;
  };
  return FromArena(copy, keep_unknown);
}

absl::StatusOr<std::unique_ptr<HloModule>> HloModule::FromArena(
    absl::FunctionRef<absl::StatusOr<proto::HloModuleProto*>(google::protobuf::Arena*)> parse,
    bool keep_unknown) {
  ModuleBuilder builder;
  absl::StatusOr<proto::HloModuleProto*> proto = parse(builder.arena());
  if (!proto.ok()) return proto.status();
  ProtoReader reader(&builder, keep_unknown);
  if (absl::Status status = reader.Read(*proto); !status.ok()) return status;
  return builder.Finish();
}

}  // namespace autotune
