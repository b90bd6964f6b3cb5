#include "tuner/compare.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "nlohmann/json.hpp"
#include "tuner/compare_models.h"
#include "tuner/compare_render.h"
#include "tuner/compare_run.h"

namespace autotune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr double kInf = std::numeric_limits<double>::infinity();

Kernel KernelNamed(const std::string& name, uint64_t fingerprint, int64_t count = 1) {
  Kernel kernel;
  kernel.name = name;
  kernel.kind = "loop fusion";
  kernel.count = count;
  kernel.fingerprint = fingerprint;
  return kernel;
}

Config TileOf(int64_t bound) { return Config(TileBounds{.output = {bound, 1}}); }

RecordedConfig Recorded(Config config, std::vector<double> seconds, bool is_default = false) {
  RecordedConfig recorded{.config = std::move(config)};
  recorded.seconds = std::move(seconds);
  if (recorded.seconds.empty()) {
    recorded.failures.push_back({FailureKind::kRecordedFailure, "failed"});
  }
  recorded.is_default = is_default;
  return recorded;
}

// "fusion.1": tiles 1 to 40 that take 100 + |tile - 7| us, tile 13 a failure, tile 20 the default.
// "copy.2": two tiles of 20 and 10 us, the first the default. "opaque.3": three opaque runs.
Recording TestRecording() {
  Recording recording({.device = "tpu-v3", .backend = "test"});
  RecordedKernel& fusion = recording.FindOrAdd(KernelNamed("fusion.1", 1));
  for (int64_t tile = 1; tile <= 40; ++tile) {
    const double seconds = (100 + std::abs(static_cast<double>(tile) - 7)) / 1e6;
    fusion.Add(Recorded(TileOf(tile), tile == 13 ? std::vector<double>{} : std::vector{seconds},
                        tile == 20));
  }
  RecordedKernel& copy = recording.FindOrAdd(KernelNamed("copy.2", 2));
  copy.Add(Recorded(TileOf(1), {20e-6}, true));
  copy.Add(Recorded(TileOf(2), {10e-6}));
  RecordedKernel& opaque = recording.FindOrAdd(KernelNamed("opaque.3", 3));
  for (int64_t i = 0; i < 3; ++i) {
    opaque.Add(Recorded(Config(OpaqueConfig{i}), {1e-3 * static_cast<double>(3 - i)}, i == 0));
  }
  return recording;
}

std::vector<Kernel> TestKernels() {
  return {KernelNamed("fusion.1", 1, 4), KernelNamed("copy.2", 2), KernelNamed("opaque.3", 3)};
}

// Predicts log-seconds that grow with the distance of the tile from `center`.
class DistanceModel final : public CostModel {
 public:
  explicit DistanceModel(double center) : center_(center) {}
  absl::string_view name() const override { return "distance"; }
  PredictionUnit unit() const override { return PredictionUnit::kLogSeconds; }
  bool fitted() const override { return true; }
  absl::StatusOr<std::vector<double>> Predict(const Kernel&,
                                              absl::Span<const Config> configs) const override {
    std::vector<double> predictions;
    for (const Config& config : configs) {
      EXPECT_NE(config.tile(), nullptr);
      predictions.push_back(std::abs(static_cast<double>(config.tile()->output[0]) - center_));
    }
    return predictions;
  }
  absl::Status Fit(absl::Span<const TrainingSample>) override {
    return absl::UnimplementedError("nothing to learn");
  }

 private:
  double center_;
};

ComparisonOptions TestOptions(const std::string& methods, int64_t seeds = 20) {
  ComparisonOptions options;
  options.methods = *ParseSearchMethods(methods);
  options.seeds = seeds;
  return options;
}

ComparisonReport Compare(const ComparisonOptions& options, double center = 7) {
  const DistanceModel model(center);
  const std::vector<NamedModel> models = {{"distance", &model}};
  absl::StatusOr<ComparisonReport> report =
      RunComparison(TestKernels(), TestRecording(), models, options);
  EXPECT_TRUE(report.ok()) << report.status();
  return *std::move(report);
}

TEST(ParseSearchMethodsTest, ReadsStrategiesWithAndWithoutModels) {
  const auto methods = ParseSearchMethods("default, random,genetic+analytical");
  ASSERT_TRUE(methods.ok());
  EXPECT_THAT(*methods, ElementsAre(SearchMethod{"default", ""}, SearchMethod{"random", ""},
                                    SearchMethod{"genetic", "analytical"}));
  EXPECT_EQ((*methods)[2].Name(), "genetic+analytical");
  EXPECT_TRUE(ParseSearchMethods(kDefaultMethods).ok());
}

