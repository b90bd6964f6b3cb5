#include "search/tile_space.h"

#include <algorithm>
#include <limits>

#include "absl/strings/str_join.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/search/testing_spaces.h"

namespace autotune::testing {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

TEST(TileSpace, CountsCombinationsOfFreeDimensions) {
  // 3 * 3 * 2 kernel bounds, the fourth is tied; 6 * 6 * 3 * 3 output bounds.
  auto space = ConvolutionSpace(1 << 20);
  EXPECT_EQ(space->combinations(), 18 * 324);
  EXPECT_EQ(space->Size(), 18 * 324);
}

TEST(TileSpace, CountsOnlyWhatIsAccepted) {
  auto space = ConvolutionSpace(1);  // one output tile
  EXPECT_EQ(space->Size(), 18);
  EXPECT_TRUE(space->Contains(Tile({3, 2, 16, 1}, {1, 1, 1, 1})));
  EXPECT_FALSE(space->Contains(Tile({3, 2, 16, 1}, {2, 1, 1, 1})));
}

TEST(TileSpace, TiedBoundsFollow) {
  auto space = ConvolutionSpace(1 << 20);
  EXPECT_TRUE(space->Contains(Tile({1, 1, 16, 3}, {1, 1, 1, 3})));
  EXPECT_FALSE(space->Contains(Tile({1, 1, 16, 2}, {1, 1, 1, 3})));
}

TEST(TileSpace, OnlyBoundsThatTheCompilerForms) {
  auto space = ConvolutionSpace(1 << 20);
  EXPECT_FALSE(space->Contains(Tile({1, 1, 8, 1}, {1, 1, 1, 1})));
  EXPECT_FALSE(space->Contains(Tile({1, 1, 16, 1}, {5, 1, 1, 1})));
  EXPECT_FALSE(space->Contains(Tile({}, {1, 1, 1, 1})));
}

TEST(TileSpace, EnumeratesTheLastDimensionFastest) {
  TileSpaceSpec spec;
  spec.output = {{2, 1}, {1, 4, 4}};
  auto space = TileSpace::Create(spec);
  ASSERT_TRUE(space.ok());
  EXPECT_THAT(Keys((*space)->Enumerate(10)), ElementsAre("o=1,1", "o=1,4", "o=2,1", "o=2,4"));
}

TEST(TileSpace, NeighboursStepTradeAndSwap) {
  TileSpaceSpec spec;
  spec.output = {{1, 2, 4, 8}, {1, 2, 4, 8}};
  auto space = TileSpace::Create(spec);
  ASSERT_TRUE(space.ok());
  // From (2, 8): steps, one up and the other down, swapped.
  EXPECT_THAT(Keys((*space)->Neighbours(Tile({}, {2, 8}))),
              UnorderedElementsAre("o=4,8", "o=1,8", "o=2,4", "o=4,4", "o=8,2"));
}

TEST(TileSpace, NeighboursLeaveOutWhatDoesNotFit) {
  TileSpaceSpec spec;
  spec.output = {{1, 2, 4}, {1, 2, 4}};
  spec.accepts = [](const TileBounds& bounds) { return bounds.output[0] * bounds.output[1] <= 4; };
  auto space = TileSpace::Create(spec);
  ASSERT_TRUE(space.ok());
  EXPECT_THAT(Keys((*space)->Neighbours(Tile({}, {2, 2}))),
              UnorderedElementsAre("o=1,2", "o=2,1", "o=4,1", "o=1,4"));
}

TEST(TileSpace, SamplesUniformly) {
  auto space = ConvolutionSpace(1);
  Rng rng(7);
  std::map<std::string, int> counts;
  for (int i = 0; i < 18000; ++i) ++counts[space->Sample(rng)->Key()];
  ASSERT_EQ(counts.size(), 18);
  for (const auto& [key, count] : counts) {
    EXPECT_GT(count, 800) << key;  // expected 1000, standard deviation 31
    EXPECT_LT(count, 1200) << key;
  }
}

TEST(TileSpace, CrossoverTakesEachBoundFromAParent) {
  auto space = ConvolutionSpace(1 << 20);
  const Config a = Tile({1, 1, 16, 1}, {1, 1, 1, 1});
  const Config b = Tile({3, 3, 24, 3}, {12, 12, 4, 3});
  Rng rng(11);
  bool mixed = false;
  for (int i = 0; i < 50; ++i) {
    const Config child = space->Crossover(a, b, rng);
    for (size_t d = 0; d < 4; ++d) {
      EXPECT_TRUE(child.tile()->kernel[d] == a.tile()->kernel[d] ||
                  child.tile()->kernel[d] == b.tile()->kernel[d]);
      EXPECT_TRUE(child.tile()->output[d] == a.tile()->output[d] ||
                  child.tile()->output[d] == b.tile()->output[d]);
    }
    mixed = mixed || (!(child == a) && !(child == b));
  }
  EXPECT_TRUE(mixed);
}

TEST(TileSpace, AHugeSpaceCostsOnlyWhatIsAsked) {
  TileSpaceSpec spec;
  for (int i = 0; i < 8; ++i) spec.output.push_back(EvenBounds(1000));
  int64_t asked = 0;
  spec.accepts = [&asked](const TileBounds&) { return ++asked > 0; };
  auto space = TileSpace::Create(spec);
  ASSERT_TRUE(space.ok());
  EXPECT_GT((*space)->combinations(), int64_t{1} << 40);
  EXPECT_EQ((*space)->Size(), std::nullopt);
  EXPECT_EQ((*space)->Enumerate(5).size(), 5);
  Rng rng(1);
  EXPECT_TRUE((*space)->Sample(rng).has_value());
  EXPECT_LE(asked, 6);
}

TEST(TileSpace, AnEmptySpaceYieldsNothing) {
  TileSpaceSpec spec;
  spec.output = {{1, 2}, {1, 2}};
  spec.accepts = [](const TileBounds&) { return false; };
  auto space = TileSpace::Create(spec);
  ASSERT_TRUE(space.ok());
  Rng rng(1);
  EXPECT_EQ((*space)->Size(), 0);
  EXPECT_EQ((*space)->Sample(rng), std::nullopt);
  EXPECT_TRUE((*space)->Enumerate(10).empty());
}

TEST(TileSpace, SamplesAreFoundWhereFewFit) {
  TileSpaceSpec spec;
  spec.output = {EvenBounds(5000), EvenBounds(5000), EvenBounds(5000)};
  spec.accepts = [](const TileBounds& bounds) {
    return bounds.output[0] * bounds.output[1] * bounds.output[2] == 1;
  };
  auto space = TileSpace::Create(spec);
  ASSERT_TRUE(space.ok());
  Rng rng(1);
  EXPECT_EQ((*space)->Sample(rng)->Key(), "o=1,1,1");
}

TEST(TileSpace, RefusesWhatIsNoSpace) {
  EXPECT_THAT(std::string(TileSpace::Create({}).status().message()), HasSubstr("without output"));
  TileSpaceSpec no_bounds;
  no_bounds.output = {{1}, {}};
  EXPECT_THAT(std::string(TileSpace::Create(no_bounds).status().message()),
              HasSubstr("output dimension 1"));
  TileSpaceSpec zero;
  zero.kernel = {{0, 1}};
  zero.output = {{1}};
  EXPECT_THAT(std::string(TileSpace::Create(zero).status().message()),
              HasSubstr("kernel dimension 0"));
  TileSpaceSpec tie;
  tie.kernel = {{1}};
  tie.output = {{1}};
  tie.tied_output = {3};
  EXPECT_THAT(std::string(TileSpace::Create(tie).status().message()),
              HasSubstr("output dimension 3"));
  TileSpaceSpec too_large;
  for (int i = 0; i < 12; ++i) too_large.output.push_back(EvenBounds(4000));
  EXPECT_THAT(std::string(TileSpace::Create(too_large).status().message()), HasSubstr("2^63"));
}

}  // namespace
}  // namespace autotune::testing
