#ifndef AUTOTUNE_SEARCH_SIMULATED_ANNEALING_H_
#define AUTOTUNE_SEARCH_SIMULATED_ANNEALING_H_

#include <cstdint>
#include <memory>
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

// Simulated annealing (Kirkpatrick et al., 1983).
//
// With a scorer: many chains anneal on scores in lock-step (one batch of scores a step), and the
// best that they met is proposed, see GuidedSearch. The temperature falls from the spread of the
// starts' scores to a hundredth of it.
//
// Without: one chain on the logarithm of measured times. Each proposal is a step from where the
// chain is, the most promising of some random ones (see MoveScreen); steps on known ground cost
// nothing. A result is accepted if it is faster, or with probability exp(-slowdown / temperature).
// The temperature falls with every result; a chain that has found nothing for long starts again
// elsewhere.
class SimulatedAnnealing final : public SearchStrategy {
 public:
  struct Options {
    GuidedSearch::Options guided;

    // Without a scorer: random configurations before the chain starts at the best of them.
    int64_t initial_samples = 8;
    // Temperatures in log-seconds: 0.3 accepts a slowdown of 35 % with probability 1/e.
    double initial_temperature = 0.3;
    double final_temperature = 0.02;
    // Factor per result.
    double cooling = 0.95;
    // Results without a new best of the chain after which it starts again.
    int64_t patience = 24;
    // Random steps of which the most promising is proposed; 1 is classical annealing.
    int64_t screened = 64;
    // Share of steps that lead anywhere in the space.
    double jump = 0.5;
  };

  // Space and scorer (may be null) must outlive the strategy.
  SimulatedAnnealing(const SearchSpace* space, const CandidateScorer* scorer, uint64_t seed,
                     Options options);
  SimulatedAnnealing(const SearchSpace* space, const CandidateScorer* scorer, uint64_t seed)
      : SimulatedAnnealing(space, scorer, seed, Options()) {}

  std::vector<Config> Propose(int64_t n) override;
  void Observe(absl::Span<const Observation> observations) override;

 private:
  // The most promising of some unseen steps of the chain; nullopt if known ground surrounds it.
  std::optional<Config> Step();
  // An unseen random step.
  std::optional<Config> RandomStep();
  // Moves the chain to `trial` if the temperature allows.
  void Consider(const Trial& trial);
  void Restart();

  const SearchSpace* space_;
  Options options_;
  Rng rng_;
  TrialHistory history_;
  std::optional<GuidedSearch> guided_;

  UnseenSampler unseen_;
  MoveScreen screen_;
  std::optional<Trial> current_;
  double temperature_;
  double chain_best_;
  int64_t results_ = 0;
  int64_t since_improvement_ = 0;
};

// The walk with a scorer: one chain per start, `rounds` steps each.
void AnnealOnScores(const SearchSpace& space, std::vector<Config> starts, int64_t rounds,
                    ScoredPool& pool, const TrialHistory& history, Rng& rng);

}  // namespace autotune

#endif  // AUTOTUNE_SEARCH_SIMULATED_ANNEALING_H_
