// What each kind of operation costs, but for fusions.

#include "hlo/cost_visitor.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>

#include "hlo/opcode.h"

namespace autotune {
namespace {

bool IsTranscendental(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kAcos:
    case HloOpcode::kAcosh:
    case HloOpcode::kAsin:
    case HloOpcode::kAsinh:
    case HloOpcode::kAtan2:
    case HloOpcode::kAtanh:
    case HloOpcode::kCbrt:
    case HloOpcode::kCos:
    case HloOpcode::kCosh:
    case HloOpcode::kErf:
    case HloOpcode::kExp:
    case HloOpcode::kExpm1:
    case HloOpcode::kLog:
    case HloOpcode::kLog1p:
    case HloOpcode::kLogistic:
    case HloOpcode::kPower:
    case HloOpcode::kRsqrt:
    case HloOpcode::kSin:
    case HloOpcode::kSinh:
    case HloOpcode::kSqrt:
    case HloOpcode::kTan:
    case HloOpcode::kTanh:
      return true;
    default:
      return false;
  }
}

double WindowElements(const proto::Window& window) {
  double elements = 1;
  for (const proto::WindowDimension& dimension : window.dimensions()) {
    elements *= static_cast<double>(dimension.size());
  }
  return elements;
}

// True for a transpose that leaves the elements where they are in memory.
bool IsBitcast(const HloInstruction& transpose) {
  const Shape& from = transpose.operand(0).shape();
  const Shape& to = transpose.shape();
  const auto dimensions = transpose.dimensions();
  if (!from.has_layout() || !to.has_layout() || from.rank() != to.rank() ||
      static_cast<int64_t>(dimensions.size()) != to.rank() ||
      from.layout().tiles != to.layout().tiles) {
    return false;
  }
  for (size_t i = 0; i < to.layout().minor_to_major.size(); ++i) {
    const auto dimension = static_cast<size_t>(to.layout().minor_to_major[i]);
    if (dimension >= dimensions.size() || i >= from.layout().minor_to_major.size() ||
        dimensions[dimension] != from.layout().minor_to_major[i]) {
      return false;
    }
  }
  return true;
}

double CeilLog2(double elements) {
  const auto count = static_cast<uint64_t>(elements);
  return count <= 1 ? 0 : std::bit_width(count - 1);
}

}  // namespace

double CostVisitor::ResultBytes(const Shape& shape) {
  if (!shape.IsTuple()) return BytesOf(shape);
  double bytes = 0;
  ForEachArray(shape, [&](const Shape& array) { bytes += BytesOf(array); });
  return bytes;
}

// Four multiply-adds for each complex multiplication of a radix-2 transform, for each of its steps
// along each dimension.
double CostVisitor::FftFlops(const HloInstruction& fft) {
  double steps = 1;
  for (int64_t length : fft.attributes().fft_length()) {
    steps *= std::bit_width(static_cast<uint64_t>(std::max<int64_t>(1, length))) - 1;
  }
  return fft.operand_count() == 0 ? 0 : 8 * steps * FirstElements(fft.operand(0).shape());
}

void CostVisitor::Visit(const HloComputation& computation) {
  const auto first = static_cast<int64_t>(analysis_.instructions_.size());
  analysis_.instructions_.resize(analysis_.instructions_.size() +
                                 computation.instructions().size());
  const bool is_fused = computation.IsFusionComputation();
  Cost total;
  int64_t index = first;
  for (const HloInstruction* instruction : computation.instructions()) {
    entry_ = &analysis_.instructions_[index++];
    Visit(*instruction);
    total += entry_->cost;
  }
  if (is_fused) {
    CostAnalysis::InstructionCost* costs = &analysis_.instructions_[first];
    for (const HloInstruction* parameter : computation.parameters()) {
      costs[parameter->position()].parameter_read_bytes = ParameterReadBytes(*parameter);
    }
  }
  analysis_.computations_.emplace(&computation, CostAnalysis::ComputationCost{first, total});
}

void CostVisitor::SetDefaultBytes(const HloInstruction& instruction) {
  entry_->first_operand = static_cast<int64_t>(analysis_.operand_bytes_.size());
  entry_->value_bytes = BytesOf(instruction.shape());
  entry_->output_bytes =
      instruction.shape().IsTuple() ? ResultBytes(instruction.shape()) : entry_->value_bytes;
  entry_->cost.bytes_accessed = entry_->output_bytes;
  const CostAnalysis::InstructionCost* first = entry_ - instruction.position();
  for (const HloInstruction* operand : instruction.operands()) {
    const double bytes = operand->position() < instruction.position()
                             ? first[operand->position()].value_bytes
                             : BytesOf(operand->shape());
    analysis_.operand_bytes_.push_back(bytes);
    entry_->cost.bytes_accessed += bytes;
  }
}

void CostVisitor::VisitElementwise(const HloInstruction& instruction) {
  const double elements = FirstElements(instruction.shape());
  Cost& cost = entry_->cost;
  (IsTranscendental(instruction.opcode()) ? cost.transcendentals : cost.flops) = elements;
}

