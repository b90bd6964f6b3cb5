#include "hardware/slope_timing.h"

#include <algorithm>
#include <cmath>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace autotune {
namespace {

// Trips of the short run, as a share of those of the long one.
constexpr int64_t kShortShare = 5;
// The long run grows by at most this in one step: a first measurement may mislead.
constexpr double kMaxGrowth = 16;
// Of the repeats, so many may fail to give a slope before the whole does.
constexpr int kTriesPerRepeat = 3;

absl::Status NoTime(int64_t long_trips, int64_t short_trips) {
  return absl::DataLossError(absl::StrCat("no significant time: a loop of ", long_trips,
                                          " trips takes hardly longer than one of ", short_trips));
}

// The trips of a run that is significantly longer than one of a single trip.
absl::StatusOr<int64_t> SignificantTrips(LoopRun run, const SlopeOptions& options) {
  double single = INFINITY;
  for (int i = 0; i < 3; ++i) {  // the first one warms up
    const absl::StatusOr<double> seconds = run(1);
    if (!seconds.ok()) return seconds.status();
    if (i > 0) single = std::min(single, *seconds);
  }
  for (int64_t trips = 2;;) {
    const absl::StatusOr<double> seconds = run(trips);
    if (!seconds.ok()) return seconds.status();
    const double gained = *seconds - single;
    if (gained >= options.significant_seconds) return trips;
    if (trips >= options.max_trips) return NoTime(trips, 1);
    const double missing = gained > 0 ? 1.2 * options.significant_seconds / gained : kMaxGrowth;
    const double growth = std::clamp(missing, 1.5, kMaxGrowth);
    trips = std::min(options.max_trips,
                     static_cast<int64_t>(std::ceil(static_cast<double>(trips) * growth)));
  }
}

}  // namespace

absl::StatusOr<SlopeResult> TimeBySlope(LoopRun run, const SlopeOptions& options) {
  const absl::StatusOr<int64_t> trips = SignificantTrips(run, options);
  if (!trips.ok()) return trips.status();
  SlopeResult result;
  result.long_trips = *trips;
  result.short_trips = std::max<int64_t>(1, *trips / kShortShare);
  const auto more = static_cast<double>(result.long_trips - result.short_trips);
  const auto wanted = static_cast<size_t>(std::max(1, options.repeats));
  for (size_t tries = 0; tries < kTriesPerRepeat * wanted; ++tries) {
    if (result.seconds.size() == wanted) return result;
    double ends[2] = {INFINITY, INFINITY};
    for (int i = 0; i < 2 * std::max(1, options.runs_per_end); ++i) {
      const absl::StatusOr<double> seconds =
          run(i % 2 == 0 ? result.short_trips : result.long_trips);
      if (!seconds.ok()) return seconds.status();
      ends[i % 2] = std::min(ends[i % 2], *seconds);
    }
    const double slope = (ends[1] - ends[0]) / more;
    if (std::isfinite(slope) && slope > 0) result.seconds.push_back(slope);
  }
  if (result.seconds.size() == wanted) return result;
  return NoTime(result.long_trips, result.short_trips);
}

}  // namespace autotune
