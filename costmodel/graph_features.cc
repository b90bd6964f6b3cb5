// Map of this file: InlinedGraph walks a kernel's operations with its fusions inlined; NodeWriter
// writes the features of one operation and, run on no operation, their names.

#include "costmodel/graph_features.h"

#include <algorithm>
#include <cmath>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"
#include "hlo/element_type.h"
#include "hlo/instruction.h"
#include "hlo/opcode.h"

namespace autotune {
namespace {

constexpr int kDims = 6;
constexpr double kSublanes = 8;
constexpr double kLanes = 128;

double Log(double value) { return std::log2(1 + std::max(0.0, value)); }

// The array that stands for a result: the first one of a tuple.
const Shape& FirstArray(const Shape& shape) {
  const Shape* part = &shape;
  while (part->IsTuple() && !part->tuple_shapes().empty()) part = &part->tuple_shapes(0);
  return *part;
}

// Collects named values. Without an instruction it collects the names alone.
class NodeWriter {
 public:
  explicit NodeWriter(const HloInstruction* instruction) : instruction_(instruction) {
    if (instruction_ != nullptr) shape_ = FirstArray(instruction_->shape());
    WriteKind();
    WriteShape();
    WriteLayout();
    WriteWindow();
    WriteAccess();
  }

  std::vector<std::string> names;
  std::vector<float> values;

 private:
  template <typename Value>
  void Add(const std::string& name, const Value& value) {
    if (instruction_ == nullptr) {
      names.push_back(name);
    } else {
      values.push_back(static_cast<float>(value()));
    }
  }

  HloOpcode opcode() const { return instruction_->opcode(); }
  const proto::HloInstructionProto& attributes() const { return instruction_->attributes(); }
  double OperandElements(int64_t i) const {
    if (instruction_->operand_count() <= i) return 0;
    return static_cast<double>(FirstArray(instruction_->operand(i).shape()).ElementsIn());
  }

  void WriteKind() {
    Add("is_parameter", [&] { return opcode() == HloOpcode::kParameter; });
    Add("is_constant", [&] { return opcode() == HloOpcode::kConstant; });
    Add("is_root", [&] { return instruction_->IsRoot(); });
    Add("is_elementwise", [&] { return IsElementwise(opcode()); });
    Add("log_operands", [&] { return Log(static_cast<double>(instruction_->operand_count())); });
    Add("log_users", [&] { return Log(static_cast<double>(instruction_->users().size())); });
    Add("is_tuple", [&] { return instruction_->shape().IsTuple(); });
    Add("log_leaves", [&] { return Log(static_cast<double>(instruction_->shape().LeafCount())); });
  }

  void WriteShape() {
    Add("element_bytes", [&] { return BitWidth(shape_.element_type()) / 8.0; });
    Add("is_floating", [&] { return IsFloating(shape_.element_type()); });
    Add("is_integral", [&] { return IsIntegral(shape_.element_type()); });
    Add("is_pred", [&] { return shape_.element_type() == proto::PRED; });
    Add("rank", [&] { return shape_.rank(); });
    Add("log_elements", [&] { return Log(static_cast<double>(shape_.ElementsIn())); });
    const DimensionVector physical = shape_.PhysicalDimensions();
    // From the minor end, so that lanes and sublanes always stand in the same place.
    for (int d = 0; d < kDims; ++d) {
      const auto rank = static_cast<int>(physical.size());
      Add(absl::StrCat("log_physical_", d),
          [&] { return d < rank ? Log(static_cast<double>(physical[rank - 1 - d])) : 0.0; });
    }
    Add("lane_remainder", [&] { return Remainder(physical, 1, kLanes); });
    Add("sublane_remainder", [&] { return Remainder(physical, 2, kSublanes); });
  }

  // The extent of the `from_minor`-th dimension modulo `of`, as a share of it.
  static double Remainder(const DimensionVector& physical, size_t from_minor, double of) {
    if (physical.size() < from_minor) return 0;
    const auto extent = static_cast<double>(physical[physical.size() - from_minor]);
    return std::fmod(extent, of) / of;
  }

  void WriteLayout() {
    for (int d = 0; d < kDims; ++d) {
      Add(absl::StrCat("minor_to_major_", d), [&] {
        if (!shape_.has_layout()) return 0.0;
        const DimensionVector& order = shape_.layout().minor_to_major;
        return d < static_cast<int>(order.size()) ? (1.0 + static_cast<double>(order[d])) / kDims
                                                  : 0.0;
      });
    }
    for (int d = 0; d < 2; ++d) {
      Add(absl::StrCat("log_tile_", d), [&] {
        if (!shape_.has_layout() || shape_.layout().tiles.empty()) return 0.0;
        const auto& tile = shape_.layout().tiles[0].dimensions;
        const auto size = static_cast<int>(tile.size());
        return d < size ? Log(static_cast<double>(tile[size - 1 - d])) : 0.0;
      });
    }
    Add("is_packed", [&] { return shape_.has_layout() && shape_.layout().tiles.size() > 1; });
    Add("is_in_vmem", [&] { return shape_.has_layout() && shape_.layout().memory_space == 1; });
  }

  template <typename Get>
  void AddWindow(const std::string& name, const Get& get) {
    Add(name, [&] {
      double sum = 0;
      for (const proto::WindowDimension& dimension : attributes().window().dimensions()) {
        sum += get(dimension);
      }
      return sum;
    });
  }

