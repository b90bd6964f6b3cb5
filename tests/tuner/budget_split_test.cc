#include "tuner/budget_split.h"

#include <cmath>
#include <limits>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace autotune {
namespace {

using ::testing::ElementsAre;

TEST(SplitBudgetTest, ProportionalToShareTimesHeadroom) {
  // Weights 6 : 3 : 1.
  EXPECT_THAT(SplitBudget({{.program_seconds = 6, .headroom = 0.1, .candidates = 100},
                           {.program_seconds = 1, .headroom = 0.3, .candidates = 100},
                           {.program_seconds = 2, .headroom = 0.05, .candidates = 100}},
                          10),
              ElementsAre(6, 3, 1));
}

TEST(SplitBudgetTest, NoMoreThanThereAreCandidates) {
  EXPECT_THAT(SplitBudget({{.program_seconds = 100, .headroom = 0.5, .candidates = 2},
                           {.program_seconds = 1, .headroom = 0.5, .candidates = 3}},
                          10),
              ElementsAre(2, 3));
}

TEST(SplitBudgetTest, AKernelWithoutWeightGetsTheRest) {
  EXPECT_THAT(SplitBudget({{.program_seconds = 0, .headroom = 0, .candidates = 9},
                           {.program_seconds = 1, .headroom = 0.5, .candidates = 3}},
                          5),
              ElementsAre(2, 3));
}

TEST(SplitBudgetTest, WhatWasSpentCounts) {
  // Equal weights: the one that was measured six times waits until the other has caught up.
  EXPECT_THAT(SplitBudget({{.program_seconds = 1, .headroom = 0.5, .spent = 6, .candidates = 99},
                           {.program_seconds = 1, .headroom = 0.5, .spent = 1, .candidates = 99}},
                          5),
              ElementsAre(0, 5));
}

TEST(SplitBudgetTest, SurvivesUnknownTimes) {
  const double nan = std::nan("");
  EXPECT_THAT(SplitBudget({{.program_seconds = nan, .headroom = 1, .candidates = 1},
                           {.program_seconds = 1, .headroom = nan, .candidates = 1}},
                          2),
              ElementsAre(1, 1));
  EXPECT_THAT(SplitBudget({}, 3), ElementsAre());
}

TEST(PredictedHeadroomTest, GainPlusDoubt) {
  EXPECT_NEAR(PredictedHeadroom(std::log(2.0), std::log(1.0)), 0.5 + kModelDoubt, 1e-12);
  EXPECT_DOUBLE_EQ(PredictedHeadroom(0.0, 1.0), kModelDoubt);
  EXPECT_DOUBLE_EQ(PredictedHeadroom(0.0, -1e9), 1.0);
}

TEST(PredictedHeadroomTest, BlindWithoutPredictions) {
  EXPECT_DOUBLE_EQ(PredictedHeadroom(std::nullopt, 1.0), kBlindHeadroom);
  EXPECT_DOUBLE_EQ(PredictedHeadroom(1.0, std::nullopt), kBlindHeadroom);
}

TEST(PredictedHeadroomTest, NothingToGainFromTheImpossible) {
  EXPECT_DOUBLE_EQ(PredictedHeadroom(0.0, std::numeric_limits<double>::infinity()), 0);
}

TEST(HeadroomAboveRooflineTest, WhatLiesAboveIt) {
  EXPECT_DOUBLE_EQ(HeadroomAboveRoofline(4, 1), 0.75);
  EXPECT_DOUBLE_EQ(HeadroomAboveRoofline(1, 1), 0);
  EXPECT_DOUBLE_EQ(HeadroomAboveRoofline(1.005, 1), 0);  // all that can be gained is a tie
  EXPECT_NEAR(HeadroomAboveRoofline(1.02, 1), 0.0196, 1e-4);
  EXPECT_DOUBLE_EQ(HeadroomAboveRoofline(4, 0), 1);
}

TEST(HeadroomAboveRooflineTest, ATimeBelowItRefutesIt) {
  EXPECT_DOUBLE_EQ(HeadroomAboveRoofline(1, 2), 1);
  EXPECT_DOUBLE_EQ(HeadroomAboveRoofline(0.995, 1), 0);  // at the noise of a measurement
}

}  // namespace
}  // namespace autotune
