#include "search/random_search.h"

#include <utility>

namespace autotune {

std::vector<Config> RandomSearch::Propose(int64_t n) {
  std::vector<Config> proposals;
  while (static_cast<int64_t>(proposals.size()) < n) {
    std::optional<Config> next = unseen_.Next(history_, rng_);
    if (!next) break;
    history_.Propose(*next);
    proposals.push_back(*std::move(next));
  }
  return proposals;
}

void RandomSearch::Observe(absl::Span<const Observation> observations) {
  history_.Observe(observations);
}

}  // namespace autotune
