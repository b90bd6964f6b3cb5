#ifndef AUTOTUNE_SEARCH_EXHAUSTIVE_SEARCH_H_
#define AUTOTUNE_SEARCH_EXHAUSTIVE_SEARCH_H_

#include <cstdint>
#include <memory>
#include <vector>

#include "search/search_space.h"
#include "search/search_strategy.h"
#include "search/trial_history.h"

namespace autotune {

// Everything, in the order of the space.
class ExhaustiveSearch final : public SearchStrategy {
 public:
  // The space must outlive the strategy.
  explicit ExhaustiveSearch(const SearchSpace* space) : cursor_(space->NewCursor()) {}

  std::vector<Config> Propose(int64_t n) override;
  void Observe(absl::Span<const Observation> observations) override;

 private:
  std::unique_ptr<SpaceCursor> cursor_;
  TrialHistory history_;
};

}  // namespace autotune

#endif  // AUTOTUNE_SEARCH_EXHAUSTIVE_SEARCH_H_
