#include "hlo/in_place_update.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "hlo/computation.h"

namespace autotune {
namespace {

bool IsFusion(const HloInstruction& instruction) {
  return instruction.opcode() == HloOpcode::kFusion && !instruction.called_computations().empty();
}

// An instruction of a kernel and the fusions around it, outermost first.
struct Place {
  const HloInstruction* instruction;
  std::vector<const HloInstruction*> fusions;
};

// Steps from fusions into their roots, and from bitcasts to what they view.
Place ComputedAt(const HloInstruction& operation, int64_t index) {
  Place place{&operation, {}};
  for (;;) {
    const HloInstruction& at = *place.instruction;
    if (IsFusion(at)) {
      place.fusions.push_back(&at);
      place.instruction = &at.called_computations()[0]->root();
    } else if (at.opcode() == HloOpcode::kTuple && index < at.operand_count()) {
      place.instruction = &at.operand(index);
    } else if (at.opcode() == HloOpcode::kBitcast) {
      place.instruction = &at.operand(0);
    } else {
      return place;
    }
  }
}

// Follows an operand to the parameter of the kernel that it is; null if it is something computed.
// `is_read` tells whether anything else uses it on the way.
const HloInstruction* ParameterBehind(const HloInstruction& operand, Place place, bool* is_read) {
  const HloInstruction* at = &operand;
  for (;;) {
    *is_read |= at->users().size() > 1;
    if (at->opcode() == HloOpcode::kBitcast) {
      at = &at->operand(0);
    } else if (at->opcode() != HloOpcode::kParameter) {
      return nullptr;
    } else if (place.fusions.empty()) {
      return at;
    } else {
      const HloInstruction& fusion = *place.fusions.back();
      const int64_t number = at->parameter_number();
      if (number < 0 || number >= fusion.operand_count()) return nullptr;
      at = &fusion.operand(number);
      const auto operands = fusion.operands();
      *is_read |= std::count(operands.begin(), operands.end(), at) > 1;
      place.fusions.pop_back();
    }
  }
}

}  // namespace

std::optional<InPlaceUpdate> FindInPlaceUpdate(const HloInstruction& operation, int64_t index) {
  Place place = ComputedAt(operation, index);
  const HloInstruction& root = *place.instruction;
  if (root.opcode() != HloOpcode::kDynamicUpdateSlice || root.operand_count() < 2) {
    return std::nullopt;
  }
  const auto operands = root.operands();
  InPlaceUpdate found{&root, &root.operand(1), nullptr, false};
  found.is_read = std::count(operands.begin(), operands.end(), &root.operand(0)) > 1;
  found.parameter = ParameterBehind(root.operand(0), std::move(place), &found.is_read);
  if (found.parameter == nullptr) return std::nullopt;
  return found;
}

}  // namespace autotune
