#include "tuner/fusion_tuner.h"

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo/fusion_inline.h"
#include "hlo/parser.h"
#include "hlo/read_module.h"
#include "nlohmann/json.hpp"
#include "search/fusion_groups.h"
#include "tuner/fusion_picture.h"
#include "tuner/fusion_render.h"

namespace autotune {
namespace {

using ::testing::HasSubstr;

constexpr char kProgram[] = R"(HloModule chain
ENTRY e {
  x = f32[1024,1024] parameter(0)
  a = f32[1024,1024] negate(x)
  b = f32[1024,1024] abs(a)
  c = f32[1024,1024] exponential(b)
  d = f32[1024,1024] tanh(c)
  e1 = f32[1024,1024] multiply(d, a)
  ROOT f = f32[1024,1024] add(e1, b)
})";

FusionGraph Graph() {
  absl::StatusOr<FusionGraph> graph = InlinedFusionGraph(**ParseHloText(kProgram));
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

// A compiler that makes exactly the expected groups, and times that are faster by a factor for
// groups of at most two operations in one estimate and, unless `disagree`, in the others.
class FakeCompiler {
 public:
  FakeCompiler(const FusionGraph* graph, bool disagree) : graph_(*graph), disagree_(disagree) {
    outline_ = PredictOutline(graph_);
    outline_.fused[1] = false;  // which the compiler never fuses
  }

  FusionMeasure Measure() {
    return [this](const FusionDecision& decision)
               -> absl::StatusOr<std::variant<FusionCompilation, Failure>> {
      ++compilations_;
      FusionGroups groups(&graph_, &outline_);
      groups.Flip(std::vector<int32_t>(decision.cuts.begin(), decision.cuts.end()));
      FusionCompilation compiled;
      for (int32_t root = 0; root < graph_.node_count(); ++root) {
        if (groups.Members(root).empty()) continue;
        FusionKernel kernel;
        kernel.realised.nodes = groups.Members(root);
        std::sort(kernel.realised.nodes.begin(), kernel.realised.nodes.end());
        const double size = static_cast<double>(kernel.realised.nodes.size());
        kernel.once = {size * size * 1e-6, (disagree_ ? 10 - size : size * size) * 1e-6,
                       size * size * 1e-6};
        compiled.total += kernel.once;
        compiled.grouping.kernels.push_back(kernel.realised);
        compiled.kernels.push_back(std::move(kernel));
      }
      compiled.key = compiled.grouping.Key();
      return compiled;
    };
  }

  int compilations() const { return compilations_; }

 private:
  const FusionGraph& graph_;
  const bool disagree_;
  FusionOutline outline_;
  int compilations_ = 0;
};

FusionTuning Tune(const FusionGraph& graph, FakeCompiler& compiler, FusionTunerOptions options) {
  auto tuning = TuneFusion(graph, "chain", *FindDeviceSpec("v3"), compiler.Measure(), options);
  EXPECT_TRUE(tuning.ok()) << tuning.status();
  return *std::move(tuning);
}

TEST(FusionTunerTest, FindsTheBestAndConfirmsIt) {
  const FusionGraph graph = Graph();
  FakeCompiler compiler(&graph, /*disagree=*/false);
  const FusionTuning tuning = Tune(graph, compiler, {.budget = 40, .seed = 1});
  EXPECT_LE(tuning.compilations, 40);
  EXPECT_EQ(tuning.compilations, compiler.compilations());
  // Every operation alone is the best: six kernels of one microsecond.
  EXPECT_NEAR(tuning.fastest.total.schedule, 6e-6, 1e-12);
  EXPECT_LT(tuning.comparison.change.schedule, -0.5);
  EXPECT_FALSE(tuning.unsettled);
  EXPECT_TRUE(tuning.confirmed);
  EXPECT_EQ(tuning.Chosen().decision, tuning.fastest.decision);
  // Also the one edge that it never fuses: its producer is computed again in the same kernel.
  EXPECT_EQ(tuning.fused_edges, 7);
  EXPECT_TRUE(std::is_sorted(tuning.best_so_far.rbegin(), tuning.best_so_far.rend()));
}

TEST(FusionTunerTest, StepByStepItFindsTheBestToo) {
  const FusionGraph graph = Graph();
  FakeCompiler compiler(&graph, /*disagree=*/false);
  const FusionTuning tuning =
      Tune(graph, compiler, {.budget = 40, .strategy = "model-greedy", .top_k = 1, .seed = 1});
  EXPECT_NEAR(tuning.fastest.total.schedule, 6e-6, 1e-12);
  // One cut at a time in a kernel, and all of this chain but one operation is one kernel.
  EXPECT_EQ(tuning.recording.entries()[1].decision.cuts.size(), 1);
  EXPECT_EQ(tuning.foreseen, 0);  // it proposes only what is open
}

// Eight chains of three operations, a kernel each: one compilation tries a cut in each.
TEST(FusionTunerTest, AllKernelsAreTriedAtOnce) {
  std::string text = "HloModule chains\nENTRY e {\n", results, shapes;
  for (int i = 0; i < 8; ++i) {
    absl::StrAppend(&text, "  x", i, " = f32[1024,1024] parameter(", i, ")\n  a", i,
                    " = f32[1024,1024] negate(x", i, ")\n  b", i, " = f32[1024,1024] abs(a", i,
                    ")\n  c", i, " = f32[1024,1024] tanh(b", i, ")\n");
    absl::StrAppend(&results, i > 0 ? ", " : "", "c", i);
    absl::StrAppend(&shapes, i > 0 ? ", " : "", "f32[1024,1024]");
  }
  absl::StrAppend(&text, "  ROOT r = (", shapes, ") tuple(", results, ")\n}\n");
  auto parsed = ParseHloText(text);
  ASSERT_TRUE(parsed.ok()) << parsed.status();
  auto graph = InlinedFusionGraph(**parsed);
  ASSERT_TRUE(graph.ok()) << graph.status();
  ASSERT_EQ(graph->edge_count(), 16);
  FakeCompiler compiler(&*graph, /*disagree=*/false);
  const FusionTuning tuning =
      Tune(*graph, compiler, {.budget = 4, .strategy = "model-greedy", .confirm = false});
  EXPECT_EQ(tuning.recording.entries()[1].decision.cuts.size(), 8);
  EXPECT_NEAR(tuning.base.total.schedule, 68e-6, 1e-12);
  EXPECT_NEAR(tuning.fastest.total.schedule, 24e-6, 1e-12);  // all alone: the best there is
}

TEST(FusionTunerTest, TheDefaultIsFirstAndTheBudgetHolds) {
  const FusionGraph graph = Graph();
  for (int64_t budget : {1, 2, 3, 7}) {
    FakeCompiler compiler(&graph, false);
    const FusionTuning tuning = Tune(graph, compiler, {.budget = budget});
    EXPECT_LE(compiler.compilations(), budget);
    EXPECT_EQ(tuning.recording.entries().front().decision, FusionDecision{});
  }
}

TEST(FusionTunerTest, DisagreementKeepsTheDefault) {
  const FusionGraph graph = Graph();
  FakeCompiler compiler(&graph, /*disagree=*/true);
  const FusionTuning tuning = Tune(graph, compiler, {.budget = 40});
  EXPECT_LT(tuning.fastest.total.schedule, tuning.base.total.schedule);
  EXPECT_GT(tuning.fastest.total.bundles, tuning.base.total.bundles);
  EXPECT_TRUE(tuning.unsettled);
  EXPECT_EQ(tuning.Chosen().decision, FusionDecision{});
  EXPECT_THAT(FusionTuningText(graph, tuning, "tpu-v3"), HasSubstr("UNSETTLED"));
}

// Whatever is answered without compiling, compiling would have answered the same.
TEST(FusionTunerTest, ForeseenGroupingsAreRight) {
  const FusionGraph graph = Graph();
  FakeCompiler compiler(&graph, false);
  for (const char* strategy : {"random", "annealing"}) {
    const FusionTuning tuning =
        Tune(graph, compiler, {.budget = 1000, .strategy = strategy, .seed = 3});
    EXPECT_GT(tuning.proposals, tuning.compilations);
    EXPECT_EQ(tuning.proposals, tuning.foreseen + tuning.compilations - 2) << strategy;
    std::vector<double> all;
    for (const FusionEntry& entry : tuning.recording.entries()) {
      all.push_back(entry.total.schedule);
    }
    EXPECT_NEAR(*std::min_element(all.begin(), all.end()), 6e-6, 1e-12) << strategy;
  }
}

TEST(FusionTunerTest, TheSameSeedGivesTheSameRun) {
  const FusionGraph graph = Graph();
  FakeCompiler compiler(&graph, false);
  const FusionTunerOptions options{.budget = 12, .seed = 5};
  EXPECT_EQ(Tune(graph, compiler, options).recording.Serialize(),
            Tune(graph, compiler, options).recording.Serialize());
}

TEST(FusionTunerTest, AReplayTakesTheSameCourse) {
  const FusionGraph graph = Graph();
  FakeCompiler compiler(&graph, false);
  const FusionTuning live = Tune(graph, compiler, {.budget = 30, .seed = 2});
  FusionTunerOptions options{.budget = 30, .seed = 9, .confirm = false};
  for (const FusionEntry& entry : live.recording.entries()) options.only.push_back(entry.decision);
  auto replay =
      TuneFusion(graph, "chain", *FindDeviceSpec("v3"), ReplayFusions(&live.recording), options);
  ASSERT_TRUE(replay.ok()) << replay.status();
  EXPECT_EQ(replay->fastest.total.schedule, live.fastest.total.schedule);
}

TEST(FusionTunerTest, RendersForPeopleAndPrograms) {
  const FusionGraph graph = Graph();
  FakeCompiler compiler(&graph, false);
  const FusionTuning tuning = Tune(graph, compiler, {.budget = 40, .seed = 1});
  const std::string text = FusionTuningText(graph, tuning, "tpu-v3");
  EXPECT_THAT(text, HasSubstr("ESTIMATES for tpu-v3"));
  EXPECT_THAT(text, HasSubstr("Confirmed by compiling the whole program again."));
  const nlohmann::json json = FusionTuningJson(graph, tuning, "tpu-v3");
  EXPECT_EQ(json.at("schema"), "autotune.fusion/1");
  EXPECT_EQ(json.at("fastest").at("cuts").size(), json.at("fastest").at("edges").size());
  const BestConfig best = FusionBestConfig(graph, tuning, "p.hlo", "tpu-v3", "1");
  auto read = BestConfig::FromJson(best.ToJson());
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->kernels[0].config->fusion()->cuts, tuning.fastest.decision.cuts);
}

TEST(FusionRenderTest, GroupsAsTextAndGraph) {
  const FusionGraph graph = Graph();
  const FusionScorer scorer(&graph, PredictOutline(graph), *FindDeviceSpec("v3"));
  const std::string text = FusionGroupsText(graph, scorer, {}, "tpu-v3", 0);
  EXPECT_THAT(text,
              HasSubstr("ESTIMATE for tpu-v3; no time was measured.\n7 fusible edges; 1 group, "));
  EXPECT_THAT(text, HasSubstr("c -> d  analytical +"));
  const std::string dot = FusionGroupsDot(graph, scorer, FusionDecision{{2}}, "tpu-v3");
  EXPECT_THAT(dot, HasSubstr("style=dashed"));
  EXPECT_EQ(std::count(dot.begin(), dot.end(), '{'), std::count(dot.begin(), dot.end(), '}'));
}

// A larger budget goes on where a smaller one ended.
TEST(FusionTunerTest, TheCourseDoesNotDependOnTheBudget) {
  const FusionGraph graph = Graph();
  FakeCompiler compiler(&graph, false);
  const FusionTuning small = Tune(graph, compiler, {.budget = 6, .seed = 5, .confirm = false});
  const FusionTuning large = Tune(graph, compiler, {.budget = 14, .seed = 5, .confirm = false});
  ASSERT_EQ(small.recording.entries().size(), 6);
  ASSERT_GE(large.recording.entries().size(), 6);
  for (size_t i = 0; i < 6; ++i) {
    EXPECT_EQ(small.recording.entries()[i].decision, large.recording.entries()[i].decision);
  }
  EXPECT_GE(small.predicted_gain, 0);
  EXPECT_LE(small.predicted_gain, 1);
}

TEST(FusionTunerTest, TheWinnerIsConfirmedWithWhatIsGivenForIt) {
  const FusionGraph graph = Graph();
  FakeCompiler compiler(&graph, false);
  int asked = 0;
  FusionTunerOptions options{.budget = 20, .seed = 1};
  options.confirm_with = [&](const FusionDecision& decision) {
    ++asked;
    auto answer = compiler.Measure()(decision);
    std::get<FusionCompilation>(*answer).total.schedule *= 1.1;
    return answer;
  };
  const FusionTuning tuning = Tune(graph, compiler, options);
  EXPECT_EQ(asked, 1);
  EXPECT_FALSE(tuning.confirmed);  // the whole program takes longer than its kernels promised
}

// The bar of the MLP block on its enumeration: budget 60 reaches the best within 0.5 %.
class MlpBlockTest : public ::testing::TestWithParam<const char*> {};

TEST_P(MlpBlockTest, SixtyCompilationsReachTheBestOfTheEnumeration) {
  const std::string directory = AUTOTUNE_SOURCE_DIR "/examples/mlp_block/";
  const std::string path = directory + "fusions_" + GetParam() + ".jsonl.gz";
  auto recording = FusionRecording::Load(path);
  ASSERT_TRUE(recording.ok()) << recording.status();
  auto read = ReadModuleFile(directory + "mlp_block.hlo");
  ASSERT_TRUE(read.ok());
  auto graph = InlinedFusionGraph(*read->module);
  ASSERT_TRUE(graph.ok());
  ASSERT_EQ(FusionFingerprint(*graph), recording->origin().fingerprint);
  FusionTunerOptions options{.budget = 60, .confirm = false};
  double best = 1;
  for (const FusionEntry& entry : recording->entries()) {
    options.only.push_back(entry.decision);
    if (!entry.failure.has_value()) best = std::min(best, entry.total.schedule);
  }
  for (const char* strategy : {"model-greedy", "annealing", "genetic"}) {
    for (uint64_t seed : {1, 2, 3, 4, 5}) {
      options.strategy = strategy;
      options.seed = seed;
      auto tuning = TuneFusion(*graph, "mlp_block", *FindDeviceSpec(recording->origin().device),
                               ReplayFusions(&*recording), options);
      ASSERT_TRUE(tuning.ok()) << tuning.status();
      EXPECT_LE(tuning->compilations, 60);
      EXPECT_LE(tuning->fastest.total.schedule, best * 1.005) << strategy << " " << seed;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Targets, MlpBlockTest, ::testing::Values("v3", "v5e"));

}  // namespace
}  // namespace autotune
