#include "hlo/kernel_trip_count.h"

#include <limits>
#include <string>

#include "absl/numeric/int128.h"
#include "hlo/computation.h"
#include "hlo/kernel_choice.h"

namespace autotune {
namespace {

// Follows operations that hand a scalar on unchanged.
const HloInstruction* SkipCopies(const HloInstruction* value) {
  while ((value->opcode() == HloOpcode::kCopy || value->opcode() == HloOpcode::kBitcast ||
          value->opcode() == HloOpcode::kReshape) &&
         value->shape().IsScalar() && value->operand_count() == 1) {
    value = &value->operand(0);
  }
  return value;
}

std::optional<int64_t> ScalarConstant(const HloInstruction* value) {
  value = SkipCopies(value);
  if (value->opcode() != HloOpcode::kConstant || !value->shape().IsScalar() ||
      !IsIntegral(value->shape().element_type()) || value->has_elided_literal() ||
      value->literal() == nullptr || value->literal()->data.empty()) {
    return std::nullopt;
  }
  return value->literal()->AsInt64(0);
}

// The index of the loop's tuple that `value` reads, or nullopt.
std::optional<int64_t> LoopVariable(const HloInstruction* value) {
  value = SkipCopies(value);
  if (value->opcode() != HloOpcode::kGetTupleElement || value->operand_count() != 1 ||
      value->operand(0).opcode() != HloOpcode::kParameter) {
    return std::nullopt;
  }
  return value->tuple_index();
}

// `variable` compared with a constant.
struct Bound {
  int64_t variable = 0;
  std::string direction;  // with the variable on the left
  int64_t limit = 0;
};

std::string Mirrored(const std::string& direction) {
  if (direction == "LT") return "GT";
  if (direction == "GT") return "LT";
  if (direction == "LE") return "GE";
  if (direction == "GE") return "LE";
  return direction;
}

std::optional<Bound> ConditionBound(const HloComputation& condition) {
  const HloInstruction* root = SkipCopies(&condition.root());
  if (root->opcode() != HloOpcode::kCompare || root->operand_count() != 2) return std::nullopt;
  const std::string& direction = root->attributes().comparison_direction();
  if (auto variable = LoopVariable(&root->operand(0))) {
    auto limit = ScalarConstant(&root->operand(1));
    if (limit.has_value()) return Bound{*variable, direction, *limit};
  } else if (auto right = LoopVariable(&root->operand(1))) {
    auto limit = ScalarConstant(&root->operand(0));
    if (limit.has_value()) return Bound{*right, Mirrored(direction), *limit};
  }
  return std::nullopt;
}

// What the body adds to the variable in each round.
std::optional<int64_t> Step(const HloComputation& body, int64_t variable) {
  const HloInstruction& root = body.root();
  if (root.opcode() != HloOpcode::kTuple || variable >= root.operand_count()) return std::nullopt;
  const HloInstruction* next = SkipCopies(&root.operand(variable));
  const bool adds = next->opcode() == HloOpcode::kAdd;
  if ((!adds && next->opcode() != HloOpcode::kSubtract) || next->operand_count() != 2) {
    return std::nullopt;
  }
  if (LoopVariable(&next->operand(0)) == variable) {
    const auto step = ScalarConstant(&next->operand(1));
    if (!step.has_value() || adds) return step;
    return *step == std::numeric_limits<int64_t>::min() ? std::nullopt
                                                        : std::optional<int64_t>(-*step);
  }
  if (adds && LoopVariable(&next->operand(1)) == variable) {
    return ScalarConstant(&next->operand(0));
  }
  return std::nullopt;
}

std::optional<int64_t> Start(const HloInstruction& loop, int64_t variable) {
  if (loop.operand_count() != 1) return std::nullopt;
  const HloInstruction& init = loop.operand(0);
  if (init.opcode() != HloOpcode::kTuple || variable >= init.operand_count()) return std::nullopt;
  return ScalarConstant(&init.operand(variable));
}

// Rounds of `for (i = start; i DIRECTION limit; i += step)`; nullopt if it would not end by itself.
std::optional<int64_t> Rounds(int64_t start, int64_t step, const std::string& direction,
                              int64_t limit) {
  absl::int128 distance = absl::int128(limit) - start;
  absl::int128 stride = step;
  if (direction == "GT" || direction == "GE") {
    distance = -distance;
    stride = -stride;
  } else if (direction == "NE") {
    if (stride < 0) {
      distance = -distance;
      stride = -stride;
    }
    if (stride == 0 || distance < 0 || distance % stride != 0) return std::nullopt;
  } else if (direction != "LT" && direction != "LE") {
    return std::nullopt;
  }
  if (direction == "LE" || direction == "GE") distance += 1;
  if (distance <= 0) return 0;
  if (stride <= 0) return std::nullopt;
  const absl::int128 rounds = (distance + stride - 1) / stride;
  if (rounds > std::numeric_limits<int64_t>::max()) return std::nullopt;
  return static_cast<int64_t>(rounds);
}

}  // namespace

std::optional<int64_t> WhileTripCount(const HloInstruction& loop) {
  if (auto known = ParseKnownTripCount(loop.backend_config()); known.has_value() && *known >= 0) {
    return known;
  }
  if (loop.called_computations().size() != 2) return std::nullopt;
  const HloComputation& body = *loop.called_computations()[0];
  const std::optional<Bound> bound = ConditionBound(*loop.called_computations()[1]);
  if (!bound.has_value()) return std::nullopt;
  const std::optional<int64_t> start = Start(loop, bound->variable);
  const std::optional<int64_t> step = Step(body, bound->variable);
  if (!start.has_value() || !step.has_value()) return std::nullopt;
  return Rounds(*start, *step, bound->direction, bound->limit);
}

}  // namespace autotune
