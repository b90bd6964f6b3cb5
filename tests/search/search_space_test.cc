// Properties that every space has to have, over several spaces.

#include "search/search_space.h"

#include <algorithm>
#include <limits>
#include <memory>
#include <set>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "search/fusion_space.h"
#include "tests/search/testing_fusion.h"
#include "tests/search/testing_spaces.h"

namespace autotune::testing {
namespace {

constexpr int64_t kAll = std::numeric_limits<int64_t>::max();

std::unique_ptr<SearchSpace> MakeSpace(const std::string& name) {
  if (name == "tile") return ConvolutionSpace(200);
  if (name == "tight_tile") return ConvolutionSpace(2);
  if (name == "recorded") return EveryNth(*ConvolutionSpace(600), 9);
  if (name == "opaque") {
    std::vector<Config> configs;
    for (int64_t i = 0; i < 20; ++i) configs.emplace_back(OpaqueConfig{i});
    return std::make_unique<RecordedSpace>(std::move(configs));
  }
  if (name == "fusions") {
    std::vector<Config> configs;
    for (int64_t i = 0; i < 16; ++i) {
      FusionDecision decision;
      for (int64_t edge = 0; edge < 4; ++edge) {
        if ((i >> edge) & 1) decision.cuts.push_back(edge);
      }
      configs.emplace_back(decision);
    }
    return std::make_unique<RecordedSpace>(std::move(configs));
  }
  if (name == "fusion") {
    static const FusionGraph& graph = *new FusionGraph(LayeredGraph(1));
    return *FusionSpace::Create(&graph, {0, 1, 2, 4, 5, 6, 8});
  }
  return std::make_unique<RecordedSpace>(std::vector<Config>{Tile({}, {7})});  // "single"
}

class SearchSpaceTest : public ::testing::TestWithParam<std::string> {
 protected:
  std::unique_ptr<SearchSpace> space_ = MakeSpace(GetParam());
  std::vector<Config> all_ = space_->Enumerate(kAll);
};

TEST_P(SearchSpaceTest, EnumeratesEachOnceAndAsManyAsItCounts) {
  const std::set<std::string> keys = [&] {
    const std::vector<std::string> list = Keys(all_);
    return std::set<std::string>(list.begin(), list.end());
  }();
  EXPECT_EQ(keys.size(), all_.size());
  ASSERT_TRUE(space_->Size().has_value());
  EXPECT_EQ(*space_->Size(), static_cast<int64_t>(all_.size()));
  EXPECT_GT(all_.size(), 0);
}

TEST_P(SearchSpaceTest, ContainsWhatItEnumerates) {
  for (const Config& config : all_) EXPECT_TRUE(space_->Contains(config)) << config.Key();
}

TEST_P(SearchSpaceTest, EnumerateStopsAtTheLimit) {
  const size_t half = (all_.size() + 1) / 2;
  const std::vector<Config> first = space_->Enumerate(static_cast<int64_t>(half));
  ASSERT_EQ(first.size(), half);
  EXPECT_TRUE(std::equal(first.begin(), first.end(), all_.begin()));
  EXPECT_TRUE(space_->Enumerate(0).empty());
}

TEST_P(SearchSpaceTest, SamplesAreLegalAndReachEverything) {
  Rng rng(1);
  std::set<std::string> seen;
  for (size_t i = 0; i < 20 * all_.size(); ++i) {
    const std::optional<Config> sample = space_->Sample(rng);
    ASSERT_TRUE(sample.has_value());
    ASSERT_TRUE(space_->Contains(*sample)) << sample->Key();
    seen.insert(sample->Key());
  }
  EXPECT_GE(seen.size(), all_.size() * 99 / 100);
}

TEST_P(SearchSpaceTest, NeighboursAreLegalOthersWithoutRepeats) {
  for (const Config& config : all_) {
    std::set<std::string> keys;
    for (const Config& neighbour : space_->Neighbours(config)) {
      EXPECT_TRUE(space_->Contains(neighbour)) << neighbour.Key();
      EXPECT_FALSE(neighbour == config) << config.Key();
      EXPECT_TRUE(keys.insert(neighbour.Key()).second) << neighbour.Key() << " twice";
    }
  }
}

TEST_P(SearchSpaceTest, NeighboursAreSymmetric) {
  std::set<std::pair<std::string, std::string>> pairs;
  for (const Config& config : all_) {
    for (const Config& neighbour : space_->Neighbours(config)) {
      pairs.emplace(config.Key(), neighbour.Key());
    }
  }
  for (const auto& [a, b] : pairs) EXPECT_TRUE(pairs.contains({b, a})) << a << " and " << b;
}

TEST_P(SearchSpaceTest, EverythingIsReachableByNeighbours) {
  std::vector<Config> frontier = {all_.front()};
  std::set<std::string> reached = {all_.front().Key()};
  while (!frontier.empty()) {
    const Config config = frontier.back();
    frontier.pop_back();
    for (const Config& neighbour : space_->Neighbours(config)) {
      if (reached.insert(neighbour.Key()).second) frontier.push_back(neighbour);
    }
  }
  EXPECT_EQ(reached.size(), all_.size());
}

TEST_P(SearchSpaceTest, RandomNeighboursAreNeighbours) {
  Rng rng(2);
  for (size_t i = 0; i < all_.size(); i += 7) {
    const std::vector<std::string> keys = Keys(space_->Neighbours(all_[i]));
    const std::optional<Config> neighbour = space_->RandomNeighbour(all_[i], rng);
    ASSERT_EQ(neighbour.has_value(), !keys.empty());
    if (neighbour) {
      EXPECT_THAT(keys, ::testing::Contains(neighbour->Key()));
    }
  }
}

TEST_P(SearchSpaceTest, CrossoverIsLegalAndKeepsEqualParents) {
  Rng rng(3);
  for (size_t i = 0; i < all_.size(); i += 3) {
    const Config& other = all_[(i * 31 + 17) % all_.size()];
    EXPECT_TRUE(space_->Contains(space_->Crossover(all_[i], other, rng)));
    EXPECT_EQ(space_->Crossover(all_[i], all_[i], rng).Key(), all_[i].Key());
  }
}

TEST_P(SearchSpaceTest, DoesNotContainStrangers) {
  EXPECT_FALSE(space_->Contains(Tile({}, {5, 5, 5, 5, 5, 5, 5, 5})));
  EXPECT_FALSE(space_->Contains(Tile({}, {})));
  EXPECT_FALSE(space_->Contains(Config(LayoutConfig{})));
  EXPECT_FALSE(space_->Contains(Config(OpaqueConfig{1000})));
}

INSTANTIATE_TEST_SUITE_P(Spaces, SearchSpaceTest,
                         ::testing::Values("tile", "tight_tile", "recorded", "opaque", "fusions",
                                           "fusion", "single"),
                         [](const auto& test) { return test.param; });

}  // namespace
}  // namespace autotune::testing
