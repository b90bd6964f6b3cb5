// What the module says of itself as a whole.

#include <cstdint>

#include "absl/container/flat_hash_set.h"
#include "hlo/shape_rules.h"
#include "hlo/verifier_rules.h"

namespace autotune::verifier_rules {
namespace {

using shape_rules::Invalid;

// The part of `shape` at `index`, or null if there is none.
const Shape* PartAt(const Shape& shape, const google::protobuf::RepeatedField<int64_t>& index) {
  const Shape* part = &shape;
  for (int64_t i : index) {
    if (i < 0 || i >= static_cast<int64_t>(part->tuple_shapes().size())) return nullptr;
    part = &part->tuple_shapes(i);
  }
  return part;
}

absl::Status CheckParameterIndex(const HloModule& module, int64_t number,
                                 const google::protobuf::RepeatedField<int64_t>& index,
                                 absl::string_view what) {
  const auto& parameters = module.entry_computation().parameters();
  if (number < 0 || number >= static_cast<int64_t>(parameters.size())) {
    return Invalid(what, " names parameter ", number, " of ", parameters.size());
  }
  if (PartAt(parameters[static_cast<size_t>(number)]->shape(), index) == nullptr) {
    return Invalid(what, " names a part of parameter ", number, " that is not there");
  }
  return absl::OkStatus();
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
    if (ShapesAgree(shape, parameter)) continue;
    return Invalid("entry_computation_layout gives parameter ", i, " as ", shape.ToString(false),
                   ", the entry computation as ", parameter.ToString(false));
  }
  const Shape result = Shape::FromProto(declared.result());
  if (ShapesAgree(result, entry.root().shape())) return absl::OkStatus();
  return Invalid("entry_computation_layout gives the result as ", result.ToString(false),
                 ", the entry computation as ", entry.root().shape().ToString(false));
}

absl::Status CheckAliasing(const HloModule& module) {
  const Shape& result = module.entry_computation().root().shape();
  for (const auto& entry : module.attributes().input_output_alias().entries()) {
    AUTOTUNE_RETURN_IF_ERROR(CheckParameterIndex(
        module, entry.parameter_number(), entry.parameter_shape_index(), "input_output_alias"));
    if (PartAt(result, entry.output_shape_index()) == nullptr) {
      return Invalid("input_output_alias names a part of the result that is not there");
    }
  }
  for (const auto& entry : module.attributes().buffer_donor().entries()) {
    AUTOTUNE_RETURN_IF_ERROR(CheckParameterIndex(module, entry.parameter_number(),
                                                 entry.parameter_shape_index(), "buffer_donor"));
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
