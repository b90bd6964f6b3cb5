#include "search/exhaustive_search.h"

#include <optional>
#include <utility>

namespace autotune {

std::vector<Config> ExhaustiveSearch::Propose(int64_t n) {
  std::vector<Config> proposals;
  while (static_cast<int64_t>(proposals.size()) < n) {
    std::optional<Config> next = cursor_->Next();
    if (!next) break;
    if (history_.Propose(*next)) proposals.push_back(*std::move(next));
  }
  return proposals;
}

void ExhaustiveSearch::Observe(absl::Span<const Observation> observations) {
  history_.Observe(observations);
}

}  // namespace autotune
