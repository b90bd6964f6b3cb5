#ifndef AUTOTUNE_HLO_COST_ANALYSIS_H_
#define AUTOTUNE_HLO_COST_ANALYSIS_H_

#include <cstdint>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "hlo/module.h"

namespace autotune {

// What executing something once costs, whatever the device. Counts are doubles because products of
// extents exceed int64.
struct Cost {
  // Arithmetic operations; a fused multiply-add is two. Transcendental functions are not among
  // them.
  double flops = 0;
  // Evaluations of exp, log, tanh, sqrt, ... and draws of random numbers.
  double transcendentals = 0;
  // Bytes of the operands read and of the result written, unpadded.
  double bytes_accessed = 0;
  // Custom calls, of which nothing is known; they count nothing above.
  int64_t unknown = 0;

  Cost& operator+=(const Cost& other);
};

// Counts FLOPs, transcendentals and bytes for every instruction of a module, by the rules of XLA's
// HloCostAnalysis (checked against it by tests/conformance). Where the two differ:
// - XLA adds in float, this in double: totals differ in the seventh digit.
// - XLA counts -1 of everything for a custom call; here it counts as `unknown`.
//
// A while loop counts one iteration (its trip count is no part of the cost model of HLO), a
// conditional its dearest branch for each of the quantities. Immutable, thread-safe to read. Refers
// to the module, which must outlive it. Time and memory are linear in the module.
class CostAnalysis {
 public:
  explicit CostAnalysis(const HloModule& module);

  // Of the entry computation.
  const Cost& total() const { return Of(module_.entry_computation()); }
  // The sum over a computation's instructions.
  const Cost& Of(const HloComputation& computation) const;
  // Of one instruction, with the computations that it calls. A fusion's inner traffic does not
  // touch memory and is not counted.
  const Cost& Of(const HloInstruction& instruction) const;

  // Bytes read of operand `i`, and written as the result.
  double OperandBytes(const HloInstruction& instruction, int64_t i) const;
  double OutputBytes(const HloInstruction& instruction) const;

 private:
  friend class CostVisitor;

  struct InstructionCost {
    Cost cost;
    double output_bytes = 0;
    // CostBytes of the result's shape, for its users.
    double value_bytes = 0;
    // Of a parameter of a fusion: what its users within the fusion read of it.
    double parameter_read_bytes = 0;
    // Where this instruction's operands begin in operand_bytes_.
    int64_t first_operand = 0;
  };

  InstructionCost& Entry(const HloInstruction& instruction);
  const InstructionCost& Entry(const HloInstruction& instruction) const;

  const HloModule& module_;
  // Index of a computation's first instruction in instructions_, and its total.
  struct ComputationCost {
    int64_t first_instruction = 0;
    Cost total;
  };
  absl::flat_hash_map<const HloComputation*, ComputationCost> computations_;
  std::vector<InstructionCost> instructions_;
  std::vector<double> operand_bytes_;
};

// Bytes that XLA's cost analysis counts for a value: an array's elements, and 4 for every extent of
// an array that has a dynamic one; 8 for every element of a tuple (its index table); 0 for a token
// and for anything without a layout.
double CostBytes(const Shape& shape);

// FLOPs of a convolution: two for each pair of kernel and input element that meet, so padding and
// dilation holes cost nothing. Constant time in the spatial extents of the output.
double ConvolutionFlops(const HloInstruction& convolution);

// FLOPs of a dot (also a ragged or scaled one): two for each element of the result and of the
// contracted dimensions.
double DotFlops(const HloInstruction& dot);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_COST_ANALYSIS_H_
