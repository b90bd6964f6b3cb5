#include "search/model_greedy.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <utility>

namespace autotune {
namespace {

// Steps to the best-scored neighbour until none is better.
void Descend(const SearchSpace& space, Config from, int64_t steps, ScoredPool& pool,
             const TrialHistory& history) {
  double score = pool.Score({&from, 1}, history)[0];
  for (int64_t step = 0; step < steps; ++step) {
    std::vector<Config> neighbours = space.Neighbours(from);
    const std::vector<double> scores = pool.Score(neighbours, history);
    auto best = std::min_element(scores.begin(), scores.end());
    if (best == scores.end() || *best >= score) return;
    score = *best;
    from = std::move(neighbours[best - scores.begin()]);
  }
}

void SampleAndDescend(const SearchSpace& space, std::vector<Config> starts,
                      const ModelGreedy::Options& options, ScoredPool& pool,
                      const TrialHistory& history, Rng& rng) {
  std::vector<Config> configs;
  for (int64_t scored = 0; scored < options.sample;) {
    configs.clear();
    while (static_cast<int64_t>(configs.size()) < options.batch) {
      std::optional<Config> sample = space.Sample(rng);
      if (!sample) return;
      configs.push_back(*std::move(sample));
    }
    pool.Score(configs, history);
    scored += options.batch;
  }
  for (Config& config : pool.Best(options.descents, history)) starts.push_back(std::move(config));
  for (Config& start : starts) {
    Descend(space, std::move(start), options.steps, pool, history);
  }
}

GuidedSearch::Walk MakeWalk(const SearchSpace* space, const ModelGreedy::Options& options) {
  const std::optional<int64_t> size = space->Size();
  if (size && *size <= options.enumerate_limit) {
    return [space, options](const std::vector<Config>& /*starts*/, int64_t /*rounds*/,
                            ScoredPool& pool, const TrialHistory& history,
                            Rng& /*rng*/) { ScoreAll(*space, options.batch, pool, history); };
  }
  return [space, options](std::vector<Config> starts, int64_t rounds, ScoredPool& pool,
                          const TrialHistory& history, Rng& rng) {
    // A short walk, after a new best was measured, looks around that one alone.
    ModelGreedy::Options walk = options;
    if (rounds == 0) walk.sample = 0;
    SampleAndDescend(*space, std::move(starts), walk, pool, history, rng);
  };
}

}  // namespace

ModelGreedy::ModelGreedy(const SearchSpace* space, const CandidateScorer* scorer, uint64_t seed,
                         Options options)
    : rng_(seed),
      guided_(space, scorer, MakeWalk(space, options),
              {.starts = 8,
               .long_rounds = 1,
               .short_rounds = 0,
               .pool = {.capacity = 4096},
               .reranked = 0}) {}

std::vector<Config> ModelGreedy::Propose(int64_t n) { return guided_.Propose(n, history_, rng_); }

void ModelGreedy::Observe(absl::Span<const Observation> observations) {
  history_.Observe(observations);
}

}  // namespace autotune
