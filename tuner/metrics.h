#ifndef AUTOTUNE_TUNER_METRICS_H_
#define AUTOTUNE_TUNER_METRICS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"

namespace autotune {

// The metrics of cost models and of searches, each defined once and here. All are pure functions of
// their arguments. Times are in seconds (or any unit that all arguments share), scores are a
// model's predictions (lower is better; +infinity for "cannot run", NaN counts as +infinity). The
// first four are those of Kaufman et al., "A Learned Performance Model for Tensor Processing Units"
// (MLSys 2021) and of TpuGraphs (Phothilimthana et al., NeurIPS 2023).

// What a model's choice of one kernel's configuration takes, and the best there is.
struct ChosenTime {
  double chosen_seconds = 0;
  double best_seconds = 0;
};

// Tile-Size APE of a program, in per cent:
//   100 x sum over kernels of |chosen - best| / sum over kernels of best.
// Kernels are not weighted by their count. nullopt without a kernel.
std::optional<double> TileSizeApe(absl::Span<const ChosenTime> kernels);

// Top-K error of one kernel: the smallest time among the model's `k` best configurations, over the
// smallest of all, minus 1 (0 = the best is among them). Of equal scores the slowest comes first,
// so that a model that cannot tell configurations apart gains nothing by their order. nullopt
// without configurations. REQUIRES: scores.size() == seconds.size(), k >= 1, times positive.
std::optional<double> TopKError(absl::Span<const double> scores, absl::Span<const double> seconds,
                                int64_t k);

// Kendall's rank correlation over all pairs of configurations whose times differ:
//   (concordant - discordant) / pairs with different times.
// A pair with equal scores is neither concordant nor discordant. In [-1, 1]; nullopt without such a
// pair. Takes O(n log n) (Knight, "A computer method for calculating Kendall's tau with ungrouped
// data", 1966). REQUIRES: equal sizes.
std::optional<double> KendallTau(absl::Span<const double> scores, absl::Span<const double> seconds);

// Mean absolute percentage error of predicted times over the entries that take at least
// `at_least_seconds`: 100 x mean of |predicted - actual| / actual. nullopt if there is none.
// REQUIRES: equal sizes, actual times positive.
std::optional<double> Mape(absl::Span<const double> predicted_seconds,
                           absl::Span<const double> actual_seconds, double at_least_seconds = 0);

// A search in the order of its measurements: one time each, +infinity for a failure.
using SearchTrace = std::vector<double>;

// Evaluations to within p per cent: the smallest number of measurements after which the best so far
// is at most best_seconds x (1 + percent / 100). Failures count as measurements. nullopt if the
// search ends before.
std::optional<int64_t> EvaluationsToWithin(absl::Span<const double> trace, double best_seconds,
                                           double percent);

// The best of the first `n` measurements (of all, if there are fewer) over the best there is; at
// least 1 if best_seconds is; +infinity while nothing has a time.
double SlowdownAfter(absl::Span<const double> trace, double best_seconds, int64_t n);

// The value that at least `percent` of all are at most (nearest rank): the 50th of {1, 2, 3, 4} is
// 2, the 90th of 100 values the 90th smallest. nullopt stands for "never", larger than any number:
// so is the result, if it falls on one or there are no values. REQUIRES: 0 < percent <= 100.
std::optional<double> NearestRankPercentile(absl::Span<const std::optional<double>> values,
                                            double percent);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_METRICS_H_
