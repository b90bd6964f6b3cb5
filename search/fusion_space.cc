#include "search/fusion_space.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace autotune {
namespace {

// Of a few moves each kind, how often a random move is of that kind.
constexpr double kFlip = 0.6;
constexpr double kMoveBoundary = 0.25;

std::vector<int64_t> AllEdges(const FusionGraph& graph) {
  std::vector<int64_t> edges(static_cast<size_t>(graph.edge_count()));
  std::iota(edges.begin(), edges.end(), 0);
  return edges;
}

// Whether each place of `edges` is cut.
std::vector<bool> CutPlaces(const std::vector<int64_t>& edges, const FusionDecision& decision) {
  std::vector<bool> cut(edges.size(), false);
  for (int64_t edge : decision.cuts) {
    cut[static_cast<size_t>(std::lower_bound(edges.begin(), edges.end(), edge) - edges.begin())] =
        true;
  }
  return cut;
}

Config ToConfig(const std::vector<int64_t>& edges, const std::vector<bool>& cut) {
  FusionDecision decision;
  for (size_t i = 0; i < edges.size(); ++i) {
    if (cut[i]) decision.cuts.push_back(edges[i]);
  }
  return Config(std::move(decision));
}

// Sets of k places in the order of their numbers, for k = 0, 1, 2, ...
class FusionCursor final : public SpaceCursor {
 public:
  explicit FusionCursor(const std::vector<int64_t>* edges) : edges_(*edges) {}

  std::optional<Config> Next() override {
    if (!begun_) {
      begun_ = true;
    } else if (!Advance()) {
      return std::nullopt;
    }
    FusionDecision decision;
    for (size_t place : places_) decision.cuts.push_back(edges_[place]);
    return Config(std::move(decision));
  }

 private:
  bool Advance() {
    const size_t n = edges_.size(), k = places_.size();
    for (size_t i = k; i-- > 0;) {
      if (places_[i] + (k - i) >= n) continue;
      ++places_[i];
      for (size_t j = i + 1; j < k; ++j) places_[j] = places_[j - 1] + 1;
      return true;
    }
    if (k == n) return false;
    places_.resize(k + 1);
    std::iota(places_.begin(), places_.end(), size_t{0});
    return true;
  }

  const std::vector<int64_t>& edges_;
  std::vector<size_t> places_;
  bool begun_ = false;
};

// Disjoint sets of nodes.
class Components {
 public:
  explicit Components(int32_t count) : parent_(static_cast<size_t>(count)) {
    std::iota(parent_.begin(), parent_.end(), 0);
  }
  int32_t Find(int32_t node) {
    auto at = static_cast<size_t>(node);
    while (parent_[at] != static_cast<int32_t>(at)) {
      parent_[at] = parent_[static_cast<size_t>(parent_[at])];
      at = static_cast<size_t>(parent_[at]);
    }
    return static_cast<int32_t>(at);
  }
  void Join(int32_t a, int32_t b) { parent_[static_cast<size_t>(Find(a))] = Find(b); }

 private:
  std::vector<int32_t> parent_;
};

}  // namespace

FusionDecision FlipEdge(FusionDecision decision, int64_t edge) {
  const auto place = std::lower_bound(decision.cuts.begin(), decision.cuts.end(), edge);
  if (place != decision.cuts.end() && *place == edge) {
    decision.cuts.erase(place);
  } else {
    decision.cuts.insert(place, edge);
  }
  return decision;
}

FusionSpace::FusionSpace(const FusionGraph* graph) : FusionSpace(graph, AllEdges(*graph)) {}

FusionSpace::FusionSpace(const FusionGraph* graph, std::vector<int64_t> edges)
    : graph_(graph), edges_(std::move(edges)), beside_(edges_.size()) {
  std::vector<std::vector<int32_t>> into(static_cast<size_t>(graph->node_count()));
  std::vector<std::vector<int32_t>> out_of(static_cast<size_t>(graph->node_count()));
  for (size_t i = 0; i < edges_.size(); ++i) {
    const FusionEdge& edge = graph->edges()[static_cast<size_t>(edges_[i])];
    into[static_cast<size_t>(edge.consumer)].push_back(static_cast<int32_t>(i));
    out_of[static_cast<size_t>(edge.producer)].push_back(static_cast<int32_t>(i));
  }
  for (size_t i = 0; i < edges_.size(); ++i) {
    const FusionEdge& edge = graph->edges()[static_cast<size_t>(edges_[i])];
    std::set<int32_t> beside;
    for (int32_t node : {edge.producer, edge.consumer}) {
      beside.insert(into[static_cast<size_t>(node)].begin(), into[static_cast<size_t>(node)].end());
      beside.insert(out_of[static_cast<size_t>(node)].begin(),
                    out_of[static_cast<size_t>(node)].end());
    }
    beside.erase(static_cast<int32_t>(i));
    beside_[i].assign(beside.begin(), beside.end());
  }
  for (std::vector<int32_t>& places : out_of) {
    if (places.size() > 1) values_.push_back(std::move(places));
  }
}

absl::StatusOr<std::unique_ptr<FusionSpace>> FusionSpace::Create(const FusionGraph* graph,
                                                                 std::vector<int64_t> edges) {
  const bool ascending =
      std::adjacent_find(edges.begin(), edges.end(), std::greater_equal<>()) == edges.end();
  if (edges.empty() || !ascending || edges.front() < 0 || edges.back() >= graph->edge_count()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the edges to cut are not ascending numbers from 0 to ", graph->edge_count() - 1));
  }
  return std::unique_ptr<FusionSpace>(new FusionSpace(graph, std::move(edges)));
}

