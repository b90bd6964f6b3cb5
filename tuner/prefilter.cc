#include "tuner/prefilter.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <numeric>
#include <random>
#include <utility>

namespace autotune {
namespace {

// Uniform in [0, 1), the same with every standard library.
double UnitInterval(std::mt19937_64& rng) { return static_cast<double>(rng() >> 11) * 0x1.0p-53; }

// From the standard normal distribution (Box and Muller, 1958).
double Normal(std::mt19937_64& rng) {
  const double radius = std::sqrt(-2 * std::log(1 - UnitInterval(rng)));
  return radius * std::cos(2 * std::numbers::pi * UnitInterval(rng));
}

// Positions by score, NaN counted as impossible.
std::vector<size_t> Ranked(absl::Span<const double> scores) {
  auto score = [&](size_t i) {
    return std::isnan(scores[i]) ? std::numeric_limits<double>::infinity() : scores[i];
  };
  std::vector<size_t> order(scores.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return score(a) < score(b); });
  return order;
}

// How many of `kept` are explored: the whole part of the share, and one more with the probability
// that is its fraction.
size_t Explored(size_t kept, double share, std::mt19937_64& rng) {
  const double wanted = static_cast<double>(kept) * std::clamp(share, 0.0, 1.0);
  const double whole = std::floor(wanted);
  return static_cast<size_t>(whole) + (UnitInterval(rng) < wanted - whole ? 1 : 0);
}

// Moves what is explored to order[top, kept), out of order[top, possible).
void ExploreEvenly(size_t top, size_t kept, size_t possible, std::mt19937_64& rng,
                   std::vector<size_t>& order) {
  // A partial Fisher-Yates shuffle.
  for (size_t i = top; i < kept && i < possible; ++i) {
    std::swap(order[i], order[i + rng() % (possible - i)]);
  }
}

void ExploreByPromise(absl::Span<const double> scores, absl::Span<const double> spread, size_t top,
                      size_t possible, std::mt19937_64& rng, std::vector<size_t>& order) {
  std::vector<std::pair<double, size_t>> draws;
  for (size_t i = top; i < possible; ++i) {
    const double deviation = std::isfinite(spread[order[i]]) ? spread[order[i]] : 0;
    const double drawn = std::max(deviation, kLeastSpread) * Normal(rng);
    draws.emplace_back(scores[order[i]] + drawn, order[i]);
  }
  std::sort(draws.begin(), draws.end());
  for (size_t i = 0; i < draws.size(); ++i) order[top + i] = draws[i].second;
}

}  // namespace

std::vector<size_t> Prefilter(absl::Span<const double> scores, const PrefilterOptions& options,
                              uint64_t seed, absl::Span<const double> spread) {
  std::vector<size_t> order = Ranked(scores);
  const size_t kept =
      std::min(order.size(), static_cast<size_t>(std::max<int64_t>(0, options.top_k)));
  if (kept == order.size()) return order;

  std::mt19937_64 rng(seed);
  const size_t possible = static_cast<size_t>(
      std::count_if(scores.begin(), scores.end(), [](double s) { return std::isfinite(s); }));
  const size_t explored = Explored(kept, options.exploration, rng);
  const size_t top = kept - std::min(explored, kept);
  // Out of what the model holds possible and did not rank at the top.
  if (explored > 0 && top < possible && spread.size() == scores.size()) {
    ExploreByPromise(scores, spread, top, possible, rng, order);
  } else {
    ExploreEvenly(top, kept, possible, rng, order);
  }
  order.resize(kept);
  return order;
}

}  // namespace autotune
