#include "hlo/cost_analysis.h"

#include <algorithm>
#include <bit>
#include <cstdint>

#include "absl/types/span.h"
#include "hlo/instruction.h"
#include "hlo/opcode.h"
#include "hlo/shape.h"

namespace autotune {
namespace {

// The index table of a tuple holds a pointer an element.
constexpr double kPointerBytes = 8;

double Elements(const Shape& shape) { return static_cast<double>(shape.ElementsIn()); }

// Elements of an array, or of the first array of a tuple.
double FirstElements(const Shape& shape) {
  if (!shape.IsTuple()) return Elements(shape);
  return shape.tuple_shapes().empty() ? 0 : FirstElements(shape.tuple_shapes(0));
}

bool HasLayouts(const Shape& shape) {
  if (shape.IsTuple()) return absl::c_all_of(shape.tuple_shapes(), HasLayouts);
  return !shape.IsArray() || shape.has_layout();
}

// Calls `visit` with every array within the shape.
template <typename Visit>
void ForEachArray(const Shape& shape, const Visit& visit) {
  if (shape.IsArray()) visit(shape);
  for (const Shape& part : shape.tuple_shapes()) ForEachArray(part, visit);
}

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

// The bytes of a result: of a tuple, those of its arrays.
double ResultBytes(const Shape& shape) {
  if (!shape.IsTuple()) return CostBytes(shape);
  double bytes = 0;
  ForEachArray(shape, [&](const Shape& array) { bytes += CostBytes(array); });
  return bytes;
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

// Four multiply-adds for each complex multiplication of a radix-2 transform, for each of its steps
// along each dimension.
double FftFlops(const HloInstruction& fft) {
  double steps = 1;
  for (int64_t length : fft.attributes().fft_length()) {
    steps *= std::bit_width(static_cast<uint64_t>(std::max<int64_t>(1, length))) - 1;
  }
  return fft.operand_count() == 0 ? 0 : 8 * steps * FirstElements(fft.operand(0).shape());
}

double CeilLog2(double elements) {
  const auto count = static_cast<uint64_t>(elements);
  return count <= 1 ? 0 : std::bit_width(count - 1);
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
  return static_cast<double>(shape.ByteSize());
}

// Fills in a CostAnalysis, one instruction at a time, callees first.
class CostVisitor {
 public:
  explicit CostVisitor(CostAnalysis& analysis) : analysis_(analysis) {}

  void Visit(const HloComputation& computation) {
    CostAnalysis::ComputationCost& result = analysis_.computations_[&computation];
    result.first_instruction = static_cast<int64_t>(analysis_.instructions_.size());
    analysis_.instructions_.resize(analysis_.instructions_.size() +
                                   computation.instructions().size());
    const bool is_fused = computation.IsFusionComputation();
    Cost total;
    int64_t index = result.first_instruction;
    for (const HloInstruction* instruction : computation.instructions()) {
      entry_ = &analysis_.instructions_[index++];
      Visit(*instruction);
      total += entry_->cost;
    }
    if (is_fused) {
      for (const HloInstruction* parameter : computation.parameters()) {
        analysis_.Entry(*parameter).parameter_read_bytes = ParameterReadBytes(*parameter);
      }
    }
    // Not `result`: visiting may have moved the map's elements.
    analysis_.computations_[&computation].total = total;
  }

 private:
  // The traffic of an instruction about which nothing special is known: all operands are read, the
  // result is written.
  void SetDefaultBytes(const HloInstruction& instruction) {
    entry_->first_operand = static_cast<int64_t>(analysis_.operand_bytes_.size());
    entry_->output_bytes = ResultBytes(instruction.shape());
    entry_->cost.bytes_accessed = entry_->output_bytes;
    for (const HloInstruction* operand : instruction.operands()) {
      const double bytes = CostBytes(operand->shape());
      analysis_.operand_bytes_.push_back(bytes);
      entry_->cost.bytes_accessed += bytes;
    }
  }

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

  void VisitElementwise(const HloInstruction& instruction) {
    const double elements = FirstElements(instruction.shape());
    Cost& cost = entry_->cost;
    (IsTranscendental(instruction.opcode()) ? cost.transcendentals : cost.flops) = elements;
  }

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
  double ParameterReadBytes(const HloInstruction& parameter);

  CostAnalysis& analysis_;
  CostAnalysis::InstructionCost* entry_ = nullptr;
};

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
      ForEachArray(instruction.shape(),
                   [this](const Shape& array) { entry_->cost.transcendentals += Elements(array); });
      return;
    case HloOpcode::kSort: {
      const double elements =
          instruction.operand_count() > 0 ? Elements(instruction.operand(0).shape()) : 0;
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
      const double table = CostBytes(instruction.shape());
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
      return AddCalls(instruction, 0, Elements(instruction.shape()));
    case HloOpcode::kReduce:
      if (instruction.operand_count() == 0) return;
      return AddCalls(
          instruction, 0,
          Elements(instruction.operand(0).shape()) - FirstElements(instruction.shape()));
    case HloOpcode::kSelectAndScatter: {
      if (instruction.operand_count() < 2) return;
      const double sources = Elements(instruction.operand(1).shape());
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
  const double part = CostBytes(is_update ? instruction.operand(1).shape() : instruction.shape());
  double index_bytes = 0;
  if (indices < instruction.operand_count()) {
    index_bytes = CostBytes(instruction.operand(indices).shape());
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
    const double bytes = CostBytes(scatter.operand(arrays + 1 + i).shape());
    SetOperandBytes(i, bytes);
    SetOperandBytes(arrays + 1 + i, bytes);
    updates += bytes;
  }
  entry_->cost.bytes_accessed = 3 * updates + CostBytes(scatter.operand(arrays).shape());
  entry_->output_bytes = updates;
  AddCalls(scatter, 0, Elements(scatter.operand(arrays + 1).shape()));
}

// Counted as the sum over two replicas.
void CostVisitor::VisitAllReduce(const HloInstruction& all_reduce) {
  double output_bytes = 0;
  ForEachArray(all_reduce.shape(), [&](const Shape& array) {
    entry_->cost.flops += Elements(array);
    output_bytes += CostBytes(array);
  });
  entry_->cost.bytes_accessed += output_bytes - entry_->output_bytes;
  entry_->output_bytes = output_bytes;
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
  const double whole = CostBytes(parameter.shape());
  double bytes = 0;
  bool read_whole = false;
  for (const HloInstruction* user : parameter.users()) {
    const bool is_first_operand = user->operand_count() > 0 && &user->operand(0) == &parameter;
    switch (user->opcode()) {
      case HloOpcode::kFusion:
        for (int64_t i = 0; i < user->operand_count(); ++i) {
          if (&user->operand(i) == &parameter) bytes += analysis_.OperandBytes(*user, i);
        }
        break;
      case HloOpcode::kSlice:
        bytes += CostBytes(user->shape());
        break;
      case HloOpcode::kBroadcast:
      case HloOpcode::kReshape:
        bytes += whole;
        break;
      case HloOpcode::kDynamicSlice:
        if (is_first_operand) {
          bytes += CostBytes(user->shape());
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
    return true;
  }
  return false;
}

void CostVisitor::VisitFusion(const HloInstruction& fusion) {
  if (VisitCustomFusion(fusion)) return;
  const HloComputation& fused = *fusion.called_computations()[0];
  Cost& cost = entry_->cost;
  cost = analysis_.Of(fused);

  // The result; an update in place writes its update only.
  const auto written = [](const HloInstruction& value, const Shape& shape) {
    const bool in_place =
        value.opcode() == HloOpcode::kDynamicUpdateSlice && value.operand_count() > 1;
    return CostBytes(in_place ? value.operand(1).shape() : shape);
  };
  const HloInstruction& root = fused.root();
  double output_bytes = 0;
  if (fusion.shape().IsArray()) {
    output_bytes = written(root, fusion.shape());
  } else {
    for (size_t i = 0; i < fusion.shape().tuple_shapes().size(); ++i) {
      const Shape& part = fusion.shape().tuple_shapes(static_cast<int64_t>(i));
      const bool known = root.opcode() == HloOpcode::kTuple && part.IsArray() &&
                         static_cast<int64_t>(i) < root.operand_count();
      if (known) {
        output_bytes += written(root.operand(static_cast<int64_t>(i)), part);
      } else {
        ForEachArray(part, [&](const Shape& array) { output_bytes += CostBytes(array); });
      }
    }
  }
  entry_->output_bytes = output_bytes;
  cost.bytes_accessed = output_bytes;

  for (const HloInstruction* instruction : fused.instructions()) {
    const bool is_large_constant =
        instruction->opcode() == HloOpcode::kConstant && instruction->shape().ElementsIn() > 1;
    if (is_large_constant) cost.bytes_accessed += CostBytes(instruction->shape());
  }
  const int64_t parameters =
      std::min<int64_t>(fusion.operand_count(), static_cast<int64_t>(fused.parameters().size()));
  for (int64_t i = 0; i < parameters; ++i) {
    const double bytes = analysis_.Entry(*fused.parameters()[i]).parameter_read_bytes;
    SetOperandBytes(i, bytes);
    cost.bytes_accessed += bytes;
  }
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
