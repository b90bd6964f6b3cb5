#ifndef AUTOTUNE_SEARCH_BUILTIN_H_
#define AUTOTUNE_SEARCH_BUILTIN_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "search/candidate_scorer.h"
#include "search/search_space.h"
#include "search/search_strategy.h"

namespace autotune {

// A strategy that can be asked for by name.
struct StrategyInfo {
  const char* name;  // as `--strategy` and `--methods` take it
  const char* help;  // one line
  bool needs_scorer;
};

// All strategies, in the order in which they are shown.
absl::Span<const StrategyInfo> BuiltinStrategies();

// The one of a name; null if there is none.
const StrategyInfo* FindStrategy(absl::string_view name);

// What searches where nothing can score.
inline constexpr char kBlindStrategy[] = "annealing";

// Creates a strategy by name. `space` and `scorer` (may be null) must outlive it. Fails with
// InvalidArgument for an unknown name, listing the known ones, and for a strategy that needs a
// scorer where there is none.
absl::StatusOr<std::unique_ptr<SearchStrategy>> CreateStrategy(const std::string& name,
                                                               const SearchSpace* space,
                                                               const CandidateScorer* scorer,
                                                               uint64_t seed);

}  // namespace autotune

#endif  // AUTOTUNE_SEARCH_BUILTIN_H_
