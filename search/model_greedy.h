#ifndef AUTOTUNE_SEARCH_MODEL_GREEDY_H_
#define AUTOTUNE_SEARCH_MODEL_GREEDY_H_

#include <cstdint>
#include <vector>

#include "search/candidate_scorer.h"
#include "search/guided_search.h"
#include "search/search_space.h"
#include "search/search_strategy.h"
#include "search/trial_history.h"

namespace autotune {

// Proposes in the order of scores, whatever is measured. A space of up to `enumerate_limit`
// configurations is scored whole, in batches; of a larger one a seeded sample is, and steepest
// descents from the best of the sample follow.
class ModelGreedy final : public SearchStrategy {
 public:
  struct Options {
    int64_t enumerate_limit = int64_t{1} << 17;
    // Of a larger space: sampled configurations, and descents of at most so many steps.
    int64_t sample = int64_t{1} << 13;
    int64_t descents = 32;
    int64_t steps = 64;
    int64_t batch = 1024;
  };

  // Space and scorer must outlive the strategy.
  ModelGreedy(const SearchSpace* space, const CandidateScorer* scorer, uint64_t seed,
              Options options);
  ModelGreedy(const SearchSpace* space, const CandidateScorer* scorer, uint64_t seed)
      : ModelGreedy(space, scorer, seed, Options()) {}

  std::vector<Config> Propose(int64_t n) override;
  void Observe(absl::Span<const Observation> observations) override;

 private:
  Rng rng_;
  TrialHistory history_;
  GuidedSearch guided_;
};

}  // namespace autotune

#endif  // AUTOTUNE_SEARCH_MODEL_GREEDY_H_
