#include "search/fusion_effects.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace autotune {
namespace {

constexpr double kUs = 1e-6;

// Edges 0 and 1 in kernel 0, edge 2 in kernel 1, edge 3 in both.
FusionEffects Effects(double mean = 0) {
  return FusionEffects({{mean, 10 * kUs, {0}},
                        {mean, 5 * kUs, {0}},
                        {mean, 10 * kUs, {1}},
                        {mean, 10 * kUs, {0, 1}}},
                       /*noise=*/1e-3 * kUs);
}

TEST(FusionEffectsTest, OfNothingKnownThePriorIsExpected) {
  const FusionEffects effects = Effects(2 * kUs);
  EXPECT_EQ(effects.Mean({}), 0);
  const std::vector<int64_t> two = {0, 2};
  EXPECT_NEAR(effects.Mean(two), 4 * kUs, 1e-12);
  // The expected positive part of a normal variable of mean 0: its deviation over sqrt(2 pi).
  EXPECT_NEAR(Effects().ExpectedGain(0), 10 * kUs / std::sqrt(2 * std::acos(-1.0)), 1e-12);
  EXPECT_LT(effects.ExpectedGain(0), Effects().ExpectedGain(0));
}

TEST(FusionEffectsTest, WhatIsKnownOfSomeTellsTheRest) {
  FusionEffects effects = Effects();
  effects.Add({{0, 2}, -3 * kUs});
  // Both are as likely to have gained.
  EXPECT_NEAR(effects.Mean(std::vector<int64_t>{2}), -1.5 * kUs, 1e-3 * kUs);
  effects.Add({{0}, 1 * kUs});
  EXPECT_NEAR(effects.Mean(std::vector<int64_t>{0}), 1 * kUs, 1e-3 * kUs);
  EXPECT_NEAR(effects.Mean(std::vector<int64_t>{2}), -4 * kUs, 1e-3 * kUs);
  EXPECT_NEAR(effects.Mean(std::vector<int64_t>{0, 2}), -3 * kUs, 1e-3 * kUs);
  EXPECT_NEAR(effects.ExpectedGain(2), 4 * kUs, 1e-2 * kUs);
  EXPECT_NEAR(effects.ExpectedGain(0), 0, 1e-2 * kUs);
  EXPECT_GT(effects.ExpectedGain(1), 1 * kUs);  // still open
}

TEST(FusionEffectsTest, CutsOfOneKernelMayDoMoreThanTheirSum) {
  FusionEffects effects = Effects();
  effects.Add({{0}, 1 * kUs});
  effects.Add({{1}, 2 * kUs});
  effects.Add({{0, 1}, -4 * kUs});
  EXPECT_NEAR(effects.Mean(std::vector<int64_t>{0}), 1 * kUs, 0.01 * kUs);
  EXPECT_NEAR(effects.Mean(std::vector<int64_t>{0, 1}), -4 * kUs, 0.01 * kUs);
  EXPECT_TRUE(effects.Interact(0, 1));
  EXPECT_FALSE(effects.Interact(0, 2));
  EXPECT_TRUE(effects.Interact(2, 3));
}

TEST(FusionEffectsTest, TheSameAgainChangesNothing) {
  FusionEffects effects = Effects();
  effects.Add({{0}, 1 * kUs});
  effects.Add({{0}, 100 * kUs});
  effects.Add({{}, 100 * kUs});
  EXPECT_NEAR(effects.Mean(std::vector<int64_t>{0}), 1 * kUs, 1e-3 * kUs);
}

}  // namespace
}  // namespace autotune