TEST(ParseSearchMethodsTest, RefusesWhatMakesNoSense) {
  for (const char* list : {"", ",", "default+analytical", "random,random", "simulated", "random+",
                           "model-greedy", "+analytical"}) {
    EXPECT_EQ(ParseSearchMethods(list).status().code(), absl::StatusCode::kInvalidArgument) << list;
  }
  EXPECT_THAT(ParseSearchMethods("simulated").status().ToString(), HasSubstr("annealing"));
}

class RunSearchTest : public ::testing::Test {
 protected:
  SearchRun Run(const std::string& method, SearchRunOptions options = {},
                const CandidateScorer* scorer = nullptr) {
    absl::StatusOr<SearchRun> run =
        RunSearch(kernel_, ParseSearchMethods(method)->front(), scorer, options);
    EXPECT_TRUE(run.ok()) << run.status();
    return *std::move(run);
  }

  const Recording recording_ = TestRecording();
  const ComparedKernel kernel_{
      *recording_.Find(1), TimeSource::kHardware, {.compile_seconds = 2, .repeats = 1000}};
};

TEST_F(RunSearchTest, TheDefaultAloneIsOneMeasurement) {
  const SearchRun run = Run("default");
  EXPECT_THAT(run.best_so_far, ElementsAre(113e-6));
  EXPECT_THAT(run.clock_seconds, ElementsAre(2.113));
}

TEST_F(RunSearchTest, EndsOnceTheBestIsFoundAndNeverGetsWorse) {
  for (const char* method : {"random", "annealing", "genetic", "exhaustive"}) {
    const SearchRun run = Run(method, {.seed = 3});
    ASSERT_FALSE(run.best_so_far.empty()) << method;
    EXPECT_EQ(run.best_so_far.back(), 100e-6) << method;
    EXPECT_LE(run.best_so_far.size(), 40u) << method;
    for (size_t i = 1; i < run.best_so_far.size(); ++i) {
      EXPECT_LE(run.best_so_far[i], run.best_so_far[i - 1]) << method;
      EXPECT_GT(run.clock_seconds[i], run.clock_seconds[i - 1]) << method;
    }
  }
}

TEST_F(RunSearchTest, ExhaustiveFollowsTheRecording) {
  const SearchRun run = Run("exhaustive");
  EXPECT_THAT(run.best_so_far, ElementsAre(106e-6, 105e-6, 104e-6, 103e-6, 102e-6, 101e-6, 100e-6));
}

TEST_F(RunSearchTest, AModelIsFollowedAndAFailureCosts) {
  const auto scorer = TableScorer::Create(DistanceModel(13), *recording_.Find(1));
  ASSERT_TRUE(scorer.ok());
  const SearchRun run = Run("model-greedy+distance", {.exploration = 0}, scorer->get());
  // Tile 13 fails; 12 and 14 are next, and so on down to 7.
  ASSERT_GE(run.best_so_far.size(), 12u);
  EXPECT_EQ(run.best_so_far[0], kInf);
  EXPECT_EQ(run.clock_seconds[0], 2);  // compiled, not run
  EXPECT_EQ(run.best_so_far[2], 105e-6);
  EXPECT_LE(run.best_so_far.size(), 13u);
}

TEST_F(RunSearchTest, TheDefaultCanBeGivenFirst) {
  const SearchRun run = Run("random", {.with_default = true, .seed = 5});
  EXPECT_EQ(run.best_so_far.front(), 113e-6);
  EXPECT_LE(run.best_so_far.size(), 40u) << "the default was measured twice";
}

TEST_F(RunSearchTest, StopsAfterItsMeasurements) {
  EXPECT_EQ(Run("exhaustive", {.max_evaluations = 3}).best_so_far.size(), 3u);
}

TEST_F(RunSearchTest, TheSameSeedGivesTheSameRun) {
  for (const char* method : {"random", "annealing", "genetic"}) {
    EXPECT_EQ(Run(method, {.seed = 11}).best_so_far, Run(method, {.seed = 11}).best_so_far);
  }
  EXPECT_NE(Run("random", {.seed = 11}).best_so_far, Run("random", {.seed = 12}).best_so_far);
}

