#include "hlo/fusion_group.h"

#include <algorithm>

#include "absl/container/inlined_vector.h"

namespace autotune {
namespace {

void SortOnce(std::vector<int32_t>* values) {
  std::sort(values->begin(), values->end());
  values->erase(std::unique(values->begin(), values->end()), values->end());
}

bool Holds(const std::vector<int32_t>& nodes, int32_t node) {
  return std::binary_search(nodes.begin(), nodes.end(), node);
}

}  // namespace

std::vector<int32_t> ValueSources(const FusionGraph& graph, const std::vector<bool>& absent) {
  std::vector<int32_t> source(static_cast<size_t>(graph.node_count()));
  // Operands come before what reads them.
  for (int32_t node = 0; node < graph.node_count(); ++node) {
    const auto n = static_cast<size_t>(node);
    source[n] = node;
    if (!absent[n] || graph.nodes()[n].free) continue;
    int64_t largest = -1;
    for (int32_t operand : graph.Operands(node)) {
      const int64_t bytes =
          graph.nodes()[static_cast<size_t>(operand)].instruction->shape().ByteSize();
      if (operand >= node || bytes <= largest) continue;
      largest = bytes;
      source[n] = source[static_cast<size_t>(operand)];
    }
  }
  return source;
}

std::vector<FusionGroup> GroupsOf(const FusionGraph& graph, const RealisedGrouping& grouping) {
  const auto count = static_cast<size_t>(graph.node_count());
  std::vector<absl::InlinedVector<int32_t, 2>> kernels_of(count);
  for (size_t k = 0; k < grouping.kernels.size(); ++k) {
    for (int32_t node : grouping.kernels[k].nodes) {
      kernels_of[static_cast<size_t>(node)].push_back(static_cast<int32_t>(k));
    }
  }
  std::vector<bool> absent(count);
  for (size_t n = 0; n < count; ++n) absent[n] = kernels_of[n].empty();
  const std::vector<int32_t> source = ValueSources(graph, absent);
  // Whether somebody needs a node's value in memory.
  std::vector<bool> needed(count);
  for (size_t n = 0; n < count; ++n) {
    if (graph.nodes()[n].escapes) needed[static_cast<size_t>(source[n])] = true;
  }
  std::vector<FusionGroup> groups(grouping.kernels.size());
  for (size_t k = 0; k < groups.size(); ++k) {
    FusionGroup& group = groups[k];
    group.nodes = grouping.kernels[k].nodes;
    SortOnce(&group.nodes);
    for (int32_t node : group.nodes) {
      for (int32_t operand : graph.Operands(node)) {
        const int32_t from = source[static_cast<size_t>(operand)];
        if (Holds(group.nodes, from)) continue;
        group.read.push_back(from);
        needed[static_cast<size_t>(from)] = true;
      }
    }
    SortOnce(&group.read);
  }
  for (size_t n = 0; n < count; ++n) {
    if (!needed[n] || absent[n]) continue;
    int32_t home = kernels_of[n].front();
    for (int32_t k : kernels_of[n]) {
      if (groups[static_cast<size_t>(k)].nodes.back() == static_cast<int32_t>(n)) home = k;
    }
    groups[static_cast<size_t>(home)].written.push_back(static_cast<int32_t>(n));
  }
  return groups;
}

}  // namespace autotune
