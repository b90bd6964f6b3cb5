#include "search/recorded_space.h"

#include <algorithm>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "search/config_distance.h"
#include "search/nearest_configs.h"
#include "tests/search/testing_spaces.h"

namespace autotune::testing {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Not;

TEST(RecordedSpace, KeepsTheRecordedOrderAndDropsRepeats) {
  RecordedSpace space({Tile({}, {4, 2}), Tile({}, {1, 1}), Tile({}, {4, 2}), Tile({}, {2, 2})});
  EXPECT_EQ(space.Size(), 3);
  EXPECT_THAT(Keys(space.Enumerate(10)), ElementsAre("o=4,2", "o=1,1", "o=2,2"));
}

TEST(RecordedSpace, MayBeEmpty) {
  RecordedSpace space({});
  Rng rng(1);
  EXPECT_EQ(space.Size(), 0);
  EXPECT_EQ(space.Sample(rng), std::nullopt);
  EXPECT_TRUE(space.Enumerate(5).empty());
}

TEST(RecordedSpace, NeighboursAreTheNearestTiles) {
  std::vector<Config> configs;
  for (int64_t a = 1; a <= 256; a *= 2) {
    for (int64_t b = 1; b <= 256; b *= 2) configs.push_back(Tile({}, {a, b}));
  }
  RecordedSpace space(configs, {.nearest = 4});
  EXPECT_THAT(Keys(space.Neighbours(Tile({}, {16, 16}))),
              ::testing::IsSupersetOf({"o=8,16", "o=32,16", "o=16,8", "o=16,32"}));
  EXPECT_THAT(Keys(space.Neighbours(Tile({}, {16, 16}))), Not(Contains("o=256,256")));
}

TEST(RecordedSpace, OpaqueNeighboursStandBesideEachOther) {
  std::vector<Config> configs;
  for (int64_t i = 0; i < 100; ++i) configs.emplace_back(OpaqueConfig{i});
  RecordedSpace space(configs, {.nearest = 2});
  EXPECT_THAT(Keys(space.Neighbours(Config(OpaqueConfig{50}))), ElementsAre("#49", "#51"));
}

TEST(RecordedSpace, CrossoverFindsTheNearestOfTheMix) {
  RecordedSpace space({Tile({}, {1, 1}), Tile({}, {8, 8}), Tile({}, {1, 8}), Tile({}, {64, 64})});
  Rng rng(5);
  std::set<std::string> children;
  for (int i = 0; i < 64; ++i) {
    children.insert(space.Crossover(Tile({}, {1, 1}), Tile({}, {8, 8}), rng).Key());
  }
  EXPECT_THAT(children, Contains("o=1,8"));
  EXPECT_THAT(children, Not(Contains("o=64,64")));
}

TEST(RecordedSpace, HoldsOneConfigurationOfEveryForm) {
  LayoutConfig layout;
  layout.nodes = {{{1, 0}, {0, 1}}};
  RecordedSpace space({Config(OpaqueConfig{0}), Tile({}, {2}), Config(layout),
                       Config(FusionDecision{{1, 2}}), Tile({1}, {2, 2})});
  EXPECT_EQ(space.Size(), 5);
  EXPECT_EQ(space.Neighbours(Config(layout)).size(), 4);
  Rng rng(3);
  EXPECT_EQ(space.Crossover(Config(layout), Tile({}, {2}), rng).Key(), Config(layout).Key());
}

// The approximation for large lists finds nearly what the exact search finds.
TEST(NearestConfigs, LargeListsComeClose) {
  auto tiles = ConvolutionSpace(1 << 20);
  const std::vector<Config> configs = tiles->Enumerate(3000);
  const auto exact = NearestConfigs(configs, 6, 4096);
  const auto approximate = NearestConfigs(configs, 6, 100);
  double exact_sum = 0, approximate_sum = 0;
  auto mean_distance = [&](const std::vector<std::vector<int32_t>>& lists) {
    double sum = 0;
    int64_t count = 0;
    for (size_t i = 0; i < lists.size(); ++i) {
      for (int32_t j : lists[i]) {
        sum += ConfigDistance(configs[i], configs[j]);
        ++count;
      }
    }
    return sum / static_cast<double>(count);
  };
  exact_sum = mean_distance(exact);
  approximate_sum = mean_distance(approximate);
  EXPECT_LE(approximate_sum, 1.25 * exact_sum);
}

}  // namespace
}  // namespace autotune::testing
