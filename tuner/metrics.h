#ifndef AUTOTUNE_TUNER_METRICS_H_
#define AUTOTUNE_TUNER_METRICS_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "costmodel/rank_metrics.h"

namespace autotune {

// The metrics of searches, beside those of cost models (costmodel/rank_metrics.h), each defined
// once and here. All are pure functions of their arguments. Times are in seconds (or any unit that
// all arguments share).

// A search in the order of its measurements: one time each, +infinity for a failure.
using SearchTrace = std::vector<double>;

// Evaluations to within p per cent: the smallest number of measurements after which the best so far
// is at most best_seconds x (1 + percent / 100). Failures count as measurements. nullopt if the
// search ends before.
std::optional<int64_t> EvaluationsToWithin(absl::Span<const double> trace, double best_seconds,
                                           double percent);

// The best after `n` measurements (after all, if there are fewer) over the best there is: at least
// 1; +infinity while nothing has a time. `best_so_far` holds the smallest time of the first
// measurement, of the first two, and so on.
double SlowdownAfter(absl::Span<const double> best_so_far, double best_seconds, int64_t n);

// The value that at least `percent` of all are at most (nearest rank): the 50th of {1, 2, 3, 4} is
// 2, the 90th of 100 values the 90th smallest. nullopt stands for "never", larger than any number:
// so is the result, if it falls on one or there are no values. REQUIRES: 0 < percent <= 100.
std::optional<double> NearestRankPercentile(absl::Span<const std::optional<double>> values,
                                            double percent);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_METRICS_H_
