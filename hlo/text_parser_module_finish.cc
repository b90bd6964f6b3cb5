#include <algorithm>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hlo/text_parser.h"

namespace autotune {
namespace {

bool IsValidIndex(const Shape& shape, const google::protobuf::RepeatedField<int64_t>& index) {
  const Shape* part = &shape;
  for (const int64_t i : index) {
    if (!part->IsTuple() || i < 0 || i >= static_cast<int64_t>(part->tuple_shapes().size())) {
      return false;
    }
    part = &part->tuple_shapes(i);
  }
  return true;
}

bool IndexLess(const google::protobuf::RepeatedField<int64_t>& a,
               const google::protobuf::RepeatedField<int64_t>& b) {
  return std::lexicographical_compare(a.begin(), a.end(), b.begin(), b.end());
}

// The dimensions of every array get their default order; tiles and memory space stay. Nesting is
// capped by Shape.
void ForgetOrders(Shape* shape) {
  if (shape->IsArray()) {
    const Layout layout = Layout::Default(shape->rank());
    if (!shape->has_layout()) shape->set_layout(layout);
    shape->mutable_layout().minor_to_major = layout.minor_to_major;
  }
  for (Shape& part : shape->mutable_tuple_shapes()) ForgetOrders(&part);
}

}  // namespace

bool TextParser::FinishModule(proto::HloModuleProto* module) {
  if (lone_instruction_) {
    // XLA adds the entry first, so that it has the first names and ids.
    std::rotate(computations_.begin(), computations_.end() - 1, computations_.end());
  }
  MakeNamesUnique();
  AssignIds();
  if (lone_instruction_) {
    std::rotate(computations_.begin(), computations_.begin() + 1, computations_.end());
  }
  proto::ProgramShapeProto* layout = module->mutable_host_program_shape();
  const std::vector<const HloInstruction*>& parameters = builder_->Edit(entry_).parameters;
  if (!layout->has_result()) {
    // XLA takes the layouts of parameters and root, but forgets the orders of their dimensions
    // where the header has other attributes of its configuration.
    const auto add = [&](Shape shape, proto::ShapeProto* to) {
      if (configures_) ForgetOrders(&shape);
      shape.ToProto(to);
    };
    for (const HloInstruction* parameter : parameters) {
      add(parameter->shape(), layout->add_parameters());
    }
    add(builder_->Edit(entry_).root->shape(), layout->mutable_result());
  }
  for (int i = 0; i < layout->parameters_size(); ++i) {
    layout->add_parameter_names(absl::StrCat("p", i));
  }
  if (module->stack_frame_index().file_names().empty()) module->clear_stack_frame_index();
  if (is_scheduled_) AddSchedule(module);
  if (has_payloads_) CollectPayloads(module);
  if (!CheckAliases(module)) return false;
  builder_->set_attributes(module);
  builder_->set_entry(entry_);
  builder_->set_computations({computations_.begin(), computations_.end()});
  return true;
}

void TextParser::MakeNamesUnique() {
  NameUniquer computation_names;
  NameUniquer instruction_names;
  std::string renamed;
  for (HloComputation* computation : computations_) {
    ModuleBuilder::Computation& f = builder_->Edit(computation);
    if (!IsSanitizedName(f.name)) f.name = builder_->Copy(SanitizedName(f.name));
    if (!computation_names.Take(f.name, &renamed)) f.name = builder_->Copy(renamed);
    for (const HloInstruction* instruction : f.instructions) {
      ModuleBuilder::Instruction& edit = builder_->Edit(const_cast<HloInstruction*>(instruction));
      if (!instruction_names.Take(edit.name, &renamed)) edit.name = builder_->Copy(renamed);
    }
  }
}

void TextParser::AssignIds() {
  int64_t id = 0;
  for (HloComputation* computation : computations_) {
    ModuleBuilder::Computation& f = builder_->Edit(computation);
    f.id = id++;
    int64_t instruction_id = f.id << 32;
    for (const HloInstruction* instruction : f.instructions) {
      builder_->Edit(const_cast<HloInstruction*>(instruction)).id = instruction_id++;
    }
  }
}

void TextParser::AddSchedule(proto::HloModuleProto* module) {
  absl::flat_hash_map<const HloComputation*, bool> fused;
  for (const HloComputation* computation : computations_) {
    for (const HloInstruction* instruction : computation->instructions()) {
      if (instruction->opcode() != HloOpcode::kFusion) continue;
      for (const HloComputation* callee : instruction->called_computations()) {
        fused[callee] = true;
      }
    }
  }
  auto& sequences = *module->mutable_schedule()->mutable_sequences();
  for (const HloComputation* computation : computations_) {
    if (fused.contains(computation)) continue;
    auto* ids = sequences[computation->id()].mutable_instruction_ids();
    ids->Reserve(static_cast<int>(computation->instructions().size()));
    for (const HloInstruction* instruction : computation->instructions()) {
      ids->Add(instruction->id());
    }
  }
}

// Moves payloads of metadata into the module's table, equal ones once.
void TextParser::CollectPayloads(proto::HloModuleProto* module) {
  absl::flat_hash_map<std::string, int64_t> ids;
  for (const HloComputation* computation : computations_) {
    for (const HloInstruction* instruction : computation->instructions()) {
      if (!instruction->has_metadata() || instruction->metadata().full == nullptr) continue;
      auto* metadata = const_cast<proto::OpMetadata*>(instruction->metadata().full);
      if (!metadata->has_metadata_payload() || metadata->metadata_payload().has_id()) continue;
      const std::string& value = metadata->metadata_payload().value();
      const auto [it, inserted] = ids.emplace(value, module->payloads_size());
      if (inserted) module->add_payloads(value);
      metadata->mutable_metadata_payload()->set_id(it->second);
    }
  }
}

bool TextParser::CheckAliases(proto::HloModuleProto* module) {
  auto* aliases = module->mutable_input_output_alias()->mutable_entries();
  const Shape result = Shape::FromProto(module->host_program_shape().result());
  for (const auto& entry : *aliases) {
    if (IsValidIndex(result, entry.output_shape_index()) && entry.parameter_number() >= 0) continue;
    return Fail(0, absl::StrCat("input_output_alias names the output {",
                                absl::StrJoin(entry.output_shape_index(), ","), "} of parameter ",
                                entry.parameter_number(), ", but the program's result is ",
                                result.ToString(false)));
  }
  const auto output_less = [](const auto& a, const auto& b) {
    return IndexLess(a.output_shape_index(), b.output_shape_index());
  };
  // XLA keeps them by output, the first one of each.
  std::stable_sort(aliases->begin(), aliases->end(), output_less);
  const auto same_output = [](const auto& a, const auto& b) {
    return std::equal(a.output_shape_index().begin(), a.output_shape_index().end(),
                      b.output_shape_index().begin(), b.output_shape_index().end());
  };
  aliases->erase(std::unique(aliases->begin(), aliases->end(), same_output), aliases->end());
  auto* donors = module->mutable_buffer_donor()->mutable_entries();
  const auto donor_less = [](const auto& a, const auto& b) {
    if (a.parameter_number() != b.parameter_number()) {
      return a.parameter_number() < b.parameter_number();
    }
    return IndexLess(a.parameter_shape_index(), b.parameter_shape_index());
  };
  std::sort(donors->begin(), donors->end(), donor_less);
  const auto same_donor = [&](const auto& a, const auto& b) {
    return !donor_less(a, b) && !donor_less(b, a);
  };
  donors->erase(std::unique(donors->begin(), donors->end(), same_donor), donors->end());
  return true;
}

}  // namespace autotune
