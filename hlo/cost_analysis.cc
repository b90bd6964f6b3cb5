#include "hlo/cost_analysis.h"

#include <cstdint>

#include "absl/algorithm/container.h"
#include "hlo/cost_visitor.h"

namespace autotune {
namespace {

// The index table of a tuple holds a pointer an element.
constexpr double kPointerBytes = 8;

// Before the elements of an array with dynamic extents stand the extents.
constexpr double kExtentBytes = 4;

bool HasLayouts(const Shape& shape) {
  if (shape.IsTuple()) return absl::c_all_of(shape.tuple_shapes(), HasLayouts);
  return !shape.IsArray() || shape.has_layout();
}

}  // namespace

Cost& Cost::operator+=(const Cost& other) {
  flops += other.flops;
  transcendentals += other.transcendentals;
  bytes_accessed += other.bytes_accessed;
  unknown += other.unknown;
  return *this;
}

double CostBytes(const Shape& shape) {
  if (!HasLayouts(shape)) return 0;
  if (shape.IsTuple()) return kPointerBytes * static_cast<double>(shape.tuple_shapes().size());
  const double bytes = static_cast<double>(shape.ByteSize());
  if (!shape.HasDynamicDimension()) return bytes;
  return bytes + kExtentBytes * static_cast<double>(shape.rank());
}

CostAnalysis::CostAnalysis(const HloModule& module) : module_(module) {
  instructions_.reserve(static_cast<size_t>(module.instruction_count()));
  operand_bytes_.reserve(static_cast<size_t>(2 * module.instruction_count()));
  computations_.reserve(module.computations().size());
  CostVisitor visitor(*this);
  for (const HloComputation* computation : module.computations()) visitor.Visit(*computation);
}

CostAnalysis::InstructionCost& CostAnalysis::Entry(const HloInstruction& instruction) {
  const int64_t first = computations_.find(&instruction.parent())->second.first_instruction;
  return instructions_[first + instruction.position()];
}

const CostAnalysis::InstructionCost& CostAnalysis::Entry(const HloInstruction& instruction) const {
  const int64_t first = computations_.find(&instruction.parent())->second.first_instruction;
  return instructions_[first + instruction.position()];
}

const Cost& CostAnalysis::Of(const HloComputation& computation) const {
  return computations_.find(&computation)->second.total;
}

const Cost& CostAnalysis::Of(const HloInstruction& instruction) const {
  return Entry(instruction).cost;
}

double CostAnalysis::OperandBytes(const HloInstruction& instruction, int64_t i) const {
  return operand_bytes_[Entry(instruction).first_operand + i];
}

double CostAnalysis::OutputBytes(const HloInstruction& instruction) const {
  return Entry(instruction).output_bytes;
}

}  // namespace autotune
