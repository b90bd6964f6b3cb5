#ifndef AUTOTUNE_HLO_COST_VISITOR_H_
#define AUTOTUNE_HLO_COST_VISITOR_H_

#include <array>
#include <cstddef>
#include <cstdint>

#include "hlo/cost_analysis.h"
#include "hlo/instruction.h"
#include "hlo/shape.h"

// The parts of CostAnalysis; not for use elsewhere.

namespace autotune {

// Calls `visit` with every array within the shape.
template <typename Visit>
void ForEachArray(const Shape& shape, const Visit& visit) {
  if (shape.IsArray()) visit(shape);
  for (const Shape& part : shape.tuple_shapes()) ForEachArray(part, visit);
}

// Fills in a CostAnalysis, one instruction at a time, callees first.
class CostVisitor {
 public:
  explicit CostVisitor(CostAnalysis& analysis) : analysis_(analysis) {}

  // REQUIRES: the computations that it calls were visited.
  void Visit(const HloComputation& computation);

 private:
  // What is asked of shapes again and again: a module has few, and one object for each.
  struct ShapeCost {
    const Shape* shape = nullptr;
    // CostBytes.
    double bytes = 0;
    // Of an array; 0 for anything else.
    double elements = 0;
  };

  const ShapeCost& CostOf(const Shape& shape) {
    const auto address = reinterpret_cast<uintptr_t>(&shape);
    ShapeCost& cost = shape_costs_[(address / alignof(Shape) ^ address / 4096) % kShapeCosts];
    if (cost.shape != &shape) {
      cost = {&shape, CostBytes(shape), static_cast<double>(shape.ElementsIn())};
    }
    return cost;
  }
  double BytesOf(const Shape& shape) { return CostOf(shape).bytes; }
  double ElementsOf(const Shape& shape) { return CostOf(shape).elements; }
  // Elements of an array, or of the first array of a tuple.
  double FirstElements(const Shape& shape) {
    if (!shape.IsTuple()) return ElementsOf(shape);
    return shape.tuple_shapes().empty() ? 0 : FirstElements(shape.tuple_shapes(0));
  }
  // The bytes of a result: of a tuple, those of its arrays.
  double ResultBytes(const Shape& shape);
  double FftFlops(const HloInstruction& fft);
  // The costs of a visited computation's instructions, by position.
  const CostAnalysis::InstructionCost* CostsOf(const HloComputation& computation) const {
    const auto& known = analysis_.computations_.find(&computation)->second;
    return analysis_.instructions_.data() + known.first_instruction;
  }

  // The traffic of an instruction about which nothing special is known: all operands are read, the
  // result is written.
  void SetDefaultBytes(const HloInstruction& instruction);

  void SetOperandBytes(int64_t i, double bytes) {
    analysis_.operand_bytes_[entry_->first_operand + i] = bytes;
  }

  void SetNoTraffic(const HloInstruction& instruction) {
    entry_->cost.bytes_accessed = 0;
    entry_->output_bytes = 0;
    for (int64_t i = 0; i < instruction.operand_count(); ++i) SetOperandBytes(i, 0);
  }

  void Visit(const HloInstruction& instruction);
  void VisitStructural(const HloInstruction& instruction);
  void VisitCalling(const HloInstruction& instruction);

  void VisitElementwise(const HloInstruction& instruction);

  // Adds `times` executions of a called computation, but for its traffic.
  void AddCalls(const HloInstruction& caller, size_t callee, double times) {
    if (callee >= caller.called_computations().size()) return;
    const Cost& called = analysis_.Of(*caller.called_computations()[callee]);
    entry_->cost.flops += called.flops * times;
    entry_->cost.transcendentals += called.transcendentals * times;
    entry_->cost.unknown += called.unknown;
  }

  bool VisitCustomFusion(const HloInstruction& fusion);
  void VisitFusion(const HloInstruction& fusion);
  void VisitConditional(const HloInstruction& conditional);
  void VisitReduceWindow(const HloInstruction& instruction);
  void VisitSlicing(const HloInstruction& instruction);
  void VisitScatter(const HloInstruction& scatter);
  void VisitAllReduce(const HloInstruction& all_reduce);
  void VisitOutfeed(const HloInstruction& outfeed);
  void VisitTriangular(const HloInstruction& instruction);
  double ParameterReadBytes(const HloInstruction& parameter);
  double FusionOutputBytes(const HloInstruction& fusion, const HloInstruction& root);
  double NestedReadBytes(const HloInstruction& nested, int64_t i);

  static constexpr size_t kShapeCosts = 512;

  CostAnalysis& analysis_;
  CostAnalysis::InstructionCost* entry_ = nullptr;
  std::array<ShapeCost, kShapeCosts> shape_costs_;
};

}  // namespace autotune

#endif  // AUTOTUNE_HLO_COST_VISITOR_H_
