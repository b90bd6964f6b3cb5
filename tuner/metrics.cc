#include "tuner/metrics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

namespace autotune {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

std::optional<int64_t> EvaluationsToWithin(absl::Span<const double> trace, double best_seconds,
                                           double percent) {
  const double target = best_seconds * (1 + percent / 100);
  for (size_t i = 0; i < trace.size(); ++i) {
    if (trace[i] <= target) return static_cast<int64_t>(i) + 1;
  }
  return std::nullopt;
}

double SlowdownAfter(absl::Span<const double> best_so_far, double best_seconds, int64_t n) {
  const int64_t last = std::min(n, static_cast<int64_t>(best_so_far.size()));
  return last <= 0 ? kInfinity : best_so_far[static_cast<size_t>(last - 1)] / best_seconds;
}

std::optional<double> NearestRankPercentile(absl::Span<const std::optional<double>> values,
                                            double percent) {
  if (values.empty()) return std::nullopt;
  std::vector<double> sorted;
  sorted.reserve(values.size());
  for (const std::optional<double>& value : values) sorted.push_back(value.value_or(kInfinity));
  const double rank = std::ceil(percent / 100 * static_cast<double>(sorted.size()) - 1e-9);
  const size_t position = std::min(sorted.size(), static_cast<size_t>(std::max(1.0, rank))) - 1;
  std::nth_element(sorted.begin(), sorted.begin() + static_cast<std::ptrdiff_t>(position),
                   sorted.end());
  if (std::isinf(sorted[position])) return std::nullopt;
  return sorted[position];
}

}  // namespace autotune
