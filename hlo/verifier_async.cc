// Asynchronous chains: start, updates and done against the computation that they wrap.

#include "hlo/computation.h"
#include "hlo/shape_rules.h"
#include "hlo/verifier_rules.h"

namespace autotune::verifier_rules {
namespace {

using shape_rules::Invalid;

// Whether `part` is `whole`, or a tuple that begins as `whole` does.
bool IsPrefix(const Shape& part, const Shape& whole) {
  if (ShapesSame(part, whole)) return true;
  if (!part.IsTuple()) return false;
  if (part.tuple_shapes().empty()) return true;
  if (!whole.IsTuple() || part.tuple_shapes().size() > whole.tuple_shapes().size()) return false;
  for (size_t i = 0; i < part.tuple_shapes().size(); ++i) {
    if (!IsPrefix(part.tuple_shapes()[i], whole.tuple_shapes()[i])) return false;
  }
  return true;
}

// On the main thread what is wrapped is one operation, unless it is a group of transfers between
// devices.
absl::Status CheckWrapped(const HloInstruction& start, const HloComputation& wrapped) {
  if (wrapped.execution_thread() != "main" ||
      start.attributes().frontend_attributes().map().contains("_collectives_group")) {
    return absl::OkStatus();
  }
  bool transfers = true;
  bool single = true;
  for (const HloInstruction* instruction : wrapped.instructions()) {
    switch (instruction->opcode()) {
      case HloOpcode::kParameter:
      case HloOpcode::kGetTupleElement:
        break;
      case HloOpcode::kBitcast:
      case HloOpcode::kRecv:
      case HloOpcode::kSend:
      case HloOpcode::kTuple:
        single &= instruction->IsRoot();
        break;
      default:
        transfers = false;
        single &= instruction->IsRoot();
    }
  }
  if (transfers || single) return absl::OkStatus();
  return Invalid("'", wrapped.name(),
                 "', which runs asynchronously, holds more than one operation");
}

// ((operands...), result, ...) against the operands and the wrapped computation.
absl::Status CheckStart(const HloInstruction& start) {
  const Shape& shape = start.shape();
  if (!shape.IsTuple() || shape.tuple_shapes().size() < 2 || !shape.tuple_shapes(0).IsTuple()) {
    return Invalid("the shape of an async-start must be ((operands...), result, context...), got ",
                   shape.ToString(false));
  }
  const auto& declared = shape.tuple_shapes(0).tuple_shapes();
  if (static_cast<int64_t>(declared.size()) != start.operand_count()) {
    return Invalid("declared with ", declared.size(), " operand(s), got ", start.operand_count());
  }
  if (start.called_computations().empty()) return absl::OkStatus();
  const HloComputation& wrapped = *start.called_computations()[0];
  for (size_t i = 0; i < declared.size(); ++i) {
    const Shape& operand = start.operand(static_cast<int64_t>(i)).shape();
    if (!ShapesSame(declared[i], operand)) {
      return Invalid("operand ", i, " is declared as ", declared[i].ToString(false), ", but is ",
                     operand.ToString(false));
    }
    if (i >= wrapped.parameters().size() ||
        !ShapesSame(declared[i], wrapped.parameters()[i]->shape())) {
      return Invalid("'", wrapped.name(), "' does not take operand ", i, ", ",
                     declared[i].ToString(false));
    }
  }
  if (!IsPrefix(shape.tuple_shapes(1), wrapped.root().shape())) {
    return Invalid("the result is declared as ", shape.tuple_shapes(1).ToString(false), ", but '",
                   wrapped.name(), "' gives ", wrapped.root().shape().ToString(false));
  }
  return CheckWrapped(start, wrapped);
}

// What the chain of updates before this instruction began with; null if it is no such chain.
const HloInstruction* StartOf(const HloInstruction& done) {
  const HloInstruction* at = &done;
  do {
    if (at->operand_count() == 0) return nullptr;
    at = &at->operand(0);
  } while (at->opcode() == HloOpcode::kAsyncUpdate);
  const bool starts =
      at->opcode() == HloOpcode::kAsyncStart && at->called_computations().size() == 1;
  return starts ? at : nullptr;
}

absl::Status CheckDone(const HloInstruction& done) {
  const HloInstruction* start = StartOf(done);
  if (start == nullptr) return absl::OkStatus();  // CheckPairs says so
  const HloComputation& wrapped = *start->called_computations()[0];
  if (static_cast<size_t>(start->operand_count()) != wrapped.parameters().size()) {
    return Invalid("'", start->name(), "' gives ", start->operand_count(), " operand(s) to '",
                   wrapped.name(), "', which takes ", wrapped.parameters().size());
  }
  if (ShapesSame(done.shape(), wrapped.root().shape())) return absl::OkStatus();
  return Invalid("declared as ", done.shape().ToString(false), ", but '", wrapped.name(),
                 "' gives ", wrapped.root().shape().ToString(false));
}

}  // namespace

absl::Status CheckAsync(const HloInstruction& instruction) {
  if (instruction.opcode() == HloOpcode::kAsyncStart) return CheckStart(instruction);
  if (instruction.opcode() == HloOpcode::kAsyncDone) return CheckDone(instruction);
  return absl::OkStatus();
}

}  // namespace autotune::verifier_rules
