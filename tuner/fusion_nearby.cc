#include "tuner/fusion_nearby.h"

#include <algorithm>
#include <cstddef>
#include <iterator>
#include <map>
#include <string>
#include <utility>

#include "hardware/config.h"

namespace autotune {
namespace {

// Moves are made from so many of the fastest entries, and so many are joined.
constexpr size_t kBases = 3;
constexpr size_t kJoined = 12;

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

FusionDecision Union(const FusionDecision& a, const FusionDecision& b) {
  FusionDecision joined;
  std::set_union(a.cuts.begin(), a.cuts.end(), b.cuts.begin(), b.cuts.end(),
                 std::back_inserter(joined.cuts));
  return joined;
}

}  // namespace

std::vector<FusionDecision> NearbyProposals(const FusionSpace& space, const FusionScorer& scorer,
                                            const FusionRecording& recording,
                                            const FusionForesight& foresight, int64_t n) {
  const std::vector<const FusionEntry*> fastest = FastestFirst(recording);
  const FusionEntry* base = recording.Find({});
  std::map<std::string, Config> candidates;
  const auto add = [&](Config config) {
    if (foresight.Foresee(*config.fusion()).has_value()) return;
    std::string key = config.Key();
    candidates.emplace(std::move(key), std::move(config));
  };
  for (size_t i = 0; i < std::min(kBases, fastest.size()); ++i) {
    for (Config& move : space.Neighbours(Config(fastest[i]->decision))) add(std::move(move));
  }
  for (size_t i = 0; i < std::min(kJoined, fastest.size()); ++i) {
    if (base == nullptr || fastest[i]->total.schedule >= base->total.schedule) break;
    for (size_t j = 0; j < i; ++j) {
      add(Config(Union(fastest[i]->decision, fastest[j]->decision)));
    }
  }
  std::vector<Config> configs;
  configs.reserve(candidates.size());
  for (auto& [key, config] : candidates) configs.push_back(config);
  const std::vector<double> scores = scorer.Score(configs);
  std::vector<size_t> order(configs.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(),
                   [&scores](size_t a, size_t b) { return scores[a] < scores[b]; });
  std::vector<FusionDecision> proposals;
  for (size_t i = 0; i < order.size() && static_cast<int64_t>(i) < n; ++i) {
    proposals.push_back(*configs[order[i]].fusion());
  }
  return proposals;
}

}  // namespace autotune
