#ifndef AUTOTUNE_SEARCH_SEARCH_SPACE_H_
#define AUTOTUNE_SEARCH_SEARCH_SPACE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "hardware/config.h"
#include "search/random.h"

namespace autotune {

// Walks over a space in its fixed order, one configuration at a time and each once. Not
// thread-safe; must not outlive its space.
class SpaceCursor {
 public:
  virtual ~SpaceCursor() = default;

  // The next configuration, or nullopt at the end.
  virtual std::optional<Config> Next() = 0;
};

// The legal configurations of one kernel or program. Immutable, thread-safe; never yields an
// illegal configuration.
class SearchSpace {
 public:
  virtual ~SearchSpace() = default;

  // The number of legal configurations, or nullopt if it is too large to be counted.
  virtual std::optional<int64_t> Size() const = 0;

  virtual bool Contains(const Config& config) const = 0;

  // A walk over the whole space that holds one configuration at a time.
  virtual std::unique_ptr<SpaceCursor> NewCursor() const = 0;

  // The first `limit` configurations in the order of NewCursor(); all of them if there are fewer.
  std::vector<Config> Enumerate(int64_t limit) const;

  // A configuration drawn with `rng`; nullopt only if the space is empty.
  virtual std::optional<Config> Sample(Rng& rng) const = 0;

  // Legal configurations one small step away, in a fixed order, without repeats and without
  // `config` itself. Symmetric: b is a neighbour of a if and only if a is one of b. May be empty.
  // REQUIRES: Contains(config).
  virtual std::vector<Config> Neighbours(const Config& config) const = 0;

  // One of Neighbours(config) drawn with `rng` (not necessarily uniformly), or nullopt if there is
  // none. The default lists them all; a space whose list is costly does better.
  virtual std::optional<Config> RandomNeighbour(const Config& config, Rng& rng) const;

  // A legal mix of the two parents (possibly equal to one). REQUIRES: Contains both.
  virtual Config Crossover(const Config& a, const Config& b, Rng& rng) const = 0;
};

}  // namespace autotune

#endif  // AUTOTUNE_SEARCH_SEARCH_SPACE_H_
