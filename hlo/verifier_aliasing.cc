// Buffers that a result shares with an operand or a parameter.

#include <set>
#include <utility>
#include <vector>

#include "hlo/computation.h"
#include "hlo/shape_rules.h"
#include "hlo/verifier_rules.h"

namespace autotune::verifier_rules {
namespace {

using shape_rules::Invalid;
using Index = google::protobuf::RepeatedField<int64_t>;

// Equal but for layouts, dynamic extents and, with `ignore_buffers`, whether it is a buffer.
bool MayShare(const Shape& a, const Shape& b, bool ignore_buffers) {
  if (ignore_buffers && a.IsBuffer()) return MayShare(a.tuple_shapes(0), b, true);
  if (ignore_buffers && b.IsBuffer()) return MayShare(a, b.tuple_shapes(0), true);
  if (a.element_type() != b.element_type() || a.dimensions() != b.dimensions() ||
      a.tuple_shapes().size() != b.tuple_shapes().size()) {
    return false;
  }
  for (size_t i = 0; i < a.tuple_shapes().size(); ++i) {
    if (!MayShare(a.tuple_shapes()[i], b.tuple_shapes()[i], ignore_buffers)) return false;
  }
  return true;
}

// output_to_operand_aliasing against the shapes of what is aliased.
absl::Status CheckOperandAliases(const HloInstruction& instruction, const Shape& result,
                                 const std::vector<const Shape*>& operands, bool ignore_buffers,
                                 bool check_shapes) {
  for (const auto& alias : instruction.attributes().output_operand_aliasing()) {
    const int64_t number = alias.operand_index();
    if (number < 0 || number >= static_cast<int64_t>(operands.size())) {
      return Invalid("output_to_operand_aliasing names operand ", number, " of ", operands.size());
    }
    const Shape* from = PartAt(*operands[static_cast<size_t>(number)], alias.operand_shape_index());
    if (from == nullptr) {
      return Invalid("output_to_operand_aliasing names a part of operand ", number,
                     " that is not there");
    }
    const Shape* to = PartAt(result, alias.output_shape_index());
    if (to == nullptr) {
      return Invalid("output_to_operand_aliasing names a part of the result that is not there");
    }
    if (!check_shapes || MayShare(*from, *to, ignore_buffers)) continue;
    return Invalid("output_to_operand_aliasing puts ", to->ToString(false), " where operand ",
                   number, " has ", from->ToString(false));
  }
  return absl::OkStatus();
}

// The whole of what an asynchronous operation has when it is done: operands, result, contexts.
absl::Status CheckAsyncAliases(const HloInstruction& start) {
  if (start.called_computations().size() != 1) return absl::OkStatus();
  const HloComputation& wrapped = *start.called_computations()[0];
  std::vector<Shape> parameters;
  std::vector<const Shape*> operands;
  for (const HloInstruction* parameter : wrapped.parameters()) {
    parameters.push_back(parameter->shape());
    operands.push_back(&parameter->shape());
  }
  std::vector<Shape> parts = {Shape::Tuple(std::move(parameters)), wrapped.root().shape()};
  for (size_t i = 2; i < start.shape().tuple_shapes().size(); ++i) {
    parts.push_back(start.shape().tuple_shapes()[i]);
  }
  for (const auto& alias : start.attributes().output_operand_aliasing()) {
    if (!alias.output_shape_index().empty()) continue;
    return Invalid("output_to_operand_aliasing of an async-start names a part of its result");
  }
  return CheckOperandAliases(start, Shape::Tuple(std::move(parts)), operands,
                             /*ignore_buffers=*/true, /*check_shapes=*/true);
}

}  // namespace

const Shape* PartAt(const Shape& shape, const Index& index) {
  const Shape* part = &shape;
  for (const int64_t i : index) {
    if (!part->IsTuple() || i < 0 || i >= static_cast<int64_t>(part->tuple_shapes().size())) {
      return nullptr;
    }
    part = &part->tuple_shapes(i);
  }
  return part;
}

absl::Status CheckOutputAliasing(const HloInstruction& instruction) {
  if (instruction.attributes().output_operand_aliasing().empty()) return absl::OkStatus();
  if (instruction.opcode() == HloOpcode::kAsyncStart) return CheckAsyncAliases(instruction);
  if (instruction.opcode() == HloOpcode::kCall) {
    return Invalid("a call cannot have output_to_operand_aliasing");
  }
  std::vector<const Shape*> operands;
  for (const HloInstruction* operand : instruction.operands()) {
    operands.push_back(&operand->shape());
  }
  const auto& target = instruction.attributes().custom_call_target();
  return CheckOperandAliases(instruction, instruction.shape(), operands,
                             target == "Pin" || target == "Unpin",
                             !instruction.attributes().frontend_attributes().map().contains(
                                 "xla_skip_custom_call_alias_shape_check"));
}

absl::Status CheckAliasing(const HloModule& module) {
  const proto::ProgramShapeProto& signature = module.entry_computation_layout();
  const Shape result = Shape::FromProto(signature.result());
  std::vector<Shape> parameters;
  for (const auto& parameter : signature.parameters()) {
    parameters.push_back(Shape::FromProto(parameter));
  }
  std::set<std::pair<int64_t, std::vector<int64_t>>> aliased;
  // The part of a parameter that an entry of `what` names.
  const auto part_of = [&](const auto& entry, absl::string_view what,
                           const Shape** part) -> absl::Status {
    const int64_t number = entry.parameter_number();
    if (number < 0 || number >= static_cast<int64_t>(parameters.size())) {
      return Invalid(what, " names parameter ", number, " of ", parameters.size());
    }
    *part = PartAt(parameters[static_cast<size_t>(number)], entry.parameter_shape_index());
    if (*part == nullptr) {
      return Invalid(what, " names a part of parameter ", number, " that is not there");
    }
    if ((*part)->IsArray()) return absl::OkStatus();
    return Invalid(what, " names a part of parameter ", number,
                   " that is no array: ", (*part)->ToString(false));
  };
  const auto place_of = [](const auto& entry) {
    return std::make_pair(entry.parameter_number(),
                          std::vector<int64_t>(entry.parameter_shape_index().begin(),
                                               entry.parameter_shape_index().end()));
  };
  for (const auto& entry : module.attributes().input_output_alias().entries()) {
    const Shape* from = nullptr;
    AUTOTUNE_RETURN_IF_ERROR(part_of(entry, "input_output_alias", &from));
    const Shape* to = PartAt(result, entry.output_shape_index());
    if (to == nullptr) {
      return Invalid("input_output_alias names a part of the result that is not there");
    }
    if (!to->IsArray()) {
      return Invalid("input_output_alias names a part of the result that is no array: ",
                     to->ToString(false));
    }
    if (!aliased.insert(place_of(entry)).second) {
      return Invalid("input_output_alias names a part of parameter ", entry.parameter_number(),
                     " twice");
    }
    if (entry.kind() == proto::MUST_ALIAS && *from != *to) {
      return Invalid("input_output_alias must put ", to->ToString(), " where parameter ",
                     entry.parameter_number(), " has ", from->ToString());
    }
  }
  for (const auto& entry : module.attributes().buffer_donor().entries()) {
    const Shape* part = nullptr;
    AUTOTUNE_RETURN_IF_ERROR(part_of(entry, "buffer_donor", &part));
    if (aliased.count(place_of(entry)) == 0) continue;
    return Invalid("buffer_donor names a part of parameter ", entry.parameter_number(),
                   " that input_output_alias names, too");
  }
  return absl::OkStatus();
}

}  // namespace autotune::verifier_rules
