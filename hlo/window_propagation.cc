#include "hlo/window_propagation.h"

#include <optional>
#include <utility>

#include "hlo/computation.h"
#include "hlo/window_relations.h"

namespace autotune {
namespace {

// Nested fusions are one or two levels deep in practice.
constexpr int kMaxSweeps = 16;

bool IsFusion(const HloInstruction& instruction) {
  return instruction.opcode() == HloOpcode::kFusion && !instruction.called_computations().empty();
}

}  // namespace

WindowPropagation::WindowPropagation(const HloInstruction& operation) {
  for (const HloInstruction* operand : operation.operands()) instructions_.push_back(operand);
  Flatten(operation);
}

void WindowPropagation::Flatten(const HloInstruction& operation) {
  if (IsFusion(operation)) {
    for (const HloInstruction* inner : operation.called_computations()[0]->instructions()) {
      Flatten(*inner);
    }
  }
  instructions_.push_back(&operation);
}

void WindowPropagation::Set(const HloInstruction& instruction, const Windows& windows) {
  windows_.try_emplace(&instruction, windows);
}

const Windows* WindowPropagation::Find(const HloInstruction& instruction) const {
  const auto found = windows_.find(&instruction);
  return found == windows_.end() ? nullptr : &found->second;
}

// The two instructions have the same result.
bool WindowPropagation::Share(const HloInstruction& a, const HloInstruction& b) {
  const Windows* known_a = Find(a);
  const Windows* known_b = Find(b);
  if ((known_a == nullptr) == (known_b == nullptr)) return false;
  if (known_a != nullptr) {
    Windows copy = *known_a;
    windows_.try_emplace(&b, std::move(copy));
  } else {
    Windows copy = *known_b;
    windows_.try_emplace(&a, std::move(copy));
  }
  return true;
}

bool WindowPropagation::VisitFusion(const HloInstruction& fusion) {
  const HloComputation& body = *fusion.called_computations()[0];
  bool changed = !fusion.shape().IsTuple() && Share(fusion, body.root());
  const auto parameters = body.parameters();
  for (size_t i = 0; i < parameters.size() && i < fusion.operands().size(); ++i) {
    changed |= Share(*parameters[i], *fusion.operands()[i]);
  }
  return changed;
}

bool WindowPropagation::Visit(const HloInstruction& instruction) {
  if (IsFusion(instruction)) return VisitFusion(instruction);
  if (instruction.opcode() == HloOpcode::kTuple) return false;
  bool changed = false;
  if (Find(instruction) == nullptr) {
    for (int64_t i = 0; i < instruction.operand_count(); ++i) {
      const Windows* operand = Find(instruction.operand(i));
      if (operand == nullptr) continue;
      std::optional<Windows> result = ResultWindows(instruction, i, *operand);
      if (!result) continue;
      windows_.try_emplace(&instruction, *std::move(result));
      changed = true;
      break;
    }
  }
  if (Find(instruction) == nullptr) return changed;
  for (int64_t i = 0; i < instruction.operand_count(); ++i) {
    if (Find(instruction.operand(i)) != nullptr) continue;
    std::optional<Windows> operand = OperandWindows(instruction, i, *Find(instruction));
    if (!operand) continue;
    windows_.try_emplace(&instruction.operand(i), *std::move(operand));
    changed = true;
  }
  return changed;
}

bool WindowPropagation::Sweep(bool forwards) {
  bool changed = false;
  const size_t n = instructions_.size();
  for (size_t i = 0; i < n; ++i) {
    changed |= Visit(*instructions_[forwards ? i : n - 1 - i]);
  }
  return changed;
}

// The new dimensions of a broadcast that nothing else determines are needed whole. True if that
// settled something.
bool WindowPropagation::GuessBroadcasts() {
  for (const HloInstruction* instruction : instructions_) {
    if (instruction->opcode() != HloOpcode::kBroadcast || Find(*instruction) != nullptr) continue;
    const Windows* operand = Find(instruction->operand(0));
    if (operand == nullptr || operand->size() != instruction->dimensions().size()) continue;
    Windows result;
    for (const int64_t extent : instruction->shape().dimensions()) {
      result.push_back(WindowDim::Whole(extent));
    }
    for (size_t d = 0; d < operand->size(); ++d) {
      result[static_cast<size_t>(instruction->dimensions()[d])] = (*operand)[d];
    }
    windows_.try_emplace(instruction, std::move(result));
    return true;
  }
  return false;
}

void WindowPropagation::Run() {
  for (int sweep = 0; sweep < kMaxSweeps; ++sweep) {
    const bool backwards = Sweep(false);
    const bool forwards = Sweep(true);
    if (!backwards && !forwards && !GuessBroadcasts()) return;
  }
}

}  // namespace autotune