std::optional<int64_t> FusionSpace::Size() const {
  if (edges_.size() >= 62) return std::nullopt;
  return int64_t{1} << edges_.size();
}

bool FusionSpace::Contains(const Config& config) const {
  if (config.fusion() == nullptr) return false;
  return std::includes(edges_.begin(), edges_.end(), config.fusion()->cuts.begin(),
                       config.fusion()->cuts.end());
}

std::unique_ptr<SpaceCursor> FusionSpace::NewCursor() const {
  return std::make_unique<FusionCursor>(&edges_);
}

std::optional<Config> FusionSpace::Sample(Rng& rng) const {
  const auto n = static_cast<int64_t>(edges_.size());
  const double count = std::exp(UniformReal(rng) * std::log(static_cast<double>(n) + 2)) - 1;
  const int64_t cuts = std::min<int64_t>(n, static_cast<int64_t>(count));
  // Floyd's choice of a subset.
  std::set<int64_t> places;
  for (int64_t j = n - cuts; j < n; ++j) {
    const int64_t place = UniformIndex(rng, j + 1);
    if (!places.insert(place).second) places.insert(j);
  }
  FusionDecision decision;
  for (int64_t place : places) decision.cuts.push_back(edges_[static_cast<size_t>(place)]);
  return Config(std::move(decision));
}

std::vector<Config> FusionSpace::Neighbours(const Config& config) const {
  std::vector<bool> cut = CutPlaces(edges_, *config.fusion());
  std::vector<Config> neighbours;
  for (size_t i = 0; i < edges_.size(); ++i) {
    cut[i] = !cut[i];
    neighbours.push_back(ToConfig(edges_, cut));
    cut[i] = !cut[i];
  }
  for (size_t i = 0; i < edges_.size(); ++i) {
    if (!cut[i]) continue;
    for (int32_t j : beside_[i]) {
      if (cut[static_cast<size_t>(j)]) continue;
      cut[i] = false;
      cut[static_cast<size_t>(j)] = true;
      neighbours.push_back(ToConfig(edges_, cut));
      cut[i] = true;
      cut[static_cast<size_t>(j)] = false;
    }
  }
  for (const std::vector<int32_t>& value : values_) {
    const bool first = cut[static_cast<size_t>(value[0])];
    if (!std::all_of(value.begin(), value.end(),
                     [&](int32_t i) { return cut[static_cast<size_t>(i)] == first; })) {
      continue;
    }
    for (int32_t i : value) cut[static_cast<size_t>(i)] = !first;
    neighbours.push_back(ToConfig(edges_, cut));
    for (int32_t i : value) cut[static_cast<size_t>(i)] = first;
  }
  return neighbours;
}

std::optional<Config> FusionSpace::RandomNeighbour(const Config& config, Rng& rng) const {
  std::vector<bool> cut = CutPlaces(edges_, *config.fusion());
  const double kind = UniformReal(rng);
  if (kind >= kFlip && kind < kFlip + kMoveBoundary && !config.fusion()->cuts.empty()) {
    const auto cuts = static_cast<int64_t>(config.fusion()->cuts.size());
    const int64_t edge = config.fusion()->cuts[static_cast<size_t>(UniformIndex(rng, cuts))];
    const auto i =
        static_cast<size_t>(std::lower_bound(edges_.begin(), edges_.end(), edge) - edges_.begin());
    if (!beside_[i].empty()) {
      const auto j = static_cast<size_t>(beside_[i][static_cast<size_t>(
          UniformIndex(rng, static_cast<int64_t>(beside_[i].size())))]);
      if (!cut[j]) {
        cut[i] = false;
        cut[j] = true;
        return ToConfig(edges_, cut);
      }
    }
  } else if (kind >= kFlip + kMoveBoundary && !values_.empty()) {
    const std::vector<int32_t>& value =
        values_[static_cast<size_t>(UniformIndex(rng, static_cast<int64_t>(values_.size())))];
    const bool first = cut[static_cast<size_t>(value[0])];
    if (std::all_of(value.begin(), value.end(),
                    [&](int32_t i) { return cut[static_cast<size_t>(i)] == first; })) {
      for (int32_t i : value) cut[static_cast<size_t>(i)] = !first;
      return ToConfig(edges_, cut);
    }
  }
  const auto i = static_cast<size_t>(UniformIndex(rng, static_cast<int64_t>(edges_.size())));
  cut[i] = !cut[i];
  return ToConfig(edges_, cut);
}

Config FusionSpace::Crossover(const Config& a, const Config& b, Rng& rng) const {
  std::vector<bool> cut_a = CutPlaces(edges_, *a.fusion());
  const std::vector<bool> cut_b = CutPlaces(edges_, *b.fusion());
  Components groups(graph_->node_count());
  for (size_t i = 0; i < edges_.size(); ++i) {
    const FusionEdge& edge = graph_->edges()[static_cast<size_t>(edges_[i])];
    if (!cut_a[i]) groups.Join(edge.producer, edge.consumer);
  }
  absl::flat_hash_map<int32_t, bool> kept;
  const auto keeps = [&](int32_t node) {
    const auto [found, is_new] = kept.emplace(groups.Find(node), false);
    if (is_new) found->second = Chance(rng, 0.5);
    return found->second;
  };
  for (size_t i = 0; i < edges_.size(); ++i) {
    const FusionEdge& edge = graph_->edges()[static_cast<size_t>(edges_[i])];
    const bool producer = keeps(edge.producer);
    const bool consumer = keeps(edge.consumer);
    if (!producer && !consumer) cut_a[i] = cut_b[i];
  }
  return ToConfig(edges_, cut_a);
}

}  // namespace autotune
