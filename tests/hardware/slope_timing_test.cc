#include "hardware/slope_timing.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

#include "absl/status/status.h"
#include "gtest/gtest.h"
#include "hardware/measurement.h"

namespace autotune {
namespace {

TEST(SlopeTiming, CancelsWhatACallCosts) {
  int calls = 0;
  const auto run = [&](int64_t trips) -> absl::StatusOr<double> {
    ++calls;
    return 0.3 + 2e-6 * static_cast<double>(trips);
  };
  const absl::StatusOr<SlopeResult> result = TimeBySlope(run, {.repeats = 7});
  ASSERT_TRUE(result.ok()) << result.status();
  ASSERT_EQ(result->seconds.size(), 7u);
  for (double seconds : result->seconds) EXPECT_NEAR(seconds, 2e-6, 1e-9);
  EXPECT_GE(2e-6 * static_cast<double>(result->long_trips), 0.005);
  EXPECT_LT(result->short_trips, result->long_trips);
  EXPECT_LT(calls, 80);
}

TEST(SlopeTiming, OutliersStayAmongTheSamples) {
  int calls = 0;
  const auto run = [&](int64_t trips) -> absl::StatusOr<double> {
    return 1e-4 * static_cast<double>(trips) + (++calls % 50 >= 40 ? 1.0 : 0.0);
  };
  const absl::StatusOr<SlopeResult> result = TimeBySlope(run, {.repeats = 20});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_NEAR(MedianOf(result->seconds), 1e-4, 1e-6);
  EXPECT_GT(*std::max_element(result->seconds.begin(), result->seconds.end()), 1e-3);
  EXPECT_EQ(result->seconds.size(), 20u);
}

TEST(SlopeTiming, NoiseIsAveragedAway) {
  std::mt19937_64 random(3);
  std::normal_distribution<double> noise(0, 1e-3);
  const auto run = [&](int64_t trips) -> absl::StatusOr<double> {
    return 5e-3 + 1e-5 * static_cast<double>(trips) + std::abs(noise(random));
  };
  const absl::StatusOr<SlopeResult> result = TimeBySlope(run, {.repeats = 15});
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_NEAR(MedianOf(result->seconds), 1e-5, 1e-6);
}

TEST(SlopeTiming, ATimeThatDoesNotGrowIsAnError) {
  const auto constant = [](int64_t) -> absl::StatusOr<double> { return 0.001; };
  EXPECT_TRUE(absl::IsDataLoss(TimeBySlope(constant, {}).status()));
  const auto nan = [](int64_t) -> absl::StatusOr<double> {
    return std::numeric_limits<double>::quiet_NaN();
  };
  EXPECT_TRUE(absl::IsDataLoss(TimeBySlope(nan, {}).status()));
}

TEST(SlopeTiming, ErrorsArePassedOn) {
  int calls = 0;
  const auto run = [&](int64_t trips) -> absl::StatusOr<double> {
    if (++calls == 12) return absl::AbortedError("the device is gone");
    return 1e-3 * static_cast<double>(trips);
  };
  EXPECT_TRUE(absl::IsAborted(TimeBySlope(run, {}).status()));
}

}  // namespace
}  // namespace autotune
