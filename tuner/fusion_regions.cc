#include "tuner/fusion_regions.h"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <numeric>
#include <set>
#include <utility>

namespace autotune {
namespace {

// Kernels belong together where what they share is this much of the smaller one.
constexpr double kSameRegion = 0.5;

class DisjointSets {
 public:
  explicit DisjointSets(size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), size_t{0});
  }
  size_t Find(size_t i) {
    while (parent_[i] != i) i = parent_[i] = parent_[parent_[i]];
    return i;
  }
  void Join(size_t a, size_t b) { parent_[Find(a)] = Find(b); }

 private:
  std::vector<size_t> parent_;
};

// A kernel that only one of two programs has.
struct Difference {
  const std::vector<int32_t>* nodes;
  double seconds;  // what it adds to the program's time; negative for one that is gone
  double weight;   // of its nodes
  bool gone;

  bool Holds(int32_t node) const { return std::binary_search(nodes->begin(), nodes->end(), node); }
};

double WeightOf(const std::vector<int32_t>& nodes, const std::vector<double>& weights) {
  double weight = 0;
  for (int32_t node : nodes) {
    if (static_cast<size_t>(node) < weights.size()) weight += weights[static_cast<size_t>(node)];
  }
  return weight;
}

std::vector<Difference> DifferencesOf(const FusionRecording& recording,
                                      const std::vector<double>& weights, const FusionEntry& base,
                                      const FusionEntry& entry) {
  std::vector<int32_t> before = base.kernels, after = entry.kernels;
  std::sort(before.begin(), before.end());
  std::sort(after.begin(), after.end());
  std::vector<Difference> differences;
  const auto add = [&](const std::vector<int32_t>& kernels, bool gone) {
    for (int32_t index : kernels) {
      const FusionRecordedKernel& kernel = recording.kernels()[static_cast<size_t>(index)];
      const double seconds = kernel.once.schedule * static_cast<double>(kernel.executions);
      differences.push_back(
          {&kernel.nodes, gone ? -seconds : seconds, WeightOf(kernel.nodes, weights), gone});
    }
  };
  std::vector<int32_t> only;
  std::set_difference(before.begin(), before.end(), after.begin(), after.end(),
                      std::back_inserter(only));
  add(only, true);
  only.clear();
  std::set_difference(after.begin(), after.end(), before.begin(), before.end(),
                      std::back_inserter(only));
  add(only, false);
  return differences;
}

// Joins kernels that are gone with those that took their place.
void JoinOverlapping(const std::vector<Difference>& differences, const std::vector<double>& weights,
                     DisjointSets* sets) {
  for (size_t i = 0; i < differences.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      const Difference& a = differences[i];
      const Difference& b = differences[j];
      if (a.gone == b.gone) continue;
      std::vector<int32_t> both;
      std::set_intersection(a.nodes->begin(), a.nodes->end(), b.nodes->begin(), b.nodes->end(),
                            std::back_inserter(both));
      const double shared = WeightOf(both, weights);
      if (!both.empty() && shared > kSameRegion * std::min(a.weight, b.weight)) sets->Join(i, j);
    }
  }
}

// Joins a cut with the kernels that held both its ends, or else with those that hold one.
void JoinCut(const FusionEdge& edge, size_t cut, const std::vector<Difference>& differences,
             DisjointSets* sets) {
  bool whole = false;
  for (size_t i = 0; i < differences.size(); ++i) {
    const Difference& kernel = differences[i];
    if (!kernel.gone || !kernel.Holds(edge.producer) || !kernel.Holds(edge.consumer)) continue;
    sets->Join(i, cut);
    whole = true;
  }
  for (size_t i = 0; i < differences.size() && !whole; ++i) {
    const Difference& kernel = differences[i];
    if (kernel.Holds(edge.producer) || kernel.Holds(edge.consumer)) sets->Join(i, cut);
  }
}

// A part of the program that changed.
struct Region {
  FusionEffect effect;
  std::set<int32_t> nodes;
};

// How much passes between two regions: the weights of values of one that are operands in the other.
double Passes(const FusionGraph& graph, const std::vector<double>& weights,
              const std::set<int32_t>& from, const std::set<int32_t>& to) {
  double weight = 0;
  for (int32_t node : to) {
    if (node >= graph.node_count()) continue;
    for (int32_t operand : graph.Operands(node)) {
      if (from.contains(operand)) weight += weights[static_cast<size_t>(operand)];
    }
  }
  return weight;
}

// Where nothing was cut, another layout or place of a value of a neighbour is what changed it: the
// region counts for the one with cuts that most passes to or from; with no neighbour for none,
// unless there is but one.
void CountStray(const FusionGraph& graph, const std::vector<double>& weights, const Region& stray,
                std::vector<Region>* cut) {
  Region* nearest = cut->size() == 1 ? &cut->front() : nullptr;
  double most = 0;
  for (Region& region : *cut) {
    const double weight = Passes(graph, weights, region.nodes, stray.nodes) +
                          Passes(graph, weights, stray.nodes, region.nodes);
    if (weight <= most) continue;
    most = weight;
    nearest = &region;
  }
  if (nearest != nullptr) nearest->effect.seconds += stray.effect.seconds;
}

}  // namespace

std::vector<FusionEffect> EffectsOf(const FusionGraph& graph, const FusionRecording& recording,
                                    const std::vector<double>& weights, const FusionEntry& base,
                                    const FusionEntry& entry) {
  const std::vector<int64_t>& cuts = entry.decision.cuts;
  if (cuts.empty()) return {};
  const std::vector<Difference> differences = DifferencesOf(recording, weights, base, entry);
  DisjointSets sets(differences.size() + cuts.size());
  JoinOverlapping(differences, weights, &sets);
  for (size_t i = 0; i < cuts.size(); ++i) {
    JoinCut(graph.edges()[static_cast<size_t>(cuts[i])], differences.size() + i, differences,
            &sets);
  }
  std::map<size_t, Region> regions;
  for (size_t i = 0; i < differences.size(); ++i) {
    Region& region = regions[sets.Find(i)];
    region.effect.seconds += differences[i].seconds;
    region.nodes.insert(differences[i].nodes->begin(), differences[i].nodes->end());
  }
  for (size_t i = 0; i < cuts.size(); ++i) {
    regions[sets.Find(differences.size() + i)].effect.cuts.push_back(cuts[i]);
  }
  std::vector<Region> cut, strays;
  for (auto& [root, region] : regions) {
    (region.effect.cuts.empty() ? strays : cut).push_back(std::move(region));
  }
  for (const Region& stray : strays) CountStray(graph, weights, stray, &cut);
  std::vector<FusionEffect> effects;
  effects.reserve(cut.size());
  for (Region& region : cut) effects.push_back(std::move(region.effect));
  return effects;
}

}  // namespace autotune
