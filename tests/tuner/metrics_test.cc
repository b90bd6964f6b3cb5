#include "tuner/metrics.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <random>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace autotune {
namespace {

using ::testing::DoubleNear;
using ::testing::Optional;

constexpr double kInf = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

auto Near(double value) { return Optional(DoubleNear(value, 1e-12)); }

TEST(TileSizeApeTest, WeighsKernelsByTheirBestTime) {
  // (|12 - 10| + |30 - 30|) / (10 + 30) = 5 %.
  EXPECT_THAT(TileSizeApe({{12, 10}, {30, 30}}), Near(5));
  EXPECT_THAT(TileSizeApe({{3, 2}}), Near(50));
  EXPECT_EQ(TileSizeApe({}), std::nullopt);
}

TEST(TopKErrorTest, TakesTheFastestOfTheModelsBest) {
  const std::vector<double> scores = {3, 1, 2, 4};
  const std::vector<double> seconds = {10, 15, 12, 11};
  EXPECT_THAT(TopKError(scores, seconds, 1), Near(0.5));
  EXPECT_THAT(TopKError(scores, seconds, 2), Near(0.2));
  EXPECT_THAT(TopKError(scores, seconds, 3), Near(0));
  EXPECT_THAT(TopKError(scores, seconds, 100), Near(0));
  EXPECT_EQ(TopKError({}, {}, 1), std::nullopt);
}

TEST(TopKErrorTest, EqualScoresCountAgainstTheModel) {
  EXPECT_THAT(TopKError({1, 1, 1}, {10, 30, 20}, 1), Near(2));
  EXPECT_THAT(TopKError({1, 1, 1}, {10, 30, 20}, 2), Near(1));
}

TEST(TopKErrorTest, WhatCannotRunComesLast) {
  EXPECT_THAT(TopKError({kInf, 5, kNan}, {10, 12, 11}, 1), Near(0.2));
}

TEST(KendallTauTest, AgreesWithPairsCountedByHand) {
  EXPECT_THAT(KendallTau({1, 2, 3, 4}, {10, 20, 30, 40}), Near(1));
  EXPECT_THAT(KendallTau({4, 3, 2, 1}, {10, 20, 30, 40}), Near(-1));
  // Scores 1-3 +, 1-2 +, 1-4 +, 3-2 -, 3-4 +, 2-4 +: (5 - 1) / 6.
  EXPECT_THAT(KendallTau({1, 3, 2, 4}, {10, 20, 30, 40}), Near(4.0 / 6));
}

TEST(KendallTauTest, LeavesOutTiesInTheTruth) {
  // Pairs with different times: (a, c), (b, c); scores 5 < 6 and 7 > 6.
  EXPECT_THAT(KendallTau({5, 7, 6}, {10, 10, 20}), Near(0));
  EXPECT_THAT(KendallTau({5, 4, 6}, {10, 10, 20}), Near(1));
  EXPECT_EQ(KendallTau({1, 2}, {10, 10}), std::nullopt);
  EXPECT_EQ(KendallTau({1}, {10}), std::nullopt);
  EXPECT_EQ(KendallTau({}, {}), std::nullopt);
}

TEST(KendallTauTest, TiedScoresEarnNothing) {
  EXPECT_THAT(KendallTau({1, 1, 1}, {10, 20, 30}), Near(0));
  // (1, 1): nothing; (1, 2) twice: concordant.
  EXPECT_THAT(KendallTau({1, 1, 2}, {10, 20, 30}), Near(2.0 / 3));
  EXPECT_THAT(KendallTau({1, kInf, kNan}, {10, 20, 30}), Near(2.0 / 3));
}

// The definition, pair by pair.
std::optional<double> TauOfAllPairs(const std::vector<double>& scores,
                                    const std::vector<double>& seconds) {
  int64_t sum = 0, counted = 0;
  for (size_t i = 0; i < scores.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (seconds[i] == seconds[j]) continue;
      ++counted;
      if (scores[i] == scores[j]) continue;
      sum += (scores[i] < scores[j]) == (seconds[i] < seconds[j]) ? 1 : -1;
    }
  }
  if (counted == 0) return std::nullopt;
  return static_cast<double>(sum) / static_cast<double>(counted);
}

