#ifndef AUTOTUNE_SEARCH_RANDOM_H_
#define AUTOTUNE_SEARCH_RANDOM_H_

#include <cstdint>
#include <random>
#include <utility>
#include <vector>

namespace autotune {

// The one source of randomness of the search: always seeded from an argument. The functions below
// replace the standard distributions, whose results differ between standard libraries.
using Rng = std::mt19937_64;

// Uniform in [0, n), but for a bias of n / 2^64. REQUIRES: n > 0.
inline int64_t UniformIndex(Rng& rng, int64_t n) {
  return static_cast<int64_t>(rng() % static_cast<uint64_t>(n));
}

// Uniform in [0, 1).
inline double UniformReal(Rng& rng) { return static_cast<double>(rng() >> 11) * 0x1.0p-53; }

// True with the given probability.
inline bool Chance(Rng& rng, double probability) { return UniformReal(rng) < probability; }

// A uniformly drawn order (Fisher and Yates).
template <typename T>
void Shuffle(std::vector<T>& values, Rng& rng) {
  for (size_t i = values.size(); i > 1; --i) {
    std::swap(values[i - 1], values[UniformIndex(rng, static_cast<int64_t>(i))]);
  }
}

}  // namespace autotune

#endif  // AUTOTUNE_SEARCH_RANDOM_H_
