#ifndef AUTOTUNE_TUNER_SPEEDUP_INTERVAL_H_
#define AUTOTUNE_TUNER_SPEEDUP_INTERVAL_H_

#include <cstdint>
#include <optional>

#include "absl/types/span.h"
#include "tuner/tuning_report.h"

namespace autotune {

// Confidence intervals of speed-ups by the percentile bootstrap (Efron and Tibshirani, An
// Introduction to the Bootstrap, chapter 13): default and best of every kernel are drawn again from
// their samples, with replacement; each draw gives the ratio of medians (for a program: of the sums
// over kernels of count times median); the interval holds the middle 95 % of these ratios. A kernel
// that keeps its default has the same draw on both sides. A kernel that changed and has fewer than
// two samples on a side counts with its medians, and the interval says how many those are.
//
// All are pure and draw from a fixed seed: the same report gives the same interval.

// Draws of one interval.
inline constexpr int64_t kBootstrapDraws = 2000;

// nullopt if no kernel that changed has repeats, or a time is missing on the program's two sides.
std::optional<SpeedupInterval> ProgramSpeedupInterval(absl::Span<const KernelReport> kernels);

// The same of one kernel; nullopt as well for a kernel that keeps its default.
std::optional<SpeedupInterval> KernelSpeedupInterval(const KernelReport& kernel);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_SPEEDUP_INTERVAL_H_
