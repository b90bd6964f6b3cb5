#include "tuner/speedup_interval.h"

#include <cmath>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "search/random.h"
#include "tuner/report_text.h"

namespace autotune {
namespace {

// Times with a relative standard deviation of `noise` (a sum of uniform numbers).
std::vector<double> Noisy(double seconds, double noise, int n, Rng& rng) {
  std::vector<double> samples;
  for (int i = 0; i < n; ++i) {
    double sum = 0;
    for (int j = 0; j < 12; ++j) sum += UniformReal(rng);
    samples.push_back(seconds * (1 + noise * (sum - 6)));
  }
  return samples;
}

ConfigResult Result(int64_t config, std::vector<double> samples) {
  return {Config(OpaqueConfig{config}),
          Measurement::FromSamples(std::move(samples), TimeSource::kHardware)};
}

KernelReport KernelOf(int64_t count, std::vector<double> before, std::vector<double> after,
                      bool changed = true) {
  KernelReport kernel;
  kernel.count = count;
  kernel.compiler_default = Result(0, std::move(before));
  kernel.best = Result(changed ? 1 : 0, std::move(after));
  return kernel;
}

TEST(SpeedupIntervalTest, WithoutRepeatsThereIsNone) {
  EXPECT_FALSE(ProgramSpeedupInterval({}).has_value());
  EXPECT_FALSE(ProgramSpeedupInterval({KernelOf(1, {2e-6}, {1e-6})}).has_value());
  EXPECT_FALSE(KernelSpeedupInterval(KernelOf(1, {2e-6, 2.1e-6}, {1e-6})).has_value());
  // A kernel that keeps its default says nothing of a change, however often it was measured.
  EXPECT_FALSE(
      ProgramSpeedupInterval({KernelOf(1, {2e-6, 3e-6}, {2e-6, 3e-6}, false)}).has_value());
}

TEST(SpeedupIntervalTest, SamplesWithoutSpreadGiveThePoint) {
  const auto interval = ProgramSpeedupInterval(
      {KernelOf(2, {3e-6, 3e-6, 3e-6}, {2e-6, 2e-6}), KernelOf(1, {4e-6}, {4e-6}, false)});
  ASSERT_TRUE(interval.has_value());
  EXPECT_DOUBLE_EQ(interval->low, 10.0 / 8.0);
  EXPECT_DOUBLE_EQ(interval->high, 10.0 / 8.0);
  EXPECT_EQ(interval->kernels, 1);
  EXPECT_EQ(interval->kernels_without_repeats, 0);
}

TEST(SpeedupIntervalTest, KernelsWithoutRepeatsAreCounted) {
  const auto interval = ProgramSpeedupInterval(
      {KernelOf(1, {3e-6, 3.1e-6, 2.9e-6}, {2e-6, 2.1e-6}), KernelOf(1, {4e-6}, {3e-6})});
  ASSERT_TRUE(interval.has_value());
  EXPECT_EQ(interval->kernels, 1);
  EXPECT_EQ(interval->kernels_without_repeats, 1);
  EXPECT_LT(interval->low, interval->high);
}

// Two samples: the medians of a draw are the smaller, the mean or the larger one, with
// probabilities of a quarter, a half and a quarter; so the 2.5 and 97.5 % points are the extremes.
TEST(SpeedupIntervalTest, TwoSamplesGiveTheirExtremes) {
  const auto interval = KernelSpeedupInterval(KernelOf(1, {4e-6, 6e-6}, {1e-6, 2e-6}));
  ASSERT_TRUE(interval.has_value());
  EXPECT_DOUBLE_EQ(interval->low, 4e-6 / 2e-6);
  EXPECT_DOUBLE_EQ(interval->high, 6e-6 / 1e-6);
}

TEST(SpeedupIntervalTest, TheSameReportGivesTheSameInterval) {
  Rng rng(1);
  const std::vector<KernelReport> kernels = {
      KernelOf(3, Noisy(2e-6, 0.02, 10, rng), Noisy(1.5e-6, 0.02, 10, rng))};
  const auto first = ProgramSpeedupInterval(kernels), second = ProgramSpeedupInterval(kernels);
  EXPECT_EQ(first->low, second->low);
  EXPECT_EQ(first->high, second->high);
}

// The interval holds the true speed-up about as often as it says. The percentile bootstrap of a
// median is a little generous with so few samples; far off it is not.
TEST(SpeedupIntervalTest, CoversTheTruthAsOftenAsItSays) {
  Rng rng(5);
  int covered = 0, runs = 200;
  for (int i = 0; i < runs; ++i) {
    const auto interval = ProgramSpeedupInterval(
        {KernelOf(1, Noisy(120e-6, 0.03, 20, rng), Noisy(100e-6, 0.03, 20, rng)),
         KernelOf(2, Noisy(40e-6, 0.03, 20, rng), Noisy(30e-6, 0.03, 20, rng))});
    covered += interval->low <= 200.0 / 160 && 200.0 / 160 <= interval->high ? 1 : 0;
  }
  EXPECT_GE(covered, runs * 88 / 100);
  EXPECT_LE(covered, runs * 99 / 100 + 2);
}

TEST(DescribeIntervalTest, SaysWhyThereIsNone) {
  TuningReport report;
  EXPECT_EQ(DescribeInterval(report), "");
  report.kernels = {KernelOf(1, {2e-6}, {1e-6})};
  report.backend = "replay";
  EXPECT_EQ(DescribeInterval(report), "replayed, no repeats");
  report.backend = "pjrt";
  EXPECT_EQ(DescribeInterval(report), "one sample each, no repeats");
  report.time_source = TimeSource::kEstimate;
  EXPECT_EQ(DescribeInterval(report), "an estimate, not a measurement");
  report.speedup_interval = SpeedupInterval{1.08, 1.123, 0.95, 3, 1};
  EXPECT_EQ(DescribeInterval(report),
            "1.080x to 1.123x with 95 % confidence (1 kernel without repeats)");
}

}  // namespace
}  // namespace autotune
