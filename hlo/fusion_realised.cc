#include "hlo/fusion_realised.h"

#include <algorithm>
#include <iterator>
#include <limits>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "hlo/fingerprint.h"
#include "hlo/kernel_kind.h"
#include "hlo/kernel_trip_count.h"

namespace autotune {
namespace {

constexpr absl::string_view kStamp = "fusion-node=";

// The numbers behind every stamp in `name`: the compiler may join names.
void ReadStamps(absl::string_view name, std::vector<int32_t>* nodes) {
  for (size_t at = name.find(kStamp); at != absl::string_view::npos; at = name.find(kStamp)) {
    name.remove_prefix(at + kStamp.size());
    const size_t end = std::min(name.find_first_not_of("0123456789"), name.size());
    int32_t node = 0;
    if (absl::SimpleAtoi(name.substr(0, end), &node)) nodes->push_back(node);
  }
}

// The stamps of an operation and of everything in the computations of a fusion.
void CollectNodes(const HloInstruction& operation, std::vector<int32_t>* nodes) {
  ReadStamps(operation.metadata().op_name, nodes);
  if (operation.opcode() != HloOpcode::kFusion) return;
  for (const HloComputation* body : operation.called_computations()) {
    for (const HloInstruction* inner : body->instructions()) CollectNodes(*inner, nodes);
  }
}

bool RunsComputations(HloOpcode opcode) {
  return opcode == HloOpcode::kWhile || opcode == HloOpcode::kConditional ||
         opcode == HloOpcode::kCall || opcode == HloOpcode::kAsyncStart;
}

int64_t SaturatingProduct(int64_t a, int64_t b) {
  int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? std::numeric_limits<int64_t>::max() : product;
}

void SortUnique(std::vector<int32_t>* values) {
  std::sort(values->begin(), values->end());
  values->erase(std::unique(values->begin(), values->end()), values->end());
}

bool Intersect(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  auto x = a.begin(), y = b.begin();
  while (x != a.end() && y != b.end()) {
    if (*x == *y) return true;
    *x < *y ? ++x : ++y;
  }
  return false;
}

}  // namespace

std::string RealisedGrouping::Key() const {
  std::vector<std::vector<int32_t>> groups;
  for (const RealisedKernel& kernel : kernels) {
    if (!kernel.nodes.empty()) groups.push_back(kernel.nodes);
  }
  std::sort(groups.begin(), groups.end());
  Fingerprinter fingerprint;
  for (const std::vector<int32_t>& group : groups) {
    fingerprint.AddInt(group.size());
    for (int32_t node : group) fingerprint.AddInt(static_cast<uint64_t>(node));
  }
  return absl::StrFormat("g=%016x", fingerprint.Get());
}

void StampNodes(const FusionGraph& graph, proto::HloModuleProto* program) {
  absl::flat_hash_map<std::string, int32_t> node_of;
  for (int32_t i = 0; i < graph.node_count(); ++i) {
    node_of[graph.nodes()[static_cast<size_t>(i)].instruction->name()] = i;
  }
  for (proto::HloComputationProto& computation : *program->mutable_computations()) {
    for (proto::HloInstructionProto& instruction : *computation.mutable_instructions()) {
      const auto found = node_of.find(instruction.name());
      if (found != node_of.end()) {
        instruction.mutable_metadata()->set_op_name(absl::StrCat(kStamp, found->second, ";"));
      } else if (instruction.has_metadata()) {
        instruction.mutable_metadata()->clear_op_name();
      }
    }
  }
}

RealisedGrouping ReadRealisedGrouping(const HloModule& optimized) {
  absl::flat_hash_map<const HloComputation*, int64_t> executions;
  executions[&optimized.entry_computation()] = 1;
  RealisedGrouping grouping;
  const auto computations = optimized.computations();
  for (auto it = computations.rbegin(); it != computations.rend(); ++it) {
    const auto found = executions.find(*it);
    if (found == executions.end()) continue;
    const int64_t count = found->second;
    for (const HloInstruction* instruction : (*it)->instructions()) {
      if (RunsComputations(instruction->opcode())) {
        const int64_t rounds = instruction->opcode() == HloOpcode::kWhile
                                   ? WhileTripCount(*instruction).value_or(1)
                                   : 1;
        for (const HloComputation* callee : instruction->called_computations()) {
          executions[callee] += SaturatingProduct(count, rounds);
        }
        continue;
      }
      if (instruction->opcode() != HloOpcode::kFusion && !RunsAsKernel(instruction->opcode()) &&
          instruction->opcode() != HloOpcode::kCustomCall) {
        continue;
      }
      RealisedKernel kernel;
      kernel.name = std::string(instruction->name());
      kernel.executions = count;
      CollectNodes(*instruction, &kernel.nodes);
      SortUnique(&kernel.nodes);
      grouping.kernels.push_back(std::move(kernel));
    }
  }
  return grouping;
}

FusionOutline OutlineOf(const FusionGraph& graph, const RealisedGrouping& grouping) {
  const auto count = static_cast<size_t>(graph.node_count());
  // The kernels that hold a node; of one in no kernel those of what feeds it (up), or of what reads
  // it (down).
  std::vector<std::vector<int32_t>> up(count), down(count);
  for (size_t k = 0; k < grouping.kernels.size(); ++k) {
    for (int32_t node : grouping.kernels[k].nodes) {
      if (node < graph.node_count()) up[static_cast<size_t>(node)].push_back(static_cast<int>(k));
    }
  }
  FusionOutline outline;
  outline.absent.resize(count);
  for (size_t i = 0; i < count; ++i) outline.absent[i] = up[i].empty();
  down = up;
  for (int32_t i = 0; i < graph.node_count(); ++i) {
    const auto n = static_cast<size_t>(i);
    if (!outline.absent[n]) continue;
    for (int32_t edge : graph.InEdges(i)) {
      const auto& from = up[static_cast<size_t>(graph.edges()[static_cast<size_t>(edge)].producer)];
      up[n].insert(up[n].end(), from.begin(), from.end());
    }
    SortUnique(&up[n]);
  }
  for (int32_t i = graph.node_count() - 1; i >= 0; --i) {
    const auto n = static_cast<size_t>(i);
    if (!outline.absent[n]) continue;
    for (int32_t edge : graph.OutEdges(i)) {
      const auto& to = down[static_cast<size_t>(graph.edges()[static_cast<size_t>(edge)].consumer)];
      down[n].insert(down[n].end(), to.begin(), to.end());
    }
    SortUnique(&down[n]);
  }
  for (const FusionEdge& edge : graph.edges()) {
    outline.fused.push_back(Intersect(up[static_cast<size_t>(edge.producer)],
                                      down[static_cast<size_t>(edge.consumer)]));
  }
  return outline;
}

}  // namespace autotune
