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
constexpr double kMostCuts = 12;

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

// A set of random edges, of two to a dozen; smaller ones are as likely as larger ones.
FusionDecision RandomCuts(const std::vector<int64_t>& edges, Random& random) {
  const double share = static_cast<double>(random() >> 11) * 0x1.0p-53;
  const auto count = static_cast<int64_t>(2 * std::pow(kMostCuts / 2, share));
  std::vector<int64_t> cuts;
  for (int64_t i = 0; i < count; ++i) cuts.push_back(edges[random() % edges.size()]);
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

// What `draw` gives first whose grouping is open; nullopt if it keeps giving others.
template <typename Draw>
std::optional<FusionDecision> FirstOpen(const Draw& draw, const FusionForesight& foresight) {
  for (int i = 0; i < kTries; ++i) {
    FusionDecision decision = draw();
    if (!foresight.Foresee(decision).has_value()) return decision;
  }
  return std::nullopt;
}

// The edges that the default fuses: on the others alone a cut changes nothing.
std::vector<int64_t> DefaultEdges(const FusionGraph& graph, const FusionRecording& recording) {
  std::vector<int64_t> edges;
  const FusionEntry* entry = recording.Find({});
  if (entry == nullptr || entry->failure.has_value()) return edges;
  const FusionOutline outline = OutlineOf(graph, recording.GroupingOf(*entry));
  for (int64_t i = 0; i < graph.edge_count(); ++i) {
    if (outline.fused[static_cast<size_t>(i)]) edges.push_back(i);
  }
  return edges;
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

std::optional<FusionDecision> NextToRecord(const FusionGraph& graph,
                                           const FusionRecording* recording,
                                           const FusionForesight& foresight, int64_t explore,
                                           uint64_t seed) {
  if (recording == nullptr || recording->entries().empty()) return FusionDecision{};
  const std::vector<int64_t> edges = DefaultEdges(graph, *recording);
  if (edges.empty()) return std::nullopt;
  const auto done = static_cast<int64_t>(recording->entries().size());
  Random random(seed * 0x9e3779b97f4a7c15u + static_cast<uint64_t>(done));
  const std::vector<const FusionEntry*> fastest = FastestFirst(*recording);
  const auto single = [&] { return FusionDecision{{edges[random() % edges.size()]}}; };
  const auto joined = [&] { return Joined(fastest, random); };
  const auto some = [&] { return RandomCuts(edges, random); };
  const bool explores = done < explore || fastest.empty();
  const bool fourth = done % 4 == 0;
  std::optional<FusionDecision> next =
      explores ? (fourth ? FirstOpen(some, foresight) : FirstOpen(single, foresight))
               : (fourth ? FirstOpen(single, foresight) : FirstOpen(joined, foresight));
  if (!next.has_value()) next = FirstOpen(single, foresight);
  if (!next.has_value()) next = FirstOpen(joined, foresight);
  return next.has_value() ? next : FirstOpen(some, foresight);
}

}  // namespace autotune