TEST(AssessModelTest, CountsOnlyWhatHasATime) {
  const Recording recording = TestRecording();
  std::vector<double> predictions(40);
  for (size_t i = 0; i < 40; ++i) predictions[i] = std::abs(static_cast<double>(i + 1) - 9);
  predictions[39] = kInf;
  const std::vector<int64_t> top_k = {1, 3};
  const auto accuracy =
      AssessModel("m", PredictionUnit::kRankScore, *recording.Find(1), predictions, top_k);
  ASSERT_TRUE(accuracy.has_value());
  EXPECT_EQ(accuracy->points.size(), 39u);
  EXPECT_EQ(accuracy->refused, 1);
  EXPECT_EQ(accuracy->chosen_seconds, 102e-6);
  EXPECT_NEAR(accuracy->top_k[0].error, 0.02, 1e-12);
  EXPECT_NEAR(accuracy->top_k[1].error, 0.01, 1e-12);  // 9, then 10 or 8
  EXPECT_GT(accuracy->kendall_tau.value_or(0), 0.8);
  EXPECT_LT(accuracy->kendall_tau.value_or(1), 1.0);
}

TEST(AssessModelTest, SaysNothingOfAKernelThatItRefuses) {
  const Recording recording = TestRecording();
  const std::vector<double> predictions(40, kInf);
  EXPECT_FALSE(AssessModel("m", PredictionUnit::kRankScore, *recording.Find(1), predictions, {})
                   .has_value());
}

TEST(RunComparisonTest, APerfectModelIsRightAtOnce) {
  ComparisonOptions options = TestOptions("default,random,model-greedy+distance");
  options.exploration = 0;
  const ComparisonReport report = Compare(options);
  ASSERT_EQ(report.kernels.size(), 3u);
  const KernelComparison& fusion = report.kernels[0];
  EXPECT_EQ(fusion.configs, 40);
  EXPECT_EQ(fusion.failures, 1);
  EXPECT_EQ(fusion.count, 4);
  EXPECT_EQ(fusion.best_config, TileOf(7).Key());

  const MethodResult& greedy = fusion.methods[2];
  EXPECT_EQ(greedy.runs, 20);
  EXPECT_EQ(greedy.evaluations_to_within[1].median, 1);
  EXPECT_EQ(greedy.evaluations_to_within[1].reached, 20);
  EXPECT_EQ(greedy.slowdown_after_evaluations[0].p90, 1);
  ASSERT_EQ(fusion.models.size(), 1u);
  EXPECT_EQ(fusion.models[0].kendall_tau, 1);

  // 113 us is never within 5 % of 100 us, and no second measurement follows.
  const MethodResult& compiler = fusion.methods[0];
  EXPECT_EQ(compiler.evaluations_to_within[0].reached, 0);
  EXPECT_EQ(compiler.evaluations_to_within[0].median, std::nullopt);
  EXPECT_NEAR(*compiler.slowdown_after_evaluations[4].median, 1.13, 1e-12);

  EXPECT_EQ(fusion.methods[1].evaluations_to_within[1].reached, 20);
  EXPECT_GT(*fusion.methods[1].evaluations_to_within[1].median, 1);
}

TEST(RunComparisonTest, TotalsWeighKernelsAndLeaveOpaqueOnesOut) {
  ComparisonOptions options = TestOptions("default,model-greedy+distance");
  options.exploration = 0;
  const ComparisonReport report = Compare(options);
  // (4 x 113 + 20) / (4 x 100 + 10).
  EXPECT_NEAR(*report.overall[0].slowdown_after_evaluations[0].median, 472.0 / 410, 1e-12);
  // One measurement each: tile 2 of copy.2, the faster one, is nearer to 7.
  EXPECT_EQ(report.overall[1].evaluations_to_within[0].median, 2);
  EXPECT_NEAR(
      *report.overall[1].seconds_to_within[0].median,
      2 * options.clock.compile_seconds + static_cast<double>(options.clock.repeats) * 110e-6,
      1e-9);

  const KernelComparison& opaque = report.kernels[2];
  EXPECT_TRUE(opaque.opaque);
  EXPECT_TRUE(opaque.models.empty());
  EXPECT_EQ(opaque.methods[0].runs, 20);
  EXPECT_EQ(opaque.methods[1].runs, 0);
  ASSERT_EQ(report.models.size(), 1u);
  EXPECT_EQ(report.models[0].kernels, 2);
  EXPECT_NEAR(*report.models[0].tile_size_ape, 0, 1e-12);
}

TEST(RunComparisonTest, TileSizeApeAndTopKOfAModelThatErrs) {
  const ComparisonReport report = Compare(TestOptions("default"), /*center=*/1);
  // It chooses tile 1 of both kernels: 106 instead of 100 us, and 20 instead of 10 us.
  EXPECT_NEAR(*report.models[0].tile_size_ape, 100 * 16.0 / 110, 1e-9);
  EXPECT_NEAR(report.models[0].mean_top_k[0].error, (0.06 + 1) / 2, 1e-12);
  EXPECT_NEAR(report.models[0].mean_top_k[2].error, 0, 1e-12);
}

