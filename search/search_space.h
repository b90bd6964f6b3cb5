#ifndef AUTOTUNE_SEARCH_SEARCH_SPACE_H_
#define AUTOTUNE_SEARCH_SEARCH_SPACE_H_

#include <cstdint>
#include <optional>
#include <random>
#include <vector>

#include "hardware/config.h"

namespace autotune {

// The one source of randomness of the search: always seeded from an argument.
using Rng = std::mt19937_64;

// The legal configurations of one kernel or program. Immutable, thread-safe; never yields an
// illegal configuration.
class SearchSpace {
 public:
  virtual ~SearchSpace() = default;

  // The number of legal configurations, or nullopt if it cannot be counted.
  virtual std::optional<int64_t> Size() const = 0;

  virtual bool Contains(const Config& config) const = 0;

  // The first `limit` configurations in a fixed order without repeats; all of them if there are
  // fewer.
  virtual std::vector<Config> Enumerate(int64_t limit) const = 0;

  // A configuration drawn with `rng`; nullopt only if the space is empty.
  virtual std::optional<Config> Sample(Rng& rng) const = 0;

  // Legal configurations one small step away, in a fixed order, without `config` itself. May be
  // empty. REQUIRES: Contains(config).
  virtual std::vector<Config> Neighbours(const Config& config) const = 0;

  // A legal mix of the two parents (possibly equal to one). REQUIRES: Contains both.
  virtual Config Crossover(const Config& a, const Config& b, Rng& rng) const = 0;
};

}  // namespace autotune

#endif  // AUTOTUNE_SEARCH_SEARCH_SPACE_H_