  void WriteWindow() {
    AddWindow("log_window_size", [](const auto& w) { return Log(static_cast<double>(w.size())); });
    AddWindow("log_window_stride",
              [](const auto& w) { return Log(static_cast<double>(w.stride())) - 1; });
    AddWindow("log_window_padding", [](const auto& w) {
      return Log(std::abs(static_cast<double>(w.padding_low())) +
                 std::abs(static_cast<double>(w.padding_high())));
    });
    AddWindow("log_window_dilation",
              [](const auto& w) { return Log(static_cast<double>(w.window_dilation())) - 1; });
    AddWindow("log_base_dilation",
              [](const auto& w) { return Log(static_cast<double>(w.base_dilation())) - 1; });
    AddWindow("window_reversals", [](const auto& w) { return w.window_reversal() ? 1.0 : 0.0; });
    Add("log_feature_groups", [&] {
      return Log(static_cast<double>(std::max<int64_t>(1, attributes().feature_group_count()))) - 1;
    });
    Add("log_batch_groups", [&] {
      return Log(static_cast<double>(std::max<int64_t>(1, attributes().batch_group_count()))) - 1;
    });
  }

  // How elements of the result relate to those of the operands.
  void WriteAccess() {
    Add("log_elements_of_operand_0", [&] { return Log(OperandElements(0)); });
    Add("log_elements_of_operand_1", [&] { return Log(OperandElements(1)); });
    Add("touches_minor", [&] { return Touches(1); });
    Add("touches_second_minor", [&] { return Touches(2); });
    Add("listed_dimensions", [&] { return instruction_->dimensions().size(); });
    Add("slice_stride", [&] {
      double strides = 0;
      for (const auto& slice : attributes().slice_dimensions()) {
        strides += Log(static_cast<double>(slice.stride())) - 1;
      }
      return strides;
    });
    Add("interior_padding", [&] {
      double padding = 0;
      for (const auto& dimension : attributes().padding_config().dimensions()) {
        padding += Log(static_cast<double>(dimension.interior_padding()));
      }
      return padding;
    });
    Add("changes_layout", [&] {
      if (instruction_->operand_count() == 0) return false;
      const Shape& from = FirstArray(instruction_->operand(0).shape());
      return from.has_layout() && shape_.has_layout() &&
             from.layout().minor_to_major != shape_.layout().minor_to_major;
    });
  }

  // True if the operation names the dimension that is minor (1) or second minor (2) in memory: for
  // a reduction of its operand, else of its result.
  bool Touches(size_t from_minor) const {
    const bool reduces = opcode() == HloOpcode::kReduce && instruction_->operand_count() > 0;
    const Shape& shape = reduces ? FirstArray(instruction_->operand(0).shape()) : shape_;
    if (!shape.has_layout() || shape.layout().minor_to_major.size() < from_minor) return false;
    const int64_t dimension = shape.layout().minor_to_major[from_minor - 1];
    const auto listed = instruction_->dimensions();
    return std::find(listed.begin(), listed.end(), dimension) != listed.end();
  }

  const HloInstruction* instruction_;
  Shape shape_;
};

// The operations of a kernel with its fusions inlined.
class InlinedGraph {
 public:
  explicit InlinedGraph(const HloModule& module) { Visit(module.entry_computation(), {}); }

  // Returns the node of the computation's root. `arguments`: the nodes of its parameters; empty for
  // the entry, whose parameters are nodes themselves.
  int32_t Visit(const HloComputation& computation, const std::vector<int32_t>& arguments) {
    absl::flat_hash_map<const HloInstruction*, int32_t> node_of;
    for (const HloInstruction* instruction : computation.instructions()) {
      std::vector<int32_t> operands;
      for (const HloInstruction* operand : instruction->operands()) {
        operands.push_back(node_of[operand]);
      }
      node_of[instruction] = Place(*instruction, operands, arguments);
    }
    return node_of[&computation.root()];
  }

  std::vector<const HloInstruction*> nodes;
  std::vector<std::pair<int32_t, int32_t>> edges;

 private:
  int32_t Place(const HloInstruction& instruction, const std::vector<int32_t>& operands,
                const std::vector<int32_t>& arguments) {
    if (instruction.opcode() == HloOpcode::kParameter &&
        instruction.parameter_number() < static_cast<int64_t>(arguments.size())) {
      return arguments[static_cast<size_t>(instruction.parameter_number())];
    }
    // Modules cap the nesting of calls, and a fusion of a fusion ends.
    if (instruction.opcode() == HloOpcode::kFusion && !instruction.called_computations().empty() &&
        operands.size() == instruction.called_computations()[0]->parameters().size() &&
        static_cast<int64_t>(nodes.size()) < kMaxGraphNodes) {
      return Visit(*instruction.called_computations()[0], operands);
    }
    const auto node = static_cast<int32_t>(nodes.size());
    nodes.push_back(&instruction);
    for (int32_t operand : operands) edges.emplace_back(operand, node);
    return node;
  }
};

}  // namespace

std::vector<std::string> NodeFeatureNames() { return NodeWriter(nullptr).names; }

void BuildKernelGraph(const HloModule& kernel_module, KernelGraph* graph) {
  const InlinedGraph inlined(kernel_module);
  const auto count = static_cast<int32_t>(inlined.nodes.size());
  const int32_t first = std::max<int32_t>(0, count - static_cast<int32_t>(kMaxGraphNodes));
  for (int32_t node = first; node < count; ++node) {
    const HloInstruction& instruction = *inlined.nodes[static_cast<size_t>(node)];
    graph->opcodes.push_back(static_cast<int32_t>(instruction.opcode()));
    const NodeWriter writer(&instruction);
    graph->node_features.insert(graph->node_features.end(), writer.values.begin(),
                                writer.values.end());
  }
  for (const auto& [source, target] : inlined.edges) {
    if (source < first || target < first) continue;
    graph->edge_sources.push_back(source - first);
    graph->edge_targets.push_back(target - first);
  }
}

}  // namespace autotune
