#include "tuner/compare_statistics.h"

#include <limits>
#include <optional>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace autotune {
namespace {

using ::testing::DoubleNear;
using ::testing::Optional;

constexpr double kInf = std::numeric_limits<double>::infinity();

auto Near(double value) { return Optional(DoubleNear(value, 1e-9)); }

// Three seeds on a kernel whose best takes 100: found at once, after three measurements, never.
KernelRuns Runs() {
  KernelRuns runs = {.best_seconds = 100, .weight = 2};
  runs.runs = {{{100}, {1.5}}, {{kInf, 200, 104, 100}, {1, 3, 5, 7}}, {{300, 150}, {2, 4}}};
  return runs;
}

MethodResult SummarizeOne(const KernelRuns& runs, const StatisticPoints& points = {}) {
  const KernelRuns* one = &runs;
  return Summarize({&one, 1}, points);
}

TEST(SummarizeTest, CountsRunsThatNeverGetThere) {
  const MethodResult result = SummarizeOne(Runs());
  EXPECT_EQ(result.runs, 3);
  ASSERT_EQ(result.evaluations_to_within.size(), 2u);
  const ReachStatistic& five = result.evaluations_to_within[0];
  EXPECT_EQ(five.percent, 5);
  EXPECT_EQ(five.reached, 2);
  EXPECT_EQ(five.median, 3);
  EXPECT_EQ(five.p90, std::nullopt);
  EXPECT_EQ(result.evaluations_to_within[1].median, 4);
  EXPECT_EQ(result.seconds_to_within[0].median, 5);
  EXPECT_EQ(result.seconds_to_within[1].median, 7);
}

TEST(SummarizeTest, SlowdownsKeepWhatWasFound) {
  const MethodResult result = SummarizeOne(Runs(), {.evaluations = {1, 2, 50}, .seconds = {1, 4}});
  // After one measurement: 1, none, 3.
  EXPECT_THAT(result.slowdown_after_evaluations[0].p10, Near(1));
  EXPECT_THAT(result.slowdown_after_evaluations[0].median, Near(3));
  EXPECT_EQ(result.slowdown_after_evaluations[0].p90, std::nullopt);
  EXPECT_EQ(result.slowdown_after_evaluations[0].mean, std::nullopt);
  // After two: 1, 2, 1.5; after all: 1, 1, 1.5.
  EXPECT_THAT(result.slowdown_after_evaluations[1].mean, Near(1.5));
  EXPECT_THAT(result.slowdown_after_evaluations[2].median, Near(1));
  // After 1 s nobody has a time; after 4 s: 1, 2, 1.5.
  EXPECT_EQ(result.slowdown_after_seconds[0].p10, std::nullopt);
  EXPECT_THAT(result.slowdown_after_seconds[1].median, Near(1.5));
}

TEST(SummarizeTest, SeveralKernelsAreSummedAndWeighted) {
  const KernelRuns first = Runs();
  KernelRuns second = {.best_seconds = 50, .weight = 4};
  second.runs = {{{100, 50}, {1, 2}}, {{50}, {1}}, {{50}, {1}}};
  const std::vector<const KernelRuns*> kernels = {&first, &second};
  const MethodResult result = Summarize(kernels, {.evaluations = {1, 2}});
  // Measurements until both are close: 1 + 2, 3 + 1, never.
  EXPECT_EQ(result.evaluations_to_within[0].reached, 2);
  EXPECT_EQ(result.evaluations_to_within[0].median, 4);
  EXPECT_EQ(result.seconds_to_within[0].median, 6);
  // After two for each: (200 + 200) / 400, (400 + 200) / 400, (300 + 200) / 400.
  EXPECT_THAT(result.slowdown_after_evaluations[1].p10, Near(1));
  EXPECT_THAT(result.slowdown_after_evaluations[1].median, Near(1.25));
  EXPECT_THAT(result.slowdown_after_evaluations[1].p90, Near(1.5));
}

TEST(SummarizeTest, CurvesReachTheEndAndNeverRise) {
  KernelRuns runs = {.best_seconds = 1};
  SearchRun run;
  for (int i = 0; i < 1000; ++i) {
    run.best_so_far.push_back(1001 - i);
    run.clock_seconds.push_back(0.5 * (i + 1));
  }
  runs.runs = {run};
  const MethodResult result = SummarizeOne(runs);
  for (const auto* curve : {&result.evaluation_curve, &result.clock_curve}) {
    ASSERT_GT(curve->size(), 20u);
    EXPECT_LT(curve->size(), 80u);
    for (size_t i = 1; i < curve->size(); ++i) {
      EXPECT_GT((*curve)[i].at, (*curve)[i - 1].at);
      EXPECT_LE(*(*curve)[i].median, *(*curve)[i - 1].median);
    }
    EXPECT_EQ(curve->back().median, 2);
  }
  EXPECT_EQ(result.evaluation_curve.front().at, 1);
  EXPECT_EQ(result.evaluation_curve.back().at, 1000);
  EXPECT_EQ(result.clock_curve.back().at, 500);
}

TEST(SummarizeTest, RunsWithoutAnyMeasurementNeverGetThere) {
  KernelRuns runs = {.best_seconds = 1};
  runs.runs.resize(2);
  const MethodResult result = SummarizeOne(runs);
  EXPECT_EQ(result.evaluations_to_within[0].reached, 0);
  EXPECT_EQ(result.slowdown_after_evaluations[0].median, std::nullopt);
  EXPECT_TRUE(result.evaluation_curve.empty());
}

}  // namespace
}  // namespace autotune
