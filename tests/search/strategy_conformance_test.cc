// What every strategy promises, over all strategies, with and without a scorer, and several spaces.

#include <algorithm>
#include <limits>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "search/builtin.h"
#include "tests/search/testing_spaces.h"

namespace autotune::testing {
namespace {

// The optimum of the landscape, legal in the convolution spaces.
Config Best() { return Tile({3, 3, 24, 1}, {6, 12, 4, 1}); }

struct Method {
  std::string strategy;
  bool scored;

  std::string Name() const {
    std::string name = strategy + (scored ? "_scored" : "");
    std::replace(name.begin(), name.end(), '-', '_');
    return name;
  }
};

std::vector<Method> AllMethods() {
  std::vector<Method> methods;
  for (const StrategyInfo& info : BuiltinStrategies()) {
    methods.push_back({info.name, true});
    if (!info.needs_scorer) methods.push_back({info.name, false});
  }
  return methods;
}

std::unique_ptr<SearchSpace> MakeSpace(const std::string& name) {
  if (name == "tile") return ConvolutionSpace(24);
  if (name == "recorded") return EveryNth(*ConvolutionSpace(600), 10);
  if (name == "opaque") {
    std::vector<Config> configs;
    for (int64_t i = 0; i < 40; ++i) configs.emplace_back(OpaqueConfig{i});
    return std::make_unique<RecordedSpace>(std::move(configs));
  }
  if (name == "single") return std::make_unique<RecordedSpace>(std::vector<Config>{Best()});
  if (name == "empty") return std::make_unique<RecordedSpace>(std::vector<Config>{});
  return LargeSpace();
}

std::unique_ptr<SearchStrategy> Make(const Method& method, const SearchSpace& space,
                                     const CandidateScorer& scorer, uint64_t seed) {
  auto strategy = CreateStrategy(method.strategy, &space, method.scored ? &scorer : nullptr, seed);
  EXPECT_TRUE(strategy.ok()) << strategy.status();
  return *std::move(strategy);
}

// Runs until `limit` configurations are proposed or none is left; batches of 1, 2, 3, 4, 1, ...
std::vector<Config> RunStrategy(SearchStrategy& strategy, int64_t limit, const Config& best) {
  std::vector<Config> proposed;
  for (int64_t batch = 1; static_cast<int64_t>(proposed.size()) < limit; batch = batch % 4 + 1) {
    const std::vector<Config> configs = strategy.Propose(batch);
    EXPECT_LE(static_cast<int64_t>(configs.size()), batch);
    if (configs.empty()) break;
    std::vector<Observation> observations;
    for (const Config& config : configs) {
      proposed.push_back(config);
      observations.push_back(Measured(config, best));
    }
    strategy.Observe(observations);
  }
  return proposed;
}

class StrategyTest : public ::testing::TestWithParam<std::tuple<Method, std::string>> {
 protected:
  std::unique_ptr<SearchStrategy> MakeStrategy(uint64_t seed) {
    return Make(std::get<0>(GetParam()), *space_, scorer_, seed);
  }

  // A large space is walked for a while only.
  int64_t Limit() const { return std::get<1>(GetParam()) == "large" ? 60 : 100000; }

