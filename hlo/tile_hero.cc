#include "hlo/tile_hero.h"

#include "absl/strings/str_cat.h"
#include "hlo/computation.h"

namespace autotune {
namespace {

bool MovesData(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kCopy:
    case HloOpcode::kTranspose:
    case HloOpcode::kReshape:
    case HloOpcode::kReverse:
    case HloOpcode::kSlice:
    case HloOpcode::kPad:
    case HloOpcode::kConcatenate:
    case HloOpcode::kDynamicSlice:
    case HloOpcode::kDynamicUpdateSlice:
    case HloOpcode::kBroadcast:
    case HloOpcode::kGather:
      return true;
    default:
      return false;
  }
}

// Operations whose tiles mean something else, or that have none.
bool IsUntiled(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kSort:
    case HloOpcode::kScatter:
    case HloOpcode::kSelectAndScatter:
    case HloOpcode::kCustomCall:
    case HloOpcode::kFft:
    case HloOpcode::kCholesky:
    case HloOpcode::kTriangularSolve:
    case HloOpcode::kWhile:
    case HloOpcode::kConditional:
    case HloOpcode::kCall:
      return true;
    default:
      return IsCollective(opcode);
  }
}

// The most telling operations of a kernel.
struct Candidates {
  const HloInstruction* convolution = nullptr;
  const HloInstruction* reduce_window = nullptr;
  const HloInstruction* reduce = nullptr;
  bool moves_data = false;
};

void AddCandidate(const HloInstruction& instruction, Candidates* candidates) {
  const HloOpcode opcode = instruction.opcode();
  candidates->moves_data |= MovesData(opcode);
  if (opcode == HloOpcode::kConvolution) candidates->convolution = &instruction;
  if (opcode == HloOpcode::kReduceWindow) candidates->reduce_window = &instruction;
  if (opcode != HloOpcode::kReduce || !instruction.operand(0).shape().IsArray()) return;
  const HloInstruction* best = candidates->reduce;
  if (best == nullptr ||
      instruction.operand(0).shape().ElementsIn() > best->operand(0).shape().ElementsIn()) {
    candidates->reduce = &instruction;
  }
}

}  // namespace

const Shape& FirstArray(const Shape& shape) {
  return shape.IsTuple() && !shape.tuple_shapes().empty() ? FirstArray(shape.tuple_shapes(0))
                                                          : shape;
}

const HloInstruction* ResultInstruction(const HloInstruction& operation, int64_t index) {
  const HloInstruction* instruction = &operation;
  while (instruction->opcode() == HloOpcode::kFusion &&
         !instruction->called_computations().empty()) {
    instruction = &instruction->called_computations()[0]->root();
    if (instruction->opcode() == HloOpcode::kTuple && index < instruction->operand_count()) {
      instruction = &instruction->operand(index);
    }
  }
  return instruction;
}

absl::StatusOr<TileHero> FindTileHero(const HloInstruction& operation,
                                      absl::Span<const HloInstruction* const> instructions) {
  Candidates candidates;
  for (const HloInstruction* instruction : instructions) {
    // Parameters of the entry stand beside the operation.
    if (&instruction->parent() == &operation.parent() && instruction != &operation) continue;
    if (IsUntiled(instruction->opcode())) {
      return absl::UnimplementedError(absl::StrCat(instruction->name(), " is a ",
                                                   instruction->opcode_name(),
                                                   ", which has no tiles that can be chosen"));
    }
    if (instruction->opcode() == HloOpcode::kDot) {
      return absl::UnimplementedError(
          absl::StrCat(instruction->name(),
                       " is a dot: the TPU compiler tiles matrix products as convolutions"));
    }
    AddCandidate(*instruction, &candidates);
  }
  if (candidates.convolution != nullptr) {
    return TileHero{HeroKind::kConvolution, candidates.convolution};
  }
  if (candidates.reduce_window != nullptr) {
    return TileHero{HeroKind::kReduceWindow, candidates.reduce_window};
  }
  if (candidates.reduce != nullptr) return TileHero{HeroKind::kReduce, candidates.reduce};
  const HloInstruction* root = ResultInstruction(operation, 0);
  const bool moves =
      MovesData(root->opcode()) || (candidates.moves_data && !IsElementwise(root->opcode()));
  return TileHero{moves ? HeroKind::kDataMovement : HeroKind::kElementwise, root};
}

}  // namespace autotune
