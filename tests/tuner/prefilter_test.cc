#include "tuner/prefilter.h"

#include <limits>
#include <set>

#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace autotune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

constexpr double kInf = std::numeric_limits<double>::infinity();

TEST(PrefilterTest, KeepsTheLowestScoresInOrder) {
  EXPECT_THAT(Prefilter({5, 1, 4, 2, 3}, {.top_k = 3, .exploration = 0}, 1), ElementsAre(1, 3, 4));
}

TEST(PrefilterTest, TiesGoToTheFirst) {
  EXPECT_THAT(Prefilter({2, 1, 1, 1}, {.top_k = 2, .exploration = 0}, 1), ElementsAre(1, 2));
}

TEST(PrefilterTest, KeepsEverythingRankedWhenThereIsRoom) {
  EXPECT_THAT(Prefilter({3, 1, 2}, {.top_k = 9, .exploration = 1}, 1), ElementsAre(1, 2, 0));
  EXPECT_THAT(Prefilter({}, {.top_k = 9, .exploration = 1}, 1), IsEmpty());
  EXPECT_THAT(Prefilter({1, 2}, {.top_k = 0, .exploration = 1}, 1), IsEmpty());
}

TEST(PrefilterTest, ImpossibleOnesOnlyWhenNothingElseIsLeft) {
  EXPECT_THAT(Prefilter({kInf, 2, std::nan(""), 1}, {.top_k = 3, .exploration = 0}, 1),
              ElementsAre(3, 1, 0));
  for (uint64_t seed = 0; seed < 50; ++seed) {
    EXPECT_THAT(Prefilter({kInf, 2, kInf, 1, kInf}, {.top_k = 2, .exploration = 1}, seed),
                ::testing::UnorderedElementsAre(1, 3));
  }
}

TEST(PrefilterTest, ExploresTheStatedShareOutsideTheTop) {
  std::vector<double> scores(100);
  for (size_t i = 0; i < scores.size(); ++i) scores[i] = static_cast<double>(i);
  double outside = 0;
  constexpr int kSeeds = 2000;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    const std::vector<size_t> kept = Prefilter(scores, {.top_k = 4, .exploration = 0.125}, seed);
    ASSERT_EQ(kept.size(), 4u);
    EXPECT_EQ(std::set<size_t>(kept.begin(), kept.end()).size(), 4u);
    EXPECT_EQ(kept[0], 0u);
    for (size_t i : kept) outside += i >= 4 ? 1 : 0;
  }
  // 4 x 0.125 = 0.5 explored a call, nearly all of which land outside the top four.
  EXPECT_NEAR(outside / kSeeds, 0.5 * 96 / 97, 0.05);
}

TEST(PrefilterTest, SameSeedSameAnswer) {
  std::vector<double> scores(50, 1.0);
  const PrefilterOptions options = {.top_k = 10, .exploration = 0.5};
  EXPECT_EQ(Prefilter(scores, options, 7), Prefilter(scores, options, 7));
  EXPECT_NE(Prefilter(scores, options, 7), Prefilter(scores, options, 8));
}

// What nobody is sure of is explored before what is known to be slow, and a score that is sure to
// be bad never.
TEST(PrefilterTest, ExploresWhereTheModelIsUncertain) {
  std::vector<double> scores(40, 1.0);
  std::vector<double> spread(40, 0.0);
  scores[0] = 0;
  scores[7] = kInf;
  spread[7] = 9;
  spread[21] = 1.0;  // may be as fast as the best
  int found = 0;
  for (uint64_t seed = 0; seed < 200; ++seed) {
    const std::vector<size_t> kept =
        Prefilter(scores, {.top_k = 2, .exploration = 0.5}, seed, spread);
    ASSERT_EQ(kept.size(), 2u);
    EXPECT_EQ(kept[0], 0u);
    EXPECT_NE(kept[1], 7u);
    found += kept[1] == 21 ? 1 : 0;
    EXPECT_EQ(kept, Prefilter(scores, {.top_k = 2, .exploration = 0.5}, seed, spread));
  }
  EXPECT_GT(found, 70);   // half of the draws are lower than all the others'
  EXPECT_LT(found, 150);  // and others get their turn
}

TEST(PrefilterTest, WithoutExplorationTheSpreadDoesNotShow) {
  const std::vector<double> scores = {3, 1, 2, 5};
  EXPECT_THAT(Prefilter(scores, {.top_k = 2, .exploration = 0}, 1, {9.0, 9.0, 9.0, 9.0}),
              ElementsAre(1, 2));
}

}  // namespace
}  // namespace autotune
