#include "search/fusion_groups.h"

#include <algorithm>
#include <utility>

#include "hlo/kernel_kind.h"

namespace autotune {
namespace {

// A value that so many groups would compute again is written once instead.
constexpr size_t kMaxCopies = 8;

}  // namespace

FusionOutline PredictOutline(const FusionGraph& graph) {
  FusionOutline outline;
  outline.absent.assign(static_cast<size_t>(graph.node_count()), false);
  for (const FusionEdge& edge : graph.edges()) {
    const FusionNode& producer = graph.nodes()[static_cast<size_t>(edge.producer)];
    const FusionNode& consumer = graph.nodes()[static_cast<size_t>(edge.consumer)];
    const bool shared = producer.escapes || graph.OutEdges(edge.producer).size() > 1;
    const bool products = IsContraction(producer.instruction->opcode()) && consumer.heavy;
    const bool spread =
        producer.instruction->opcode() == HloOpcode::kReduce &&
        consumer.instruction->shape().ElementsIn() > producer.instruction->shape().ElementsIn();
    outline.fused.push_back(!(producer.heavy && shared) && !products && !spread);
  }
  return outline;
}

FusionGroups::FusionGroups(const FusionGraph* graph, const FusionOutline* outline)
    : graph_(graph),
      outline_(outline),
      cut_(static_cast<size_t>(graph->edge_count()), false),
      groups_(static_cast<size_t>(graph->node_count())),
      home_(static_cast<size_t>(graph->node_count()), -1),
      members_(static_cast<size_t>(graph->node_count())),
      is_changed_(static_cast<size_t>(graph->node_count()), false),
      is_pending_(static_cast<size_t>(graph->node_count()), false) {
  for (int32_t node = graph->node_count() - 1; node >= 0; --node) Evaluate(node);
  pending_.clear();
  is_pending_.assign(is_pending_.size(), false);
}

void FusionGroups::MarkChanged(int32_t root) {
  if (is_changed_[static_cast<size_t>(root)]) return;
  is_changed_[static_cast<size_t>(root)] = true;
  changed_.push_back(root);
}

void FusionGroups::Evaluate(int32_t node) {
  const auto n = static_cast<size_t>(node);
  const FusionNode& info = graph_->nodes()[n];
  if (info.free) return;
  Roots roots;
  bool covered = !info.escapes;
  for (int32_t edge : graph_->OutEdges(node)) {
    const auto e = static_cast<size_t>(edge);
    if (cut_[e] || !outline_->fused[e]) {
      covered = false;
      continue;
    }
    const Roots& of = groups_[static_cast<size_t>(graph_->edges()[e].consumer)];
    roots.insert(roots.end(), of.begin(), of.end());
  }
  std::sort(roots.begin(), roots.end());
  roots.erase(std::unique(roots.begin(), roots.end()), roots.end());
  int32_t home = -1;
  if (!outline_->absent[n] && (!covered || roots.empty() || roots.size() > kMaxCopies)) {
    const bool repeats = !info.heavy && !roots.empty() && roots.size() <= kMaxCopies;
    home = info.heavy && !roots.empty() ? roots.back() : node;
    if (!repeats) roots.clear();
    roots.insert(std::lower_bound(roots.begin(), roots.end(), home), home);
  }
  Roots& old = groups_[n];
  if (home != home_[n]) {
    if (home_[n] >= 0) MarkChanged(home_[n]);
    if (home >= 0) MarkChanged(home);
    home_[n] = home;
  }
  if (roots == old) return;
  for (int32_t root : old) {
    if (std::binary_search(roots.begin(), roots.end(), root)) continue;
    std::vector<int32_t>& members = members_[static_cast<size_t>(root)];
    const auto place = std::find(members.begin(), members.end(), node);
    *place = members.back();
    members.pop_back();
    MarkChanged(root);
  }
  for (int32_t root : roots) {
    if (std::binary_search(old.begin(), old.end(), root)) continue;
    members_[static_cast<size_t>(root)].push_back(node);
    MarkChanged(root);
  }
  old = std::move(roots);
  for (int32_t edge : graph_->InEdges(node)) {
    const int32_t producer = graph_->edges()[static_cast<size_t>(edge)].producer;
    if (is_pending_[static_cast<size_t>(producer)]) continue;
    is_pending_[static_cast<size_t>(producer)] = true;
    pending_.push_back(producer);
    std::push_heap(pending_.begin(), pending_.end());
  }
}

void FusionGroups::Flip(const std::vector<int32_t>& edges) {
  for (int32_t root : changed_) is_changed_[static_cast<size_t>(root)] = false;
  changed_.clear();
  for (int32_t edge : edges) {
    const auto e = static_cast<size_t>(edge);
    cut_[e] = !cut_[e];
    const FusionEdge& ends = graph_->edges()[e];
    // Whether the consumer's kernels read the value from memory.
    for (int32_t root : groups_[static_cast<size_t>(ends.consumer)]) MarkChanged(root);
    if (is_pending_[static_cast<size_t>(ends.producer)]) continue;
    is_pending_[static_cast<size_t>(ends.producer)] = true;
    pending_.push_back(ends.producer);
    std::push_heap(pending_.begin(), pending_.end());
  }
  while (!pending_.empty()) {
    std::pop_heap(pending_.begin(), pending_.end());
    const int32_t node = pending_.back();
    pending_.pop_back();
    is_pending_[static_cast<size_t>(node)] = false;
    Evaluate(node);
  }
}

}  // namespace autotune