TEST(KendallTauTest, AgreesWithItsDefinitionOnRandomValuesWithManyTies) {
  std::mt19937_64 rng(7);
  for (int round = 0; round < 300; ++round) {
    const size_t n = rng() % 40;
    const uint64_t values = 1 + rng() % 20;
    std::vector<double> scores(n), seconds(n);
    for (size_t i = 0; i < n; ++i) {
      scores[i] = static_cast<double>(rng() % values);
      seconds[i] = static_cast<double>(1 + rng() % values);
    }
    EXPECT_EQ(KendallTau(scores, seconds), TauOfAllPairs(scores, seconds)) << "round " << round;
  }
}

TEST(KendallTauTest, ManyConfigurationsAreNoTrouble) {
  // Quadratic time would be 5 x 10^11 pairs; the sum of pairs fits 64 bits.
  std::vector<double> up(1'000'000);
  for (size_t i = 0; i < up.size(); ++i) up[i] = static_cast<double>(i + 1);
  EXPECT_THAT(KendallTau(up, up), Near(1));
}

TEST(EvaluationsToWithinTest, CountsFailuresToo) {
  const SearchTrace trace = {kInf, 200, 104, 101, 100};
  EXPECT_THAT(EvaluationsToWithin(trace, 100, 5), Optional(3));
  EXPECT_THAT(EvaluationsToWithin(trace, 100, 1), Optional(4));
  EXPECT_THAT(EvaluationsToWithin(trace, 100, 0), Optional(5));
  EXPECT_THAT(EvaluationsToWithin(trace, 100, 100), Optional(2));
  EXPECT_EQ(EvaluationsToWithin(trace, 90, 5), std::nullopt);
  EXPECT_EQ(EvaluationsToWithin({}, 90, 5), std::nullopt);
}

TEST(SlowdownAfterTest, IsTheBestSoFarOverTheBest) {
  const SearchTrace trace = {kInf, 200, 150, 150, 100};
  EXPECT_EQ(SlowdownAfter(trace, 100, 1), kInf);
  EXPECT_EQ(SlowdownAfter(trace, 100, 2), 2);
  EXPECT_EQ(SlowdownAfter(trace, 100, 4), 1.5);
  EXPECT_EQ(SlowdownAfter(trace, 100, 50), 1);
  EXPECT_EQ(SlowdownAfter(trace, 100, 0), kInf);
}

TEST(NearestRankPercentileTest, TakesAValueThatIsThere) {
  EXPECT_THAT(NearestRankPercentile({4.0, 1.0, 3.0, 2.0}, 50), Optional(2));
  EXPECT_THAT(NearestRankPercentile({4.0, 1.0, 3.0, 2.0, 5.0}, 50), Optional(3));
  EXPECT_THAT(NearestRankPercentile({4.0, 1.0, 3.0, 2.0}, 90), Optional(4));
  EXPECT_THAT(NearestRankPercentile({4.0}, 1), Optional(4));
  std::vector<std::optional<double>> hundred;
  for (int i = 100; i >= 1; --i) hundred.emplace_back(i);
  EXPECT_THAT(NearestRankPercentile(hundred, 90), Optional(90));
  EXPECT_THAT(NearestRankPercentile(hundred, 100), Optional(100));
}

TEST(NearestRankPercentileTest, NeverIsLargerThanAnyNumber) {
  EXPECT_THAT(NearestRankPercentile({std::nullopt, 1.0, 2.0}, 50), Optional(2));
  EXPECT_EQ(NearestRankPercentile({std::nullopt, 1.0, 2.0}, 90), std::nullopt);
  EXPECT_EQ(NearestRankPercentile({std::nullopt, std::nullopt, 2.0}, 50), std::nullopt);
  EXPECT_EQ(NearestRankPercentile({}, 50), std::nullopt);
}

}  // namespace
}  // namespace autotune
