#ifndef AUTOTUNE_COSTMODEL_RANK_METRICS_H_
#define AUTOTUNE_COSTMODEL_RANK_METRICS_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"

namespace autotune {

// The metrics of cost models, each defined once and here. All are pure functions of their
// arguments. Times are in seconds (or any unit that all arguments share), scores are a model's
// predictions (lower is better; +infinity for "cannot run", NaN counts as +infinity). They are
// those of Kaufman et al., "A Learned Performance Model for Tensor Processing Units" (MLSys 2021)
// and of TpuGraphs (Phothilimthana et al., NeurIPS 2023).

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

}  // namespace autotune

#endif  // AUTOTUNE_COSTMODEL_RANK_METRICS_H_