TEST(RunComparisonTest, DoesNotDependOnTheNumberOfThreads) {
  ComparisonOptions options = TestOptions("random,annealing,genetic+distance", 4);
  std::vector<std::string> texts;
  for (int jobs : {1, 2, 7}) {
    options.jobs = jobs;
    ComparisonReport report = Compare(options);
    report.wall_seconds = 0;
    texts.push_back(ComparisonToJson(report).dump());
  }
  EXPECT_EQ(texts[0], texts[1]);
  EXPECT_EQ(texts[0], texts[2]);
}

TEST(RunComparisonTest, SaysWhatWasLookedFor) {
  const std::vector<Kernel> kernels = {KernelNamed("dot.9", 99)};
  const auto report = RunComparison(kernels, TestRecording(), {}, TestOptions("random"));
  EXPECT_EQ(report.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(report.status().ToString(), HasSubstr("dot.9"));
  EXPECT_THAT(report.status().ToString(), HasSubstr("fusion.1, copy.2, opaque.3"));
}

TEST(RunComparisonTest, AKernelWithoutARecordIsAWarning) {
  std::vector<Kernel> kernels = TestKernels();
  kernels.push_back(KernelNamed("dot.9", 99));
  const auto report = RunComparison(kernels, TestRecording(), {}, TestOptions("random"));
  ASSERT_TRUE(report.ok());
  EXPECT_THAT(report->warnings[0], HasSubstr("dot.9"));
  EXPECT_EQ(report->kernels.size(), 3u);
}

TEST(RunComparisonTest, RefusesWhatMakesNoSense) {
  const Recording recording = TestRecording();
  auto code = [&](const ComparisonOptions& options) {
    return RunComparison(TestKernels(), recording, {}, options).status().code();
  };
  EXPECT_EQ(code(TestOptions("genetic+unknown")), absl::StatusCode::kInvalidArgument);
  EXPECT_EQ(code(TestOptions("random", 0)), absl::StatusCode::kInvalidArgument);
  ComparisonOptions options = TestOptions("random");
  options.max_evaluations = 0;
  EXPECT_EQ(code(options), absl::StatusCode::kInvalidArgument);
  options = TestOptions("random");
  options.clock.compile_seconds = -1;
  EXPECT_EQ(code(options), absl::StatusCode::kInvalidArgument);
}

TEST(RunComparisonTest, CanBeStopped) {
  ComparisonOptions options = TestOptions("random");
  options.progress = [](int64_t done, int64_t /*total*/) { return done < 5; };
  EXPECT_EQ(RunComparison(TestKernels(), TestRecording(), {}, options).status().code(),
            absl::StatusCode::kCancelled);
}

TEST(ComparisonToTextTest, ShowsEveryKernelAndMethodAndWhatNeverHappened) {
  const ComparisonReport report = Compare(TestOptions("default,random,annealing+distance"));
  const std::string text = ComparisonToText(report);
  for (const char* part :
       {"fusion.1", "copy.2", "opaque.3", "annealing+distance", "HARDWARE RECORDING", "0/20",
        "- / -", "Over all: 2 kernels", "Tile-Size APE", "cannot rank these"}) {
    EXPECT_THAT(text, HasSubstr(part));
  }
  EXPECT_THAT(text, Not(HasSubstr("inf")));
}

TEST(ComparisonToTextTest, CallsAnEstimateAnEstimate) {
  ComparisonReport report = Compare(TestOptions("default"));
  report.time_source = TimeSource::kEstimate;
  EXPECT_THAT(ComparisonToText(report), HasSubstr("ESTIMATE"));
  EXPECT_THAT(ComparisonToText(report), Not(HasSubstr("HARDWARE")));
}

TEST(ComparisonToJsonTest, HoldsEverythingWithNullForNever) {
  const nlohmann::json json = ComparisonToJson(Compare(TestOptions("default,random")));
  EXPECT_EQ(json["schema"], "autotune.compare/1");
  EXPECT_EQ(json["kernels"].size(), 3u);
  const auto& compiler = json["kernels"][0]["methods"][0];
  EXPECT_TRUE(compiler["evaluations_to_within"][0]["median"].is_null());
  EXPECT_EQ(compiler["evaluations_to_within"][0]["reached"], 0);
  EXPECT_EQ(json["kernels"][0]["models"][0]["points"].size(), 39u);
  EXPECT_EQ(json["kernels"][0]["fingerprint"], "0000000000000001");
}

}  // namespace
}  // namespace autotune
