#include "tuner/fusion_effect_search.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "search/fusion_overlap_model.h"
#include "search/fusion_space.h"
#include "tuner/fusion_regions.h"

namespace autotune {
namespace {

// How far a cut is expected to change the time of the largest kernel that it is in: with 0.02 to
// 0.05 the recorded programs come out alike.
constexpr double kDeviation = 0.02;
// How much of what a model says of a cut, or of the deviation if that is less, is believed: with
// more, recorded programs come out worse.
constexpr double kBelief = 0.3;
constexpr double kNoise = 1e-5;  // of the program's time
// What is expected to gain less, as a share of the program's time, is not tried for that.
constexpr double kWorthwhile = 1e-4;
constexpr size_t kMostTrials = 16;
constexpr int kSteps = 200;
constexpr int kTries = 64;

// Of each node, the kernels of the default that hold it, as places in its list, ascending.
std::vector<std::vector<int32_t>> KernelsOfNodes(const FusionGraph& graph,
                                                 const FusionRecording& recording) {
  std::vector<std::vector<int32_t>> of_node(static_cast<size_t>(graph.node_count()));
  const std::vector<int32_t>& kernels = recording.entries().front().kernels;
  for (size_t i = 0; i < kernels.size(); ++i) {
    for (int32_t node : recording.kernels()[static_cast<size_t>(kernels[i])].nodes) {
      if (node < graph.node_count()) {
        of_node[static_cast<size_t>(node)].push_back(static_cast<int32_t>(i));
      }
    }
  }
  return of_node;
}

// The kernels that hold both ends of an edge, or else those that hold one.
std::vector<int32_t> KernelsOf(const FusionEdge& edge,
                               const std::vector<std::vector<int32_t>>& of_node) {
  const std::vector<int32_t>& from = of_node[static_cast<size_t>(edge.producer)];
  const std::vector<int32_t>& to = of_node[static_cast<size_t>(edge.consumer)];
  std::vector<int32_t> kernels;
  std::set_intersection(from.begin(), from.end(), to.begin(), to.end(),
                        std::back_inserter(kernels));
  if (!kernels.empty()) return kernels;
  std::set_union(from.begin(), from.end(), to.begin(), to.end(), std::back_inserter(kernels));
  return kernels;
}

// Sets the means to what the model says.
void ExpectBy(const FusionScorer& model, const std::vector<int64_t>& edges,
              std::vector<FusionEffects::Edge>* priors) {
  const Config none{FusionDecision{}};
  const double expected = std::exp(model.Score({&none, 1}).front());
  for (int64_t edge : edges) {
    FusionEffects::Edge& prior = (*priors)[static_cast<size_t>(edge)];
    const Config cut{FusionDecision{{edge}}};
    const double change = std::exp(model.ScoreMove(none, cut)) - expected;
    prior.mean = kBelief * std::clamp(change, -prior.deviation, prior.deviation);
  }
}

FusionEffects PriorEffects(const FusionGraph& graph, const FusionRecording& recording,
                           const FusionScorer* model, const std::vector<int64_t>& edges) {
  const FusionEntry& base = recording.entries().front();
  const std::vector<std::vector<int32_t>> of_node = KernelsOfNodes(graph, recording);
  const double noise = kNoise * base.total.schedule;
  std::vector<FusionEffects::Edge> priors(static_cast<size_t>(graph.edge_count()));
  for (size_t i = 0; i < priors.size(); ++i) {
    FusionEffects::Edge& prior = priors[i];
    prior.kernels = KernelsOf(graph.edges()[i], of_node);
    double largest = 0;
    for (int32_t place : prior.kernels) {
      const auto index = static_cast<size_t>(base.kernels[static_cast<size_t>(place)]);
      const FusionRecordedKernel& kernel = recording.kernels()[index];
      largest = std::max(largest, kernel.once.schedule * static_cast<double>(kernel.executions));
    }
    prior.deviation = std::max(kDeviation * largest, noise);
  }
  if (model != nullptr) ExpectBy(*model, edges, &priors);
  return FusionEffects(std::move(priors), noise);
}

}  // namespace

FusionEffectSearch::FusionEffectSearch(const FusionGraph* graph, const FusionRecording& recording,
                                       const DeviceSpec& device, const FusionScorer* model,
                                       std::vector<int64_t> edges, std::vector<FusionDecision> only,
                                       uint64_t seed)
    : graph_(graph),
      edges_(std::move(edges)),
      only_(std::move(only)),
      listed_(!only_.empty()),
      rng_(seed),
      weights_(OverlapWeights(*graph, device)),
      effects_(PriorEffects(*graph, recording, model, edges_)) {
  base_seconds_ = recording.entries().front().total.schedule;
  fastest_seconds_ = base_seconds_;
  Learn(recording);
}

void FusionEffectSearch::Learn(const FusionRecording& recording) {
  for (; learned_ < recording.entries().size(); ++learned_) {
    const FusionEntry& entry = recording.entries()[learned_];
    if (entry.failure.has_value()) continue;
    for (const FusionEffect& effect :
         EffectsOf(*graph_, recording, weights_, recording.entries().front(), entry)) {
      effects_.Add(effect);
    }
    if (entry.total.schedule < fastest_seconds_) {
      fastest_seconds_ = entry.total.schedule;
      fastest_cuts_ = entry.decision;
      fastest_ = learned_;
    }
  }
}

std::optional<FusionDecision> FusionEffectSearch::Next(const FusionForesight& foresight) {
  if (explored_) {
    explored_ = false;
    if (std::optional<FusionDecision> next = Exploit(foresight); next.has_value()) return next;
  }
  explored_ = true;
  return Explore(foresight);
}

std::vector<FusionDecision> FusionEffectSearch::Open(const FusionForesight& foresight) {
  std::erase_if(only_, [&foresight](const FusionDecision& decision) {
    return foresight.Foresee(decision).has_value();
  });
  return only_;
}

FusionDecision FusionEffectSearch::Descend() const {
  FusionDecision decision = fastest_cuts_;
  double mean = effects_.Mean(decision.cuts);
  for (int step = 0; step < kSteps; ++step) {
    FusionDecision best;
    double best_mean = mean - kNoise * base_seconds_;
    bool found = false;
    for (int64_t edge : edges_) {
      FusionDecision flipped = FlipEdge(decision, edge);
      const double of_flipped = effects_.Mean(flipped.cuts);
      if (of_flipped >= best_mean) continue;
      best_mean = of_flipped;
      best = std::move(flipped);
      found = true;
    }
    if (!found) break;
    decision = std::move(best);
    mean = best_mean;
  }
  return decision;
}

std::optional<FusionDecision> FusionEffectSearch::Exploit(const FusionForesight& foresight) {
  FusionDecision best;
  if (listed_) {
    const std::vector<FusionDecision> open = Open(foresight);
    if (open.empty()) return std::nullopt;
    best = *std::min_element(open.begin(), open.end(),
                             [this](const FusionDecision& a, const FusionDecision& b) {
                               return effects_.Mean(a.cuts) < effects_.Mean(b.cuts);
                             });
  } else {
    best = Descend();
    if (foresight.Foresee(best).has_value()) return std::nullopt;
  }
  const double seconds = base_seconds_ + effects_.Mean(best.cuts);
  if (seconds >= fastest_seconds_ - kWorthwhile * base_seconds_) return std::nullopt;
  return best;
}

// By edge of the graph, what cutting it promises, a little off so that seeds differ.
std::vector<double> FusionEffectSearch::Gains() {
  std::vector<double> gains(static_cast<size_t>(graph_->edge_count()));
  for (int64_t edge : edges_) {
    gains[static_cast<size_t>(edge)] =
        effects_.ExpectedGain(edge) * (0.95 + 0.1 * UniformReal(rng_));
  }
  return gains;
}

std::optional<FusionDecision> FusionEffectSearch::ExploreOf(
    const std::vector<FusionDecision>& open) {
  if (open.empty()) return std::nullopt;
  const std::vector<double> gains = Gains();
  const FusionDecision* best = nullptr;
  double best_gain = -1;
  for (const FusionDecision& decision : open) {
    double gain = 0;
    for (int64_t cut : decision.cuts) gain += gains[static_cast<size_t>(cut)];
    if (gain <= best_gain) continue;
    best_gain = gain;
    best = &decision;
  }
  return *best;
}

std::optional<FusionDecision> FusionEffectSearch::Explore(const FusionForesight& foresight) {
  if (listed_) return ExploreOf(Open(foresight));
  const std::vector<double> gains = Gains();
  std::vector<int64_t> order = edges_;
  std::stable_sort(order.begin(), order.end(), [&gains](int64_t a, int64_t b) {
    return gains[static_cast<size_t>(a)] > gains[static_cast<size_t>(b)];
  });
  const std::vector<bool>& fused = foresight.outline(fastest_).fused;
  FusionDecision decision = fastest_cuts_;
  std::vector<int64_t> tried;
  for (int64_t edge : order) {
    if (tried.size() >= kMostTrials || gains[static_cast<size_t>(edge)] < kNoise * base_seconds_) {
      break;
    }
    // A cut that is made already, or that changes nothing beside the fastest's.
    if (!fused[static_cast<size_t>(edge)]) continue;
    const bool far = std::none_of(tried.begin(), tried.end(), [this, edge](int64_t other) {
      return effects_.Interact(edge, other);
    });
    if (!far) continue;
    tried.push_back(edge);
    decision = FlipEdge(decision, edge);
  }
  if (!tried.empty() && !foresight.Foresee(decision).has_value()) return decision;
  return Mutate(foresight);
}

// One or two edges of the fastest flipped at random.
std::optional<FusionDecision> FusionEffectSearch::Mutate(const FusionForesight& foresight) {
  for (int i = 0; i < kTries; ++i) {
    FusionDecision decision = fastest_cuts_;
    for (int64_t flips = 1 + UniformIndex(rng_, 2); flips > 0; --flips) {
      const auto place = UniformIndex(rng_, static_cast<int64_t>(edges_.size()));
      decision = FlipEdge(decision, edges_[static_cast<size_t>(place)]);
    }
    if (!foresight.Foresee(decision).has_value()) return decision;
  }
  return std::nullopt;
}

double FusionEffectSearch::PredictedGain() const {
  double gain = std::max(0.0, fastest_seconds_ - base_seconds_ - effects_.Mean(Descend().cuts));
  for (int64_t edge : edges_) gain += effects_.ExpectedGain(edge);
  // What is known to gain counts once.
  for (int64_t cut : fastest_cuts_.cuts) gain -= effects_.ExpectedGain(cut);
  return std::clamp(gain / fastest_seconds_, 0.0, 1.0);
}

}  // namespace autotune
