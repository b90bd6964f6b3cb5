#ifndef AUTOTUNE_SEARCH_SEARCH_STRATEGY_H_
#define AUTOTUNE_SEARCH_SEARCH_STRATEGY_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "hardware/config.h"
#include "hardware/measurement.h"

namespace autotune {

// A configuration and what measuring it gave.
struct Observation {
  Config config;
  Measurement measurement;
};

// Proposes configurations to measure. Not thread-safe. The same space, scorer, seed and
// observations give the same proposals.
class SearchStrategy {
 public:
  virtual ~SearchStrategy() = default;

  // At most `n` legal configurations, best bet first, none of which was proposed or observed
  // before. Fewer than `n` is allowed; none means that the space is exhausted.
  virtual std::vector<Config> Propose(int64_t n) = 0;

  // Tells the strategy about results, also of configurations that it did not propose (records,
  // the compiler's default). A failure is information too.
  virtual void Observe(absl::Span<const Observation> observations) = 0;
};

}  // namespace autotune

#endif  // AUTOTUNE_SEARCH_SEARCH_STRATEGY_H_
