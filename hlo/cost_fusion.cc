// What a fusion costs: its operations, and what it reads and writes as a whole.

#include <algorithm>
#include <cstdint>

#include "hlo/cost_visitor.h"

namespace autotune {

// What a fusion within a fusion reads of its operand `i`, as XLA counts it: only what its users ask
// for, so nothing where it is the root.
double CostVisitor::NestedReadBytes(const HloInstruction& nested, int64_t i) {
  const HloComputation& fused = *nested.called_computations()[0];
  if (static_cast<size_t>(i) >= fused.parameters().size()) return 0;
  const HloInstruction& parameter = *fused.parameters()[static_cast<size_t>(i)];
  const HloInstruction& root = fused.root();
  // Passes the operand on, or does one thing with it: a slice of the result is one of the operand.
  const bool simple = root.operand_count() == 0 || &root.operand(0) == &parameter;
  double bytes = 0;
  bool read_whole = false;
  for (const HloInstruction* user : nested.users()) {
    const bool is_first_operand = user->operand_count() > 0 && &user->operand(0) == &nested;
    const HloOpcode opcode = simple ? user->opcode() : HloOpcode::kUnknown;
    if (opcode == HloOpcode::kSlice || (opcode == HloOpcode::kDynamicSlice && is_first_operand)) {
      bytes += BytesOf(user->shape());
    } else if (opcode == HloOpcode::kDynamicUpdateSlice && is_first_operand) {
      continue;  // updated in place
    } else if (!read_whole) {
      read_whole = true;
      bytes += opcode == HloOpcode::kDynamicSlice || opcode == HloOpcode::kDynamicUpdateSlice
                   ? BytesOf(nested.shape())
                   : analysis_.Entry(parameter).parameter_read_bytes;
    }
  }
  return bytes;
}

// What the users of a fusion's parameter read of it. Users that read the whole share one reading,
// but for broadcasts and reshapes, as XLA counts it.
double CostVisitor::ParameterReadBytes(const HloInstruction& parameter) {
  if (parameter.shape().IsTuple()) {
    double bytes = 0;
    for (const HloInstruction* user : parameter.users()) {
      if (user->opcode() == HloOpcode::kGetTupleElement) bytes += ParameterReadBytes(*user);
    }
    return bytes;
  }
  const double whole = BytesOf(parameter.shape());
  double bytes = 0;
  bool read_whole = false;
  for (const HloInstruction* user : parameter.users()) {
    const bool is_first_operand = user->operand_count() > 0 && &user->operand(0) == &parameter;
    switch (user->opcode()) {
      case HloOpcode::kFusion:
        for (int64_t i = 0; i < user->operand_count(); ++i) {
          if (&user->operand(i) == &parameter) bytes += NestedReadBytes(*user, i);
        }
        break;
      case HloOpcode::kSlice:
        bytes += BytesOf(user->shape());
        break;
      case HloOpcode::kBroadcast:
      case HloOpcode::kReshape:
        bytes += whole;
        break;
      case HloOpcode::kDynamicSlice:
        if (is_first_operand) {
          bytes += BytesOf(user->shape());
          break;
        }
        read_whole = true;
        break;
      case HloOpcode::kDynamicUpdateSlice:
        // Its first operand is updated in place.
        if (!is_first_operand) read_whole = true;
        break;
      default:
        read_whole = true;
    }
  }
  return bytes + (read_whole ? whole : 0);
}

// A custom fusion around a gather or scatter costs what that costs.
bool CostVisitor::VisitCustomFusion(const HloInstruction& fusion) {
  if (fusion.attributes().fusion_kind() != "kCustom") return false;
  for (const HloInstruction* inner : fusion.called_computations()[0]->instructions()) {
    if (inner->opcode() != HloOpcode::kGather && inner->opcode() != HloOpcode::kScatter) continue;
    const CostAnalysis::InstructionCost& known = analysis_.Entry(*inner);
    entry_->cost = known.cost;
    entry_->output_bytes = known.output_bytes;
    // XLA sets the inner operation's operands as if they were the fusion's, by number.
    const int64_t operands = std::min(fusion.operand_count(), inner->operand_count());
    for (int64_t k = 0; k < operands; ++k) SetOperandBytes(k, analysis_.OperandBytes(*inner, k));
    return true;
  }
  return false;
}

// The result; an update in place writes its update only.
double CostVisitor::FusionOutputBytes(const HloInstruction& fusion, const HloInstruction& root) {
  const auto written = [this](const HloInstruction& value, const Shape& shape) {
    const bool in_place =
        value.opcode() == HloOpcode::kDynamicUpdateSlice && value.operand_count() > 1;
    return BytesOf(in_place ? value.operand(1).shape() : shape);
  };
  if (fusion.shape().IsArray()) return written(root, fusion.shape());
  double bytes = 0;
  for (size_t i = 0; i < fusion.shape().tuple_shapes().size(); ++i) {
    const Shape& part = fusion.shape().tuple_shapes(static_cast<int64_t>(i));
    const bool known = root.opcode() == HloOpcode::kTuple && part.IsArray() &&
                       static_cast<int64_t>(i) < root.operand_count();
    bytes += known ? written(root.operand(static_cast<int64_t>(i)), part) : ResultBytes(part);
  }
  return bytes;
}

void CostVisitor::VisitFusion(const HloInstruction& fusion) {
  if (VisitCustomFusion(fusion)) return;
  const HloComputation& fused = *fusion.called_computations()[0];
  Cost& cost = entry_->cost;
  cost = analysis_.Of(fused);

  const double output_bytes = FusionOutputBytes(fusion, fused.root());
  entry_->output_bytes = output_bytes;
  cost.bytes_accessed = output_bytes;

  for (const HloInstruction* instruction : fused.instructions()) {
    if (instruction->opcode() != HloOpcode::kConstant) continue;
    const ShapeCost& constant = CostOf(instruction->shape());
    if (constant.elements > 1) cost.bytes_accessed += constant.bytes;
  }
  const int64_t parameters =
      std::min<int64_t>(fusion.operand_count(), static_cast<int64_t>(fused.parameters().size()));
  const CostAnalysis::InstructionCost* costs = CostsOf(fused);
  for (int64_t i = 0; i < parameters; ++i) {
    const size_t position = fused.parameters()[static_cast<size_t>(i)]->position();
    const double bytes = costs[position].parameter_read_bytes;
    SetOperandBytes(i, bytes);
    cost.bytes_accessed += bytes;
  }
}

}  // namespace autotune