void CostVisitor::Visit(const HloInstruction& instruction) {
  SetDefaultBytes(instruction);
  switch (instruction.opcode()) {
    case HloOpcode::kConvolution:
      entry_->cost.flops = ConvolutionFlops(instruction);
      return;
    case HloOpcode::kDot:
    case HloOpcode::kRaggedDot:
    case HloOpcode::kScaledDot:
      entry_->cost.flops = DotFlops(instruction);
      return;
    case HloOpcode::kFft:
      entry_->cost.flops = FftFlops(instruction);
      return;
    case HloOpcode::kRng:
    case HloOpcode::kRngBitGenerator:
      ForEachArray(instruction.shape(), [this](const Shape& array) {
        entry_->cost.transcendentals += ElementsOf(array);
      });
      return;
    case HloOpcode::kSort: {
      const double elements =
          instruction.operand_count() > 0 ? ElementsOf(instruction.operand(0).shape()) : 0;
      entry_->cost.flops = elements * CeilLog2(elements);
      return;
    }
    case HloOpcode::kSlice:
    case HloOpcode::kDynamicSlice:
    case HloOpcode::kDynamicUpdateSlice:
    case HloOpcode::kGather:
      return VisitSlicing(instruction);
    case HloOpcode::kAllReduce:
    case HloOpcode::kAllReduceStart:
      return VisitAllReduce(instruction);
    case HloOpcode::kReduceWindow:
      return VisitReduceWindow(instruction);
    case HloOpcode::kOutfeed:
      return VisitOutfeed(instruction);
    case HloOpcode::kCholesky:
    case HloOpcode::kTriangularSolve:
      return VisitTriangular(instruction);
    case HloOpcode::kScatter:
      return VisitScatter(instruction);
    default:
      break;
  }
  // A copy is element-wise, but computes nothing.
  if (IsElementwise(instruction.opcode()) && instruction.opcode() != HloOpcode::kCopy) {
    return VisitElementwise(instruction);
  }
  if (!instruction.called_computations().empty()) return VisitCalling(instruction);
  VisitStructural(instruction);
}

// Instructions that move or forward values without calling anything.
void CostVisitor::VisitStructural(const HloInstruction& instruction) {
  switch (instruction.opcode()) {
    case HloOpcode::kParameter:
    case HloOpcode::kConstant:
    case HloOpcode::kGetTupleElement:
    case HloOpcode::kBitcast:
    case HloOpcode::kDomain:
    case HloOpcode::kAfterAll:
    case HloOpcode::kAddDependency:
      return SetNoTraffic(instruction);
    case HloOpcode::kTuple: {
      const double table = BytesOf(instruction.shape());
      SetNoTraffic(instruction);
      entry_->output_bytes = table;
      entry_->cost.bytes_accessed = table;
      return;
    }
    case HloOpcode::kTranspose:
      if (instruction.operand_count() == 1 && IsBitcast(instruction)) SetNoTraffic(instruction);
      return;
    case HloOpcode::kCustomCall:
      SetNoTraffic(instruction);
      entry_->cost.unknown = 1;
      return;
    default:
      return;
  }
}

// Instructions whose cost follows from the computations that they call.
void CostVisitor::VisitCalling(const HloInstruction& instruction) {
  switch (instruction.opcode()) {
    case HloOpcode::kFusion:
      return VisitFusion(instruction);
    case HloOpcode::kConditional:
      return VisitConditional(instruction);
    case HloOpcode::kCall:
    case HloOpcode::kAsyncStart:
    case HloOpcode::kWhile:
      entry_->cost = Cost();
      for (const HloComputation* called : instruction.called_computations()) {
        entry_->cost += analysis_.Of(*called);
      }
      return;
    case HloOpcode::kMap:
      return AddCalls(instruction, 0, ElementsOf(instruction.shape()));
    case HloOpcode::kReduce:
      if (instruction.operand_count() == 0) return;
      return AddCalls(
          instruction, 0,
          ElementsOf(instruction.operand(0).shape()) - FirstElements(instruction.shape()));
    case HloOpcode::kSelectAndScatter: {
      if (instruction.operand_count() < 2) return;
      const double sources = ElementsOf(instruction.operand(1).shape());
      AddCalls(instruction, 0, sources * (WindowElements(instruction.attributes().window()) - 1));
      return AddCalls(instruction, 1, sources);
    }
    default:
      return VisitStructural(instruction);
  }
}

void CostVisitor::VisitConditional(const HloInstruction& conditional) {
  Cost dearest;
  for (const HloComputation* branch : conditional.called_computations()) {
    const Cost& cost = analysis_.Of(*branch);
    dearest.flops = std::max(dearest.flops, cost.flops);
    dearest.transcendentals = std::max(dearest.transcendentals, cost.transcendentals);
    dearest.bytes_accessed = std::max(dearest.bytes_accessed, cost.bytes_accessed);
    dearest.unknown = std::max(dearest.unknown, cost.unknown);
  }
  entry_->cost = dearest;
}

