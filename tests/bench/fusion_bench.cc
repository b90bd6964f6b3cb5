// Speed of scoring moves of the fusion search: a program of 2,750 operations, 2,000 moves, each of
// them scored by itself, as they come out of a walk ("Walk") or all beside one configuration
// ("Neighbours"). Every repetition starts with a scorer that remembers nothing. The network is of
// the default shape of `autotune train --task fusion`, with the weights it starts with. CPU time of
// one thread; items per second are moves per second.

#include <benchmark/benchmark.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "costmodel/fusion_features.h"
#include "costmodel/fusion_time_model.h"
#include "costmodel/fusion_training.h"
#include "costmodel/network_module.h"
#include "hardware/device_spec.h"
#include "hlo/parser.h"
#include "search/fusion_groups.h"
#include "search/fusion_scorer.h"
#include "search/fusion_space.h"
#include "tests/search/layered_program.h"

namespace autotune {
namespace {

constexpr int kLayers = 250;
constexpr size_t kMoves = 2000;

const FusionGraph& Graph() {
  static const FusionGraph& graph = *new FusionGraph(
      FusionGraph::Create(ParseHloText(testing::LayeredProgram(kLayers)).value()).value());
  return graph;
}

// The first is where the moves begin.
std::vector<Config> Moves(bool walk) {
  const FusionSpace space(&Graph());
  Rng rng(5);
  Config config{FusionDecision{}};
  for (int i = 0; i < 20; ++i) config = *space.RandomNeighbour(config, rng);
  std::vector<Config> moves = {config};
  while (moves.size() <= kMoves) {
    moves.push_back(*space.RandomNeighbour(walk ? moves.back() : config, rng));
  }
  return moves;
}

void ScoreMoves(const FusionPrior& prior, bool walk, benchmark::State& state) {
  const std::vector<Config> moves = Moves(walk);
  const DeviceSpec device = FindDeviceSpec("tpu-v3").value();
  for (auto _ : state) {
    state.PauseTiming();
    auto scorer = std::make_unique<FusionScorer>(&Graph(), PredictOutline(Graph()), device, prior);
    scorer->Score({moves.data(), 1});
    state.ResumeTiming();
    for (size_t i = 1; i < moves.size(); ++i) {
      benchmark::DoNotOptimize(scorer->ScoreMove(moves[walk ? i - 1 : 0], moves[i]));
    }
    state.PauseTiming();
    scorer.reset();
    state.ResumeTiming();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<int64_t>(kMoves));
}

absl::StatusOr<FusionPrior> DefaultNetwork() {
  NetworkOptions options = FusionTrainerOptions().network;
  const FeatureSchema& schema = FusionFeatureSchema();
  options.node_features = static_cast<int64_t>(schema.node.size());
  options.kernel_features = static_cast<int64_t>(schema.kernel.size());
  options.config_features = static_cast<int64_t>(schema.config.size());
  absl::StatusOr<std::unique_ptr<Network>> created = CreateNetwork(options);
  if (!created.ok()) return created.status();
  const std::shared_ptr<const Network> network = *std::move(created);
  const auto times = std::make_shared<const FusionTimeModel>(network.get(), &Graph(),
                                                             FindDeviceSpec("tpu-v3").value());
  return FusionPrior([network, times](const FusionGroup& group) { return times->Seconds(group); });
}

void BM_AnalyticalNeighbours(benchmark::State& state) { ScoreMoves(nullptr, false, state); }
BENCHMARK(BM_AnalyticalNeighbours)->Unit(benchmark::kMillisecond);

void BM_AnalyticalWalk(benchmark::State& state) { ScoreMoves(nullptr, true, state); }
BENCHMARK(BM_AnalyticalWalk)->Unit(benchmark::kMillisecond);

void Learned(bool walk, benchmark::State& state) {
  const absl::StatusOr<FusionPrior> prior = DefaultNetwork();
  if (!prior.ok()) return state.SkipWithError(std::string(prior.status().message()).c_str());
  ScoreMoves(*prior, walk, state);
}

void BM_LearnedNeighbours(benchmark::State& state) { Learned(false, state); }
BENCHMARK(BM_LearnedNeighbours)->Unit(benchmark::kMillisecond);

void BM_LearnedWalk(benchmark::State& state) { Learned(true, state); }
BENCHMARK(BM_LearnedWalk)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace autotune
