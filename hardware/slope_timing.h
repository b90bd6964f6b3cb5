#ifndef AUTOTUNE_HARDWARE_SLOPE_TIMING_H_
#define AUTOTUNE_HARDWARE_SLOPE_TIMING_H_

#include <cstdint>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"

namespace autotune {

// How to time by slope.
struct SlopeOptions {
  int repeats = 10;
  // The shortest of so many runs counts, for each end of a slope: what else the machine does at the
  // same time only ever adds to a run.
  int runs_per_end = 4;
  // The long run takes at least this much longer than a run of one trip, so that the slope stands
  // out of the noise of a call. Short enough to fit between interruptions.
  double significant_seconds = 0.005;
  int64_t max_trips = int64_t{1} << 22;
};

struct SlopeResult {
  // Seconds of one trip, one value a repeat, in the order of measuring. Outliers are among them.
  std::vector<double> seconds;
  int64_t short_trips = 0;
  int64_t long_trips = 0;
};

// Runs a device loop of that many trips and gives the seconds of the call.
using LoopRun = absl::FunctionRef<absl::StatusOr<double>(int64_t trips)>;

// The time of one trip as the slope between two trip counts, which cancels what a call costs
// (after the idea of differential timing). Warms up, lengthens the long run until it is
// significant, then takes short and long runs in turn. Errors of `run` are passed on; DataLoss if
// the slope stays zero, negative or not finite.
absl::StatusOr<SlopeResult> TimeBySlope(LoopRun run, const SlopeOptions& options);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_SLOPE_TIMING_H_
