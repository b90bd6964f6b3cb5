#ifndef AUTOTUNE_TUNER_BUDGET_SPLIT_H_
#define AUTOTUNE_TUNER_BUDGET_SPLIT_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/types/span.h"

namespace autotune {

// What a kernel promises for the next measurements. Data only.
struct KernelPromise {
  // Its share of the program: count times its best time so far, in seconds (or in any unit that is
  // the same for all kernels).
  double program_seconds = 0;
  // The share of that time, in [0, 1], that more measurements are expected to save.
  double headroom = 0;
  // Measurements spent on it so far, the default included.
  int64_t spent = 0;
  // How many candidates it still has.
  int64_t candidates = 0;
};

// How many of `units` measurements each kernel gets: its weight is share of the program's time
// times predicted headroom, and units go one by one to the largest weight / (1 + measurements so
// far) (the highest-averages rule of d'Hondt), so that in the long run measurements are
// proportional to the weights and a kernel that was measured often without effect steps back. No
// kernel gets more than its candidates; one without weight gets what the others cannot use; ties go
// to the first. Pure. The sum is min(units, sum of candidates).
std::vector<int64_t> SplitBudget(absl::Span<const KernelPromise> kernels, int64_t units);

// The share of time that the next candidate is expected to save.
//
// With predictions in log-seconds of the best so far and of the next candidate:
// 1 - exp(next - best), at least 0, plus what the model may be wrong by (`kModelDoubt`). Without
// predictions (no model, a rank score, an opaque kernel): `kBlindHeadroom`.
double PredictedHeadroom(std::optional<double> best_log_seconds,
                         std::optional<double> next_log_seconds);

// The share of `seconds` that lies above the roofline, and so the most that can be saved: 0 within
// kTieWindow of it, where any gain would count as a tie. 1 where the time is further below, so that
// the roofline does not hold for the kernel.
double HeadroomAboveRoofline(double seconds, double roofline_seconds);

// A good analytical model's choice is within a few per cent of the best (2.3 to 6.1 % on the tile
// task of Kaufman et al., MLSys 2021).
inline constexpr double kModelDoubt = 0.05;
// What compilers' defaults typically leave on a kernel that nothing is known of (same source).
inline constexpr double kBlindHeadroom = 0.1;

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_BUDGET_SPLIT_H_
