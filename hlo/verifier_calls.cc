// Called computations against their caller: parameters, results and their number.

#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "hlo/computation.h"
#include "hlo/element_type.h"
#include "hlo/shape_rules.h"
#include "hlo/verifier_rules.h"

namespace autotune::verifier_rules {
namespace {

using shape_rules::Invalid;

absl::Status CheckCalledCount(const HloInstruction& caller, size_t count) {
  if (caller.called_computations().size() == count) return absl::OkStatus();
  return Invalid(caller.opcode_name(), " calls ", count, " computation(s), got ",
                 caller.called_computations().size());
}

// The computation's parameters are exactly these, or with `allow_more` the first of them.
absl::Status CheckParameters(const HloComputation& computation,
                             const std::vector<const Shape*>& arguments, bool allow_more = false) {
  const size_t count = computation.parameters().size();
  if (count != arguments.size() && !(allow_more && count < arguments.size())) {
    return Invalid("'", computation.name(), "' has ", count, " parameter(s), called with ",
                   arguments.size());
  }
  for (size_t i = 0; i < count; ++i) {
    const Shape& parameter = computation.parameters()[i]->shape();
    if (ShapesSame(parameter, *arguments[i])) continue;
    return Invalid("parameter ", i, " of '", computation.name(), "' is ", parameter.ToString(false),
                   ", called with ", arguments[i]->ToString(false));
  }
  return absl::OkStatus();
}

std::vector<const Shape*> OperandShapes(const HloInstruction& caller) {
  std::vector<const Shape*> shapes;
  for (const HloInstruction* operand : caller.operands()) shapes.push_back(&operand->shape());
  return shapes;
}

// A composite says in its frontend attributes which operation it stands for.
absl::Status CheckComposite(const HloInstruction& call) {
  const auto& map = call.attributes().frontend_attributes().map();
  const auto name = map.find("composite.name");
  if (name == map.end() || name->second.empty()) {
    return Invalid("a composite call needs a composite.name in its frontend_attributes");
  }
  const auto attributes = map.find("composite.attributes");
  if (attributes != map.end() && attributes->second.empty()) {
    return Invalid("the composite.attributes of a composite call are empty");
  }
  const auto version = map.find("composite.version");
  int64_t number = 0;
  if (version == map.end() || (absl::SimpleAtoi(version->second, &number) && number >= 0)) {
    return absl::OkStatus();
  }
  return Invalid("the composite.version of a composite call must be a number from 0 on, is \"",
                 version->second, "\"");
}

// Fusions, calls: the operands are the arguments and the result is the caller's.
absl::Status CheckTransparentCall(const HloInstruction& caller) {
  AUTOTUNE_RETURN_IF_ERROR(CheckCalledCount(caller, 1));
  const HloComputation& called = *caller.called_computations()[0];
  AUTOTUNE_RETURN_IF_ERROR(CheckParameters(called, OperandShapes(caller),
                                           /*allow_more=*/caller.opcode() == HloOpcode::kFusion));
  if (caller.attributes().is_composite()) AUTOTUNE_RETURN_IF_ERROR(CheckComposite(caller));
  if (ShapesSame(called.root().shape(), caller.shape())) return absl::OkStatus();
  return Invalid("declared as ", caller.shape().ToString(false), ", but '", called.name(),
                 "' returns ", called.root().shape().ToString(false));
}

absl::Status CheckWhile(const HloInstruction& loop) {
  AUTOTUNE_RETURN_IF_ERROR(CheckCalledCount(loop, 2));
  const HloComputation& body = *loop.called_computations()[0];
  const HloComputation& condition = *loop.called_computations()[1];
  AUTOTUNE_RETURN_IF_ERROR(CheckParameters(body, OperandShapes(loop)));
  AUTOTUNE_RETURN_IF_ERROR(CheckParameters(condition, OperandShapes(loop)));
  if (!ShapesSame(body.root().shape(), loop.operand(0).shape())) {
    return Invalid("the body '", body.name(), "' takes ", loop.operand(0).shape().ToString(false),
                   " but returns ", body.root().shape().ToString(false));
  }
  const Shape& verdict = condition.root().shape();
  if (verdict.IsScalar() && verdict.element_type() == proto::PRED) return absl::OkStatus();
  return Invalid("the condition '", condition.name(), "' must return pred[], returns ",
                 verdict.ToString(false));
}

absl::Status CheckConditional(const HloInstruction& conditional) {
  const size_t branches = conditional.called_computations().size();
  if (branches == 0 || conditional.operand_count() != static_cast<int64_t>(branches) + 1) {
    return Invalid("a conditional takes a branch and an operand for each branch; got ", branches,
                   " branch(es) and ", conditional.operand_count(), " operand(s)");
  }
  const Shape& selector = conditional.operand(0).shape();
  const bool is_index = selector.element_type() == proto::S32;
  const bool is_predicate = selector.element_type() == proto::PRED && branches == 2;
  if (!selector.IsScalar() || !(is_index || is_predicate)) {
    return Invalid("a conditional is decided by s32[], or by pred[] between two branches; got ",
                   selector.ToString(false));
  }
  for (size_t i = 0; i < branches; ++i) {
    const HloComputation& branch = *conditional.called_computations()[i];
    AUTOTUNE_RETURN_IF_ERROR(
        CheckParameters(branch, {&conditional.operand(static_cast<int64_t>(i) + 1).shape()}));
    if (!ShapesSame(branch.root().shape(), conditional.shape())) {
      return Invalid("declared as ", conditional.shape().ToString(false), ", but branch '",
                     branch.name(), "' returns ", branch.root().shape().ToString(false));
    }
  }
  return absl::OkStatus();
}

// A reducer, comparator or scalar function: `count` scalars in.
absl::Status CheckScalarFunction(const HloInstruction& caller, const HloComputation& function,
                                 size_t count) {
  if (function.parameters().size() != count) {
    return Invalid("'", function.name(), "' has ", function.parameters().size(), " parameter(s); ",
                   caller.opcode_name(), " calls it with ", count);
  }
  for (const HloInstruction* parameter : function.parameters()) {
    if (parameter->shape().IsScalar()) continue;
    return Invalid("parameter '", parameter->name(), "' of '", function.name(),
                   "' must be a scalar, is ", parameter->shape().ToString(false));
  }
  return absl::OkStatus();
}

absl::Status CheckComparator(const HloInstruction& sort) {
  AUTOTUNE_RETURN_IF_ERROR(CheckCalledCount(sort, 1));
  const HloComputation& comparator = *sort.called_computations()[0];
  AUTOTUNE_RETURN_IF_ERROR(
      CheckScalarFunction(sort, comparator, 2 * static_cast<size_t>(sort.operand_count())));
  const Shape& verdict = comparator.root().shape();
  if (verdict.IsScalar() && verdict.element_type() == proto::PRED) return absl::OkStatus();
  return Invalid("the comparator '", comparator.name(), "' must return pred[], returns ",
                 verdict.ToString(false));
}

absl::Status CheckOneFunction(const HloInstruction& caller, size_t parameters) {
  AUTOTUNE_RETURN_IF_ERROR(CheckCalledCount(caller, 1));
  return CheckScalarFunction(caller, *caller.called_computations()[0], parameters);
}

absl::Status CheckSelectAndScatter(const HloInstruction& instruction) {
  AUTOTUNE_RETURN_IF_ERROR(CheckCalledCount(instruction, 2));
  AUTOTUNE_RETURN_IF_ERROR(
      CheckScalarFunction(instruction, *instruction.called_computations()[0], 2));
  return CheckScalarFunction(instruction, *instruction.called_computations()[1], 2);
}

}  // namespace

absl::Status CheckCalls(const HloInstruction& instruction) {
  const auto operands = static_cast<size_t>(instruction.operand_count());
  switch (instruction.opcode()) {
    case HloOpcode::kFusion:
    case HloOpcode::kCall:
      return CheckTransparentCall(instruction);
    case HloOpcode::kWhile:
      return CheckWhile(instruction);
    case HloOpcode::kConditional:
      return CheckConditional(instruction);
    case HloOpcode::kMap:
      return CheckOneFunction(instruction, operands);
    case HloOpcode::kReduce:
    case HloOpcode::kReduceWindow:
    case HloOpcode::kScatter:  // N operands, N updates and one tensor of indices
      return CheckOneFunction(instruction, operands / 2 * 2);
    case HloOpcode::kSort:
      return CheckComparator(instruction);
    case HloOpcode::kSelectAndScatter:
      return CheckSelectAndScatter(instruction);
    // What a reduction across devices calls may also take arrays.
    case HloOpcode::kAllReduce:
    case HloOpcode::kAllReduceStart:
    case HloOpcode::kReduceScatter:
    case HloOpcode::kAsyncStart:
      return CheckCalledCount(instruction, 1);
    default:
      return absl::OkStatus();
  }
}

}  // namespace autotune::verifier_rules
