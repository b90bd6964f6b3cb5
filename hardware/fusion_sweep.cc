#include "hardware/fusion_sweep.h"

#include <algorithm>
#include <cmath>
#include <random>

#include "hlo/fusion_realised.h"

namespace autotune {
namespace {

using Random = std::mt19937_64;

constexpr int kTries = 64;
constexpr size_t kParents = 12;

void AddCuts(const FusionGraph& graph, int left, int64_t from, FusionDecision* decision,
             std::vector<FusionDecision>* all) {
  if (left == 0) {
    all->push_back(*decision);
    return;
  }
  for (int64_t edge = from; edge < graph.edge_count(); ++edge) {
    decision->cuts.push_back(edge);
    AddCuts(graph, left - 1, edge + 1, decision, all);
    decision->cuts.pop_back();
  }
}

FusionDecision Sorted(std::vector<int64_t> cuts) {
  std::sort(cuts.begin(), cuts.end());
  cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
  return FusionDecision{std::move(cuts)};
}

// A set of random edges; small ones are as likely as large ones.
FusionDecision RandomCuts(const std::vector<int64_t>& edges, Random& random) {
  const double share = static_cast<double>(random() >> 11) * 0x1.0p-53;
  const double count = std::pow(static_cast<double>(edges.size()), share);
  std::vector<int64_t> cuts;
  for (int64_t i = 0; i < std::llround(count) + 1; ++i)
    cuts.push_back(edges[random() % edges.size()]);
  return Sorted(std::move(cuts));
}

// The cuts of two of the fastest entries together.
FusionDecision Joined(const std::vector<const FusionEntry*>& fastest, Random& random) {
  const size_t parents = std::min(kParents, fastest.size());
  std::vector<int64_t> cuts = fastest[random() % parents]->decision.cuts;
  const std::vector<int64_t>& more = fastest[random() % parents]->decision.cuts;
  cuts.insert(cuts.end(), more.begin(), more.end());
  return Sorted(std::move(cuts));
}

std::vector<const FusionEntry*> FastestFirst(const FusionRecording& recording) {
  std::vector<const FusionEntry*> entries;
  for (const FusionEntry& entry : recording.entries()) {
    if (!entry.failure.has_value()) entries.push_back(&entry);
  }
  std::stable_sort(entries.begin(), entries.end(), [](const FusionEntry* a, const FusionEntry* b) {
    return a->total.schedule < b->total.schedule;
  });
  return entries;
}

}  // namespace

std::vector<FusionDecision> FewCuts(const FusionGraph& graph, int cuts) {
  std::vector<FusionDecision> all;
  FusionDecision decision;
  for (int count = 0; count <= cuts; ++count) AddCuts(graph, count, 0, &decision, &all);
  return all;
}

FusionDecision NextToRecord(const FusionGraph& graph, const FusionRecording* recording,
                            int64_t explore, uint64_t seed) {
  if (recording == nullptr || recording->entries().empty()) return {};
  std::vector<int64_t> edges;
  if (const FusionEntry* entry = recording->Find({}); entry != nullptr) {
    const FusionOutline outline = OutlineOf(graph, recording->GroupingOf(*entry));
    for (int64_t i = 0; i < graph.edge_count(); ++i) {
      if (outline.fused[static_cast<size_t>(i)]) edges.push_back(i);
    }
  }
  if (edges.empty()) return {};
  const auto done = static_cast<int64_t>(recording->entries().size());
  Random random(seed * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(done));
  const std::vector<const FusionEntry*> fastest = FastestFirst(*recording);
  FusionDecision next;
  for (int i = 0; i < kTries; ++i) {
    if (done % 2 == 0) {
      next = RandomCuts(edges, random);
      if (done >= explore) next = Joined(fastest, random);
    } else {
      next = FusionDecision{{edges[random() % edges.size()]}};
    }
    if (recording->Find(next) == nullptr) return next;
  }
  for (int i = 0; i < kTries && recording->Find(next) != nullptr; ++i) {
    next = RandomCuts(edges, random);
  }
  return next;
}

}  // namespace autotune
