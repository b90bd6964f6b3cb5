#ifndef AUTOTUNE_SEARCH_RANDOM_SEARCH_H_
#define AUTOTUNE_SEARCH_RANDOM_SEARCH_H_

#include <cstdint>
#include <vector>

#include "search/search_space.h"
#include "search/search_strategy.h"
#include "search/trial_history.h"
#include "search/unseen_sampler.h"

namespace autotune {

// Draws without replacement: what every other strategy has to beat.
class RandomSearch final : public SearchStrategy {
 public:
  // The space must outlive the strategy.
  RandomSearch(const SearchSpace* space, uint64_t seed) : rng_(seed), unseen_(space) {}

  std::vector<Config> Propose(int64_t n) override;
  void Observe(absl::Span<const Observation> observations) override;

 private:
  Rng rng_;
  TrialHistory history_;
  UnseenSampler unseen_;
};

}  // namespace autotune

#endif  // AUTOTUNE_SEARCH_RANDOM_SEARCH_H_
