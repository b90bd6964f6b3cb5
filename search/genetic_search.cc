#include "search/genetic_search.h"

#include <algorithm>
#include <string>
#include <utility>

#include "absl/container/flat_hash_set.h"

namespace autotune {
namespace {

constexpr int kChildTries = 8;
constexpr int kTournament = 3;

struct Individual {
  Config config;
  double score;
};

// `individual` follows the position in a list sorted from fit to unfit, so the smallest of some
// draws wins the tournament.
size_t TournamentWinner(size_t size, Rng& rng) {
  auto winner = static_cast<int64_t>(size);
  for (int i = 0; i < kTournament; ++i) {
    winner = std::min(winner, UniformIndex(rng, static_cast<int64_t>(size)));
  }
  return static_cast<size_t>(winner);
}

// Random steps: one with the given probability, then another with the same and so on, up to three.
Config Mutate(const SearchSpace& space, Config config, double mutation, Rng& rng) {
  for (int i = 0; i < 3 && Chance(rng, mutation); ++i) {
    std::optional<Config> moved = space.RandomNeighbour(config, rng);
    if (!moved) break;
    config = *std::move(moved);
    mutation /= 2;
  }
  return config;
}

// Adds individuals that are not there yet, and keeps the `size` fittest in order.
void Select(std::vector<Individual>& population, std::vector<Individual> children, size_t size) {
  for (Individual& child : children) population.push_back(std::move(child));
  std::stable_sort(population.begin(), population.end(),
                   [](const Individual& a, const Individual& b) { return a.score < b.score; });
  absl::flat_hash_set<std::string> keys;
  std::vector<Individual> kept;
  for (Individual& individual : population) {
    if (kept.size() == size) break;
    if (keys.insert(individual.config.Key()).second) kept.push_back(std::move(individual));
  }
  population = std::move(kept);
}

std::vector<Individual> Evaluate(std::vector<Config> configs, ScoredPool& pool,
                                 const TrialHistory& history) {
  const std::vector<double> scores = pool.Score(configs, history);
  std::vector<Individual> individuals;
  individuals.reserve(configs.size());
  for (size_t i = 0; i < configs.size(); ++i) {
    individuals.push_back({std::move(configs[i]), scores[i]});
  }
  return individuals;
}

}  // namespace

void EvolveOnScores(const SearchSpace& space, std::vector<Config> starts, int64_t rounds,
                    double mutation, ScoredPool& pool, const TrialHistory& history, Rng& rng) {
  const size_t size = starts.size();
  std::vector<Individual> population;
  Select(population, Evaluate(std::move(starts), pool, history), size);
  for (int64_t round = 0; round < rounds; ++round) {
    std::vector<Config> children;
    children.reserve(size);
    while (children.size() < size) {
      const Config& a = population[TournamentWinner(population.size(), rng)].config;
      const Config& b = population[TournamentWinner(population.size(), rng)].config;
      children.push_back(Mutate(space, space.Crossover(a, b, rng), mutation, rng));
    }
    Select(population, Evaluate(std::move(children), pool, history), size);
  }
}

GeneticSearch::GeneticSearch(const SearchSpace* space, const CandidateScorer* scorer, uint64_t seed,
                             Options options)
    : space_(space), options_(options), rng_(seed), unseen_(space), screen_(space) {
  if (scorer == nullptr) return;
  guided_.emplace(
      space, scorer,
      [space, mutation = options.mutation](std::vector<Config> starts, int64_t rounds,
                                           ScoredPool& pool, const TrialHistory& history,
                                           Rng& rng) {
        EvolveOnScores(*space, std::move(starts), rounds, mutation, pool, history, rng);
      },
      options.guided);
}

const Config& GeneticSearch::Parent() {
  const std::vector<Trial>& fastest = history_.fastest_first();
  const size_t size = std::min(fastest.size(), static_cast<size_t>(options_.population));
  return fastest[TournamentWinner(size, rng_)].config;
}

std::optional<Config> GeneticSearch::RandomChild() {
  for (int i = 0; i < kChildTries; ++i) {
    const Config& a = Parent();
    const Config& b = Parent();
    if (!space_->Contains(a) || !space_->Contains(b)) continue;
    Config child = Mutate(*space_, space_->Crossover(a, b, rng_), options_.mutation, rng_);
    if (!history_.Seen(child)) return child;
  }
  return std::nullopt;
}

std::optional<Config> GeneticSearch::Child() {
  std::vector<Config> children;
  for (int64_t i = 0; i < options_.screened; ++i) {
    const bool immigrant = Chance(rng_, options_.immigrants);
    std::optional<Config> child = immigrant ? unseen_.Next(history_, rng_) : RandomChild();
    if (!child) break;
    children.push_back(*std::move(child));
  }
  if (children.empty()) return std::nullopt;
  return screen_.MostPromising(std::move(children));
}

std::vector<Config> GeneticSearch::Propose(int64_t n) {
  if (guided_) return guided_->Propose(n, history_, rng_);
  std::vector<Config> proposals;
  while (static_cast<int64_t>(proposals.size()) < n) {
    std::optional<Config> next;
    if (history_.seen_count() >= options_.initial_samples && history_.best() != nullptr) {
      next = Child();
    }
    if (!next) next = unseen_.Next(history_, rng_);
    if (!next) break;
    history_.Propose(*next);
    proposals.push_back(*std::move(next));
  }
  return proposals;
}

void GeneticSearch::Observe(absl::Span<const Observation> observations) {
  const std::vector<Trial> trials = history_.Observe(observations);
  if (guided_) return guided_->Observe(trials, history_);
  for (const Trial& trial : trials) screen_.Add(trial);
}

}  // namespace autotune
