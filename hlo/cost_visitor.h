#ifndef AUTOTUNE_HLO_COST_VISITOR_H_
#define AUTOTUNE_HLO_COST_VISITOR_H_

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
  double NestedReadBytes(const HloInstruction& nested, int64_t i);

  CostAnalysis& analysis_;
  CostAnalysis::InstructionCost* entry_ = nullptr;
};

}  // namespace autotune

#endif  // AUTOTUNE_HLO_COST_VISITOR_H_