void CostVisitor::VisitReduceWindow(const HloInstruction& instruction) {
  const double outputs = FirstElements(instruction.shape());
  const proto::Window& window = instruction.attributes().window();
  double reductions = (WindowElements(window) - 1) * outputs;
  // A window that spans a whole dimension from every position computes one reduction and repeats
  // it, as a reduce followed by a broadcast would.
  int reduced = 0, padded = 0, spanning = -1;
  for (int i = 0; i < window.dimensions_size(); ++i) {
    const proto::WindowDimension& dimension = window.dimensions(i);
    reduced += dimension.size() != 1;
    padded += dimension.padding_low() != 0 || dimension.padding_high() != 0;
    const bool spans = dimension.size() != 1 && dimension.padding_low() != 0 &&
                       dimension.padding_low() == dimension.padding_high() &&
                       (dimension.size() - 1) / 2 == dimension.padding_low() &&
                       dimension.size() % 2 == 1;
    if (spans && spanning < 0) spanning = i;
  }
  const Shape& shape = instruction.shape();
  if (reduced == 1 && padded == 1 && spanning >= 0 && shape.IsArray() && spanning < shape.rank() &&
      window.dimensions(spanning).padding_low() == shape.dimensions(spanning) - 1) {
    const double span = static_cast<double>(shape.dimensions(spanning));
    reductions = outputs / span + (span - 1);
  }
  AddCalls(instruction, 0, reductions);
}

// A slice, gather or update touches only its part of the large operand.
void CostVisitor::VisitSlicing(const HloInstruction& instruction) {
  const bool is_update = instruction.opcode() == HloOpcode::kDynamicUpdateSlice;
  const int64_t indices = is_update ? 2 : 1;
  if (instruction.operand_count() < indices) return;
  const double part = BytesOf(is_update ? instruction.operand(1).shape() : instruction.shape());
  double index_bytes = 0;
  if (indices < instruction.operand_count()) {
    index_bytes = BytesOf(instruction.operand(indices).shape());
    SetOperandBytes(indices, index_bytes);
  }
  SetOperandBytes(0, is_update ? 0 : part);
  if (is_update) SetOperandBytes(1, part);
  entry_->output_bytes = part;
  entry_->cost.bytes_accessed = 2 * part + index_bytes;
}

void CostVisitor::VisitScatter(const HloInstruction& scatter) {
  const int64_t arrays = scatter.operand_count() / 2;
  if (arrays < 1 || scatter.operand_count() < 2 * arrays + 1) return;
  double updates = 0;
  for (int64_t i = 0; i < arrays; ++i) {
    const double bytes = BytesOf(scatter.operand(arrays + 1 + i).shape());
    SetOperandBytes(i, bytes);
    SetOperandBytes(arrays + 1 + i, bytes);
    updates += bytes;
  }
  entry_->cost.bytes_accessed = 3 * updates + BytesOf(scatter.operand(arrays).shape());
  entry_->output_bytes = updates;
  AddCalls(scatter, 0, ElementsOf(scatter.operand(arrays + 1).shape()));
}

// All arrays of the operands, also those within tuples.
void CostVisitor::VisitOutfeed(const HloInstruction& outfeed) {
  entry_->cost.bytes_accessed = 0;
  for (int64_t i = 0; i < outfeed.operand_count(); ++i) {
    const double bytes = ResultBytes(outfeed.operand(i).shape());
    SetOperandBytes(i, bytes);
    entry_->cost.bytes_accessed += bytes;
  }
}

// Of a triangular matrix half is read or written. A Cholesky factor takes n^3 / 3 operations, a
// solution a multiply-add for each element of the matrix and right-hand side that meet.
void CostVisitor::VisitTriangular(const HloInstruction& instruction) {
  if (instruction.operand_count() == 0 || instruction.operand(0).shape().rank() == 0) return;
  const Shape& matrix = instruction.operand(0).shape();
  const double n = static_cast<double>(matrix.dimensions(matrix.rank() - 1));
  const double half = BytesOf(matrix) / 2;
  SetOperandBytes(0, half);
  if (instruction.opcode() == HloOpcode::kCholesky) {
    entry_->cost.flops = std::floor(n * ElementsOf(matrix) / 3);
    entry_->output_bytes = half;
    entry_->cost.bytes_accessed = 2 * half;
  } else if (instruction.operand_count() == 2) {
    entry_->cost.flops = 2 * n * ElementsOf(instruction.operand(1).shape());
    entry_->cost.bytes_accessed -= half;
  }
}

// Counted as the sum over two replicas.
void CostVisitor::VisitAllReduce(const HloInstruction& all_reduce) {
  double output_bytes = 0;
  ForEachArray(all_reduce.shape(), [&](const Shape& array) {
    entry_->cost.flops += ElementsOf(array);
    output_bytes += BytesOf(array);
  });
  entry_->cost.bytes_accessed += output_bytes - entry_->output_bytes;
  entry_->output_bytes = output_bytes;
}

}  // namespace autotune
