#include "search/simulated_annealing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace autotune {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr int kFreeSteps = 64;
// The walk on scores cools to this share of where it begins.
constexpr double kCoolTo = 0.01;

bool Accept(double from, double to, double temperature, Rng& rng) {
  if (to <= from) return true;
  if (to == kInfinity) return false;
  return UniformReal(rng) < std::exp((from - to) / temperature);
}

// The standard deviation of the finite ones; a small number if there are none or all are equal.
double Spread(const std::vector<double>& scores) {
  double sum = 0, squares = 0, count = 0;
  for (double score : scores) {
    if (!std::isfinite(score)) continue;
    sum += score;
    squares += score * score;
    ++count;
  }
  if (count < 2) return 1e-9;
  const double mean = sum / count;
  return std::max(1e-9, std::sqrt(std::max(0.0, squares / count - mean * mean)));
}

}  // namespace

void AnnealOnScores(const SearchSpace& space, std::vector<Config> chains, int64_t rounds,
                    ScoredPool& pool, const TrialHistory& history, Rng& rng) {
  std::vector<double> scores = pool.Score(chains, history);
  double temperature = Spread(scores);
  const double cooling = std::pow(kCoolTo, 1.0 / static_cast<double>(std::max<int64_t>(1, rounds)));
  std::vector<size_t> movers;
  std::vector<Config> moves;
  for (int64_t round = 0; round < rounds; ++round, temperature *= cooling) {
    movers.clear();
    moves.clear();
    for (size_t i = 0; i < chains.size(); ++i) {
      std::optional<Config> move = space.RandomNeighbour(chains[i], rng);
      if (!move) continue;
      movers.push_back(i);
      moves.push_back(*std::move(move));
    }
    if (moves.empty()) return;
    const std::vector<double> move_scores = pool.Score(moves, history);
    for (size_t i = 0; i < movers.size(); ++i) {
      if (!Accept(scores[movers[i]], move_scores[i], temperature, rng)) continue;
      chains[movers[i]] = std::move(moves[i]);
      scores[movers[i]] = move_scores[i];
    }
  }
}

SimulatedAnnealing::SimulatedAnnealing(const SearchSpace* space, const CandidateScorer* scorer,
                                       uint64_t seed, Options options)
    : space_(space),
      options_(options),
      rng_(seed),
      unseen_(space),
      screen_(space),
      temperature_(options.initial_temperature),
      chain_best_(kInfinity) {
  if (scorer == nullptr) return;
  guided_.emplace(
      space, scorer,
      [space](std::vector<Config> starts, int64_t rounds, ScoredPool& pool,
              const TrialHistory& history,
              Rng& rng) { AnnealOnScores(*space, std::move(starts), rounds, pool, history, rng); },
      options.guided);
}

std::optional<Config> SimulatedAnnealing::RandomStep() {
  for (int i = 0; i < kFreeSteps; ++i) {
    std::optional<Config> move = space_->RandomNeighbour(current_->config, rng_);
    if (!move) return std::nullopt;
    if (!history_.Seen(*move)) return move;
    const std::optional<double> known = history_.LogSeconds(*move);
    if (known && Accept(current_->log_seconds, *known, temperature_, rng_)) {
      current_ = Trial{*std::move(move), *known};
    }
  }
  return std::nullopt;
}

std::optional<Config> SimulatedAnnealing::Step() {
  std::vector<Config> steps;
  for (int64_t i = 0; i < options_.screened; ++i) {
    const bool jump = Chance(rng_, options_.jump);
    std::optional<Config> step = jump ? unseen_.Next(history_, rng_) : RandomStep();
    if (!step) break;
    steps.push_back(*std::move(step));
  }
  if (steps.empty()) return std::nullopt;
  return screen_.MostPromising(std::move(steps));
}

std::vector<Config> SimulatedAnnealing::Propose(int64_t n) {
  if (guided_) return guided_->Propose(n, history_, rng_);
  std::vector<Config> proposals;
  while (static_cast<int64_t>(proposals.size()) < n) {
    std::optional<Config> next;
    if (current_ && results_ >= options_.initial_samples) next = Step();
    if (!next) next = unseen_.Next(history_, rng_);
    if (!next) break;
    history_.Propose(*next);
    proposals.push_back(*std::move(next));
  }
  return proposals;
}

void SimulatedAnnealing::Restart() {
  since_improvement_ = 0;
  temperature_ = options_.initial_temperature;
  chain_best_ = kInfinity;
  const std::vector<Trial>& fastest = history_.fastest_first();
  // One of the fastest eight, so that the chain takes another way.
  if (!fastest.empty()) {
    current_ = fastest[UniformIndex(rng_, std::min<int64_t>(8, fastest.size()))];
  }
}

void SimulatedAnnealing::Consider(const Trial& trial) {
  if (!space_->Contains(trial.config)) return;
  const bool starting = !current_ || results_ < options_.initial_samples;
  const double from = current_ ? current_->log_seconds : kInfinity;
  if (starting ? trial.log_seconds < from : Accept(from, trial.log_seconds, temperature_, rng_)) {
    current_ = trial;
  }
}

void SimulatedAnnealing::Observe(absl::Span<const Observation> observations) {
  const std::vector<Trial> trials = history_.Observe(observations);
  if (guided_) return guided_->Observe(trials, history_);
  for (const Trial& trial : trials) {
    screen_.Add(trial);
    Consider(trial);
    ++results_;
    if (results_ <= options_.initial_samples) continue;
    temperature_ = std::max(options_.final_temperature, temperature_ * options_.cooling);
    if (trial.log_seconds < chain_best_) {
      chain_best_ = trial.log_seconds;
      since_improvement_ = 0;
    } else if (++since_improvement_ >= options_.patience) {
      Restart();
    }
  }
}

}  // namespace autotune
