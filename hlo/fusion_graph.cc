#include "hlo/fusion_graph.h"

#include <algorithm>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "hlo/kernel_kind.h"
#include "hlo/kernel_trip_count.h"

namespace autotune {
namespace {

// Operations that hand on elements, or groups of them, without arithmetic.
bool MovesData(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kBitcast:
    case HloOpcode::kBitcastConvert:
    case HloOpcode::kBroadcast:
    case HloOpcode::kConcatenate:
    case HloOpcode::kCopy:
    case HloOpcode::kDynamicSlice:
    case HloOpcode::kDynamicUpdateSlice:
    case HloOpcode::kPad:
    case HloOpcode::kReshape:
    case HloOpcode::kReverse:
    case HloOpcode::kSlice:
    case HloOpcode::kTranspose:
      return true;
    default:
      return false;
  }
}

bool IsHeavy(HloOpcode opcode) {
  switch (opcode) {
    case HloOpcode::kGather:
    case HloOpcode::kReduce:
    case HloOpcode::kReduceWindow:
    case HloOpcode::kScatter:
    case HloOpcode::kSelectAndScatter:
      return true;
    default:
      return IsContraction(opcode);
  }
}

// What takes no kernel: values that are there already or that every kernel makes for itself.
bool IsFree(const HloInstruction& instruction) {
  const HloOpcode opcode = instruction.opcode();
  if (opcode == HloOpcode::kIota || !RunsAsKernel(opcode)) return true;
  if (!instruction.shape().IsTuple() && instruction.shape().ElementsIn() <= 1) {
    return !IsHeavy(opcode);
  }
  return opcode == HloOpcode::kBroadcast && instruction.operand_count() == 1 &&
         instruction.operand(0).shape().ElementsIn() <= 1;
}

bool CanProduce(const FusionNode& node) {
  const HloInstruction& instruction = *node.instruction;
  return !node.free && instruction.shape().IsArray() && instruction.shape().ElementsIn() > 1 &&
         IsFusibleOperation(instruction);
}

bool CanConsume(const FusionNode& node) {
  return !node.free && IsFusibleOperation(*node.instruction);
}

// The computations that run as part of the program, with how often: not those that an operation
// applies to elements.
std::vector<std::pair<const HloComputation*, int64_t>> RunComputations(const HloModule& module) {
  absl::flat_hash_map<const HloComputation*, int64_t> executions;
  executions[&module.entry_computation()] = 1;
  const auto computations = module.computations();
  for (auto it = computations.rbegin(); it != computations.rend(); ++it) {
    const auto found = executions.find(*it);
    if (found == executions.end()) continue;
    const int64_t count = found->second;
    for (const HloInstruction* instruction : (*it)->instructions()) {
      const HloOpcode opcode = instruction->opcode();
      if (opcode != HloOpcode::kWhile && opcode != HloOpcode::kConditional &&
          opcode != HloOpcode::kCall) {
        continue;
      }
      const int64_t rounds =
          opcode == HloOpcode::kWhile ? WhileTripCount(*instruction).value_or(1) : 1;
      for (const HloComputation* callee : instruction->called_computations()) {
        int64_t& times = executions[callee];
        int64_t product = 0;
        if (__builtin_mul_overflow(count, rounds, &product) ||
            __builtin_add_overflow(times, product, &times)) {
          times = std::numeric_limits<int64_t>::max();
        }
      }
    }
  }
  std::vector<std::pair<const HloComputation*, int64_t>> result;
  for (const HloComputation* computation : computations) {
    const auto found = executions.find(computation);
    if (found != executions.end()) result.emplace_back(*found);
  }
  return result;
}

// Puts the numbers 0 .. keys.size() - 1 into lists by key: values ascend within each list.
void Bucket(const std::vector<int32_t>& keys, size_t buckets, std::vector<int32_t>* values,
            std::vector<int32_t>* begin) {
  begin->assign(buckets + 1, 0);
  for (int32_t key : keys) ++(*begin)[static_cast<size_t>(key) + 1];
  for (size_t i = 1; i <= buckets; ++i) (*begin)[i] += (*begin)[i - 1];
  values->resize(keys.size());
  std::vector<int32_t> next(begin->begin(), begin->end() - 1);
  for (size_t i = 0; i < keys.size(); ++i) {
    (*values)[static_cast<size_t>(next[static_cast<size_t>(keys[i])]++)] = static_cast<int32_t>(i);
  }
}

}  // namespace