  std::unique_ptr<SearchSpace> space_ = MakeSpace(std::get<1>(GetParam()));
  Config best_ = Best();
  LandscapeScorer scorer_{best_};
};

TEST_P(StrategyTest, ProposesEachLegalConfigurationOnceAndEnds) {
  auto strategy = MakeStrategy(1);
  const std::vector<Config> proposed = RunStrategy(*strategy, Limit(), best_);
  std::set<std::string> keys;
  for (const Config& config : proposed) {
    EXPECT_TRUE(space_->Contains(config)) << config.Key();
    EXPECT_TRUE(keys.insert(config.Key()).second) << config.Key() << " twice";
  }
  if (const std::optional<int64_t> size = space_->Size()) {
    EXPECT_EQ(static_cast<int64_t>(keys.size()), std::min(*size, Limit()));
    if (*size <= Limit()) {
      EXPECT_TRUE(strategy->Propose(5).empty());
    }
  } else {
    EXPECT_GE(static_cast<int64_t>(keys.size()), Limit());
  }
}

TEST_P(StrategyTest, TheSameSeedGivesTheSameRun) {
  auto one = MakeStrategy(42);
  auto other = MakeStrategy(42);
  const int64_t limit = std::min<int64_t>(60, Limit());
  EXPECT_EQ(Keys(RunStrategy(*one, limit, best_)), Keys(RunStrategy(*other, limit, best_)));
}

TEST_P(StrategyTest, DoesNotProposeWhatWasObserved) {
  auto strategy = MakeStrategy(3);
  const std::vector<Config> known = space_->Enumerate(10);
  std::set<std::string> known_keys;
  for (const Config& config : known) {
    strategy->Observe({Measured(config, best_)});
    known_keys.insert(config.Key());
  }
  const std::vector<Config> proposed = RunStrategy(*strategy, Limit(), best_);
  for (const Config& config : proposed) EXPECT_FALSE(known_keys.contains(config.Key()));
  if (const std::optional<int64_t> size = space_->Size(); size && *size < Limit()) {
    EXPECT_EQ(static_cast<int64_t>(proposed.size() + known.size()), *size);
  }
}

TEST_P(StrategyTest, SurvivesThatEverythingFails) {
  auto strategy = MakeStrategy(4);
  int64_t proposed = 0;
  while (proposed < Limit()) {
    const std::vector<Config> configs = strategy->Propose(7);
    if (configs.empty()) break;
    proposed += static_cast<int64_t>(configs.size());
    for (const Config& config : configs) {
      strategy->Observe({{config, Measurement::FromFailure(FailureKind::kCrash, "boom")}});
    }
  }
  const int64_t size = space_->Size().value_or(Limit());
  EXPECT_GE(proposed, std::min(size, Limit()));
}

TEST_P(StrategyTest, NeedsNoResultsToGoOn) {
  auto strategy = MakeStrategy(5);
  std::set<std::string> keys;
  for (int i = 0; i < 10; ++i) {
    for (const Config& config : strategy->Propose(4)) {
      EXPECT_TRUE(keys.insert(config.Key()).second);
    }
  }
  EXPECT_EQ(static_cast<int64_t>(keys.size()), std::min<int64_t>(40, space_->Size().value_or(40)));
}

TEST_P(StrategyTest, IgnoresResultsFromElsewhere) {
  auto strategy = MakeStrategy(6);
  const Config stranger = Tile({}, {1, 2, 3, 4, 5, 6, 7});
  strategy->Observe({Measured(stranger, stranger)});
  for (const Config& config : RunStrategy(*strategy, std::min<int64_t>(Limit(), 100), best_)) {
    EXPECT_TRUE(space_->Contains(config)) << config.Key();
  }
}

TEST_P(StrategyTest, AsksForNothingGetNothing) {
  auto strategy = MakeStrategy(7);
  EXPECT_TRUE(strategy->Propose(0).empty());
}

INSTANTIATE_TEST_SUITE_P(All, StrategyTest,
                         ::testing::Combine(::testing::ValuesIn(AllMethods()),
                                            ::testing::Values("tile", "recorded", "opaque",
                                                              "single", "empty", "large")),
                         [](const auto& test) {
                           return std::get<0>(test.param).Name() + "_" + std::get<1>(test.param);
                         });

// Evaluations until within 5 % of the best of the space; median over seeds.
double MedianEvaluations(const Method& method, const SearchSpace& space, const Config& best,
                         double best_log_seconds, int seeds, int64_t limit) {
  LandscapeScorer scorer(best);
  std::vector<int64_t> evaluations;
  for (int seed = 1; seed <= seeds; ++seed) {
    auto strategy = Make(method, space, scorer, static_cast<uint64_t>(seed));
    int64_t count = 0;
    for (bool found = false; !found && count < limit;) {
      const std::vector<Config> configs = strategy->Propose(1);
      if (configs.empty()) break;
      ++count;
      found = LogSeconds(configs[0], best) <= best_log_seconds + std::log(1.05);
      strategy->Observe({Measured(configs[0], best)});
    }
    evaluations.push_back(count);
  }
  std::sort(evaluations.begin(), evaluations.end());
  return static_cast<double>(evaluations[evaluations.size() / 2]);
}

double BestOf(const SearchSpace& space, const Config& best) {
  double lowest = std::numeric_limits<double>::infinity();
  auto cursor = space.NewCursor();
  while (auto config = cursor->Next()) lowest = std::min(lowest, LogSeconds(*config, best));
  return lowest;
}

class BeatsRandomTest : public ::testing::TestWithParam<Method> {};

TEST_P(BeatsRandomTest, OnARecordedSample) {
  const auto space = EveryNth(*ConvolutionSpace(600), 10);
  const double lowest = BestOf(*space, Best());
  const double random = MedianEvaluations({"random", false}, *space, Best(), lowest, 15, 600);
  const double mine = MedianEvaluations(GetParam(), *space, Best(), lowest, 15, 600);
  EXPECT_GT(random, 100);
  if (GetParam().scored) {
    EXPECT_EQ(mine, 1);  // the scorer knows the landscape
  } else {
    EXPECT_LT(mine, random / 3);
  }
}

TEST_P(BeatsRandomTest, OnALargeSpace) {
  const auto space = LargeSpace();
  const Config best = Tile({}, {19, 56, 4, 8, 4});
  ASSERT_GT(space->combinations(), 1000000);
  ASSERT_TRUE(space->Contains(best));
  const double lowest = LogSeconds(best, best);
  const double mine = MedianEvaluations(GetParam(), *space, best, lowest, 7, 120);
  const double random = MedianEvaluations({"random", false}, *space, best, lowest, 7, 120);
  EXPECT_EQ(random, 120);  // not found
  if (GetParam().scored) {
    EXPECT_EQ(mine, 1);
  } else {
    EXPECT_LT(mine, 120);
  }
}

INSTANTIATE_TEST_SUITE_P(Guided, BeatsRandomTest,
                         ::testing::Values(Method{"annealing", true}, Method{"annealing", false},
                                           Method{"genetic", true}, Method{"genetic", false},
                                           Method{"model-greedy", true}),
                         [](const auto& test) { return test.param.Name(); });

TEST(Builtin, AnUnknownNameListsTheKnownOnes) {
  RecordedSpace space({Best()});
  const absl::Status status = CreateStrategy("anealing", &space, nullptr, 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(status.message(),
            "unknown strategy \"anealing\"; known are annealing, genetic, random, exhaustive, "
            "model-greedy");
}

TEST(Builtin, ModelGreedyNeedsAModel) {
  RecordedSpace space({Best()});
  const absl::Status status = CreateStrategy("model-greedy", &space, nullptr, 1).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(status.message()), ::testing::HasSubstr("model-greedy+analytical"));
}

TEST(Builtin, EveryStrategyHasHelp) {
  for (const StrategyInfo& info : BuiltinStrategies()) {
    EXPECT_GT(std::string(info.help).size(), 10) << info.name;
  }
}

}  // namespace
}  // namespace autotune::testing
