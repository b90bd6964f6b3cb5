#ifndef AUTOTUNE_SEARCH_UNSEEN_SAMPLER_H_
#define AUTOTUNE_SEARCH_UNSEEN_SAMPLER_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "search/search_space.h"
#include "search/trial_history.h"

namespace autotune {

// Draws configurations that were not seen, until none is left: how every strategy finds fresh
// ground and how it ends. Not thread-safe.
class UnseenSampler {
 public:
  // The space must outlive the sampler.
  explicit UnseenSampler(const SearchSpace* space) : space_(space) {}

  // A configuration that `history` has not seen; nullopt if there is none. Draws from the space; if
  // it keeps drawing seen ones, most of the space is seen and what remains is enumerated.
  std::optional<Config> Next(const TrialHistory& history, Rng& rng);

 private:
  // Refills `rest_` with up to kReservoir unseen configurations, uniformly drawn and ordered.
  void Refill(const TrialHistory& history, Rng& rng);

  const SearchSpace* space_;
  bool enumerating_ = false;
  std::vector<Config> rest_;
};

}  // namespace autotune

#endif  // AUTOTUNE_SEARCH_UNSEEN_SAMPLER_H_