bool IsFusibleOperation(const HloInstruction& instruction) {
  const HloOpcode opcode = instruction.opcode();
  return IsElementwise(opcode) || MovesData(opcode) || IsHeavy(opcode) ||
         opcode == HloOpcode::kBatchNormInference || opcode == HloOpcode::kMap;
}

absl::StatusOr<FusionGraph> FusionGraph::Create(std::shared_ptr<const HloModule> module) {
  FusionGraph graph;
  graph.module_ = std::move(module);
  if (graph.module_->is_scheduled()) {
    return absl::InvalidArgumentError(
        "the program is scheduled: fusion needs the program before optimisation");
  }
  for (const auto& [computation, executions] : RunComputations(*graph.module_)) {
    for (const HloInstruction* instruction : computation->instructions()) {
      if (instruction->opcode() == HloOpcode::kFusion) {
        return absl::InvalidArgumentError(
            "the program holds fusions already: fusion needs the program before optimisation");
      }
    }
    graph.AddComputation(*computation, executions);
  }
  graph.AddEdges();
  graph.MarkEscapes();
  return graph;
}

void FusionGraph::AddComputation(const HloComputation& computation, int64_t executions) {
  // The order of the protobuf, so that a program has the same numbers in all its forms.
  for (const HloInstruction* instruction : computation.PostOrder()) {
    FusionNode node;
    node.instruction = instruction;
    node.executions = executions;
    node.free = IsFree(*instruction);
    node.heavy = IsHeavy(instruction->opcode());
    node_of_[instruction] = node_count();
    nodes_.push_back(node);
  }
}

void FusionGraph::AddEdges() {
  std::vector<int32_t> producers, consumers;
  operand_begin_.assign(1, 0);
  for (int32_t consumer = 0; consumer < node_count(); ++consumer) {
    const FusionNode& node = nodes_[static_cast<size_t>(consumer)];
    const size_t first = operands_.size();
    for (const HloInstruction* operand : node.instruction->operands()) {
      const int32_t producer = node_of_.at(operand);
      const auto begin = operands_.begin() + static_cast<int64_t>(first);
      if (std::find(begin, operands_.end(), producer) != operands_.end()) continue;
      operands_.push_back(producer);
      if (!CanConsume(node) || !CanProduce(nodes_[static_cast<size_t>(producer)])) continue;
      edges_.push_back({producer, consumer});
      producers.push_back(producer);
      consumers.push_back(consumer);
    }
    operand_begin_.push_back(static_cast<int32_t>(operands_.size()));
  }
  Bucket(producers, nodes_.size(), &out_edges_, &out_);
  Bucket(consumers, nodes_.size(), &in_edges_, &in_);
}

void FusionGraph::MarkEscapes() {
  for (int32_t i = 0; i < node_count(); ++i) {
    FusionNode& node = nodes_[static_cast<size_t>(i)];
    node.escapes = node.instruction->IsRoot() ||
                   node.instruction->users().size() != OutEdges(i).size() || OutEdges(i).empty();
  }
}

int32_t FusionGraph::NodeOf(const HloInstruction* instruction) const {
  const auto found = node_of_.find(instruction);
  return found == node_of_.end() ? -1 : found->second;
}

int32_t FusionGraph::EdgeBetween(int32_t producer, int32_t consumer) const {
  for (int32_t edge : InEdges(consumer)) {
    if (edges_[static_cast<size_t>(edge)].producer == producer) return edge;
  }
  return -1;
}

}  // namespace autotune
