#ifndef AUTOTUNE_SEARCH_GENETIC_SEARCH_H_
#define AUTOTUNE_SEARCH_GENETIC_SEARCH_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "search/candidate_scorer.h"
#include "search/guided_search.h"
#include "search/move_screen.h"
#include "search/search_space.h"
#include "search/search_strategy.h"
#include "search/trial_history.h"
#include "search/unseen_sampler.h"

namespace autotune {

// A genetic algorithm: children mix two good parents bound by bound (edge by edge) and mutate by
// random steps; the fittest of parents and children live on.
//
// With a scorer: generations live on scores, and the best that they met is proposed, see
// GuidedSearch. Without: the fastest measured configurations are the population, and every proposal
// is the most promising of some children of theirs (see MoveScreen).
class GeneticSearch final : public SearchStrategy {
 public:
  struct Options {
    GuidedSearch::Options guided = {.starts = 64, .long_rounds = 32, .short_rounds = 4};
    // Probability of a random step after crossover.
    double mutation = 0.85;

    // Without a scorer: random configurations before the first children, and how many of the
    // fastest may be parents.
    int64_t initial_samples = 8;
    int64_t population = 12;
    // Children of which the most promising is proposed; 1 is the classical algorithm.
    int64_t screened = 64;
    // Share of children that are drawn from the whole space instead.
    double immigrants = 0.5;
  };

  // Space and scorer (may be null) must outlive the strategy.
  GeneticSearch(const SearchSpace* space, const CandidateScorer* scorer, uint64_t seed,
                Options options);
  GeneticSearch(const SearchSpace* space, const CandidateScorer* scorer, uint64_t seed)
      : GeneticSearch(space, scorer, seed, Options()) {}

  std::vector<Config> Propose(int64_t n) override;
  void Observe(absl::Span<const Observation> observations) override;

 private:
  // The most promising of some unseen children of measured parents; nullopt if none is found.
  std::optional<Config> Child();
  // An unseen child.
  std::optional<Config> RandomChild();
  // One of the population, the faster the likelier.
  const Config& Parent();

  const SearchSpace* space_;
  Options options_;
  Rng rng_;
  TrialHistory history_;
  std::optional<GuidedSearch> guided_;
  UnseenSampler unseen_;
  MoveScreen screen_;
};

// The walk with a scorer: `rounds` generations of as many individuals as there are starts.
void EvolveOnScores(const SearchSpace& space, std::vector<Config> starts, int64_t rounds,
                    double mutation, ScoredPool& pool, const TrialHistory& history, Rng& rng);

}  // namespace autotune

#endif  // AUTOTUNE_SEARCH_GENETIC_SEARCH_H_
