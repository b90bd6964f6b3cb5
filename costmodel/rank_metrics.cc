#include "costmodel/rank_metrics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numeric>
#include <vector>

namespace autotune {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

double ScoreOf(double score) { return std::isnan(score) ? kInfinity : score; }

// Pairs among `n`.
int64_t Pairs(int64_t n) { return n * (n - 1) / 2; }

// Pairs of positions of a sorted sequence that `equal` calls equal, where equal ones are adjacent.
template <typename Equal>
int64_t TiedPairs(size_t n, const Equal& equal) {
  int64_t pairs = 0;
  for (size_t begin = 0; begin < n;) {
    size_t end = begin + 1;
    while (end < n && equal(begin, end)) ++end;
    pairs += Pairs(static_cast<int64_t>(end - begin));
    begin = end;
  }
  return pairs;
}

// Sorts `values` and returns how many pairs stood in strictly descending order.
int64_t SortAndCountInversions(absl::Span<double> values, absl::Span<double> scratch) {
  const size_t n = values.size();
  if (n < 2) return 0;
  const size_t middle = n / 2;
  int64_t inversions = SortAndCountInversions(values.first(middle), scratch.first(middle)) +
                       SortAndCountInversions(values.subspan(middle), scratch.subspan(middle));
  size_t left = 0, right = middle;
  for (size_t out = 0; out < n; ++out) {
    const bool take_right = left == middle || (right < n && values[right] < values[left]);
    if (take_right) inversions += static_cast<int64_t>(middle - left);
    scratch[out] = take_right ? values[right++] : values[left++];
  }
  std::copy(scratch.begin(), scratch.end(), values.begin());
  return inversions;
}

}  // namespace

std::optional<double> TileSizeApe(absl::Span<const ChosenTime> kernels) {
  double error = 0, total = 0;
  for (const ChosenTime& kernel : kernels) {
    error += std::abs(kernel.chosen_seconds - kernel.best_seconds);
    total += kernel.best_seconds;
  }
  if (!(total > 0)) return std::nullopt;
  return 100 * error / total;
}

std::optional<double> TopKError(absl::Span<const double> scores, absl::Span<const double> seconds,
                                int64_t k) {
  if (seconds.empty() || k < 1) return std::nullopt;
  std::vector<size_t> order(seconds.size());
  std::iota(order.begin(), order.end(), size_t{0});
  const size_t kept = std::min(order.size(), static_cast<size_t>(k));
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(kept), order.end(),
                    [&](size_t a, size_t b) {
                      const double score_a = ScoreOf(scores[a]), score_b = ScoreOf(scores[b]);
                      if (score_a != score_b) return score_a < score_b;
                      return seconds[a] != seconds[b] ? seconds[a] > seconds[b] : a < b;
                    });
  double chosen = kInfinity;
  for (size_t i = 0; i < kept; ++i) chosen = std::min(chosen, seconds[order[i]]);
  return chosen / *std::min_element(seconds.begin(), seconds.end()) - 1;
}

std::optional<double> KendallTau(absl::Span<const double> scores,
                                 absl::Span<const double> seconds) {
  const size_t n = seconds.size();
  std::vector<size_t> order(n);
  std::iota(order.begin(), order.end(), size_t{0});
  std::sort(order.begin(), order.end(), [&](size_t a, size_t b) {
    return seconds[a] != seconds[b] ? seconds[a] < seconds[b]
                                    : ScoreOf(scores[a]) < ScoreOf(scores[b]);
  });
  std::vector<double> sorted(n);
  for (size_t i = 0; i < n; ++i) sorted[i] = ScoreOf(scores[order[i]]);
  auto same_time = [&](size_t a, size_t b) { return seconds[order[a]] == seconds[order[b]]; };

  const int64_t tied_times = TiedPairs(n, same_time);
  const int64_t tied_both =
      TiedPairs(n, [&](size_t a, size_t b) { return same_time(a, b) && sorted[a] == sorted[b]; });
  const int64_t counted = Pairs(static_cast<int64_t>(n)) - tied_times;
  if (counted == 0) return std::nullopt;

  // Within equal times the scores ascend, so that only pairs of different times are inverted.
  std::vector<double> scratch(n);
  const int64_t discordant =
      SortAndCountInversions(absl::MakeSpan(sorted), absl::MakeSpan(scratch));
  const int64_t tied_scores =
      TiedPairs(n, [&](size_t a, size_t b) { return sorted[a] == sorted[b]; }) - tied_both;
  const int64_t concordant = counted - tied_scores - discordant;
  return static_cast<double>(concordant - discordant) / static_cast<double>(counted);
}

}  // namespace autotune
