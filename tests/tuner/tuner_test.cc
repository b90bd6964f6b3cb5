#include "tuner/tuner.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/tuner/tuning_fixture.h"

namespace autotune {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(TunerTest, FindsTheBestOfTheExampleWithAPerfectModel) {
  const TuningReport report = TunerSetup(40, std::make_shared<OracleModel>()).Tune();
  EXPECT_EQ(report.outcome, RunOutcome::kDone);
  EXPECT_LE(report.measurements, 40);
  EXPECT_EQ(report.kernels.size(), 10u);
  const KernelReport& fusion = FindKernel(report, "fusion.191");
  EXPECT_NEAR(fusion.compiler_default->measurement.MedianSeconds(), 151565e-9, 1e-12);
  EXPECT_NEAR(fusion.best->measurement.MedianSeconds(), 137344e-9, 1e-12);
  EXPECT_NEAR(*fusion.Speedup(), 151565.0 / 137344, 1e-9);
  EXPECT_NEAR(report.Total("best found")->seconds, report.Total("best known")->seconds,
              0.01 * report.Total("best known")->seconds);
}

TEST(TunerTest, NeverMeasuresPastTheBudget) {
  for (int64_t budget : {0, 1, 7, 10, 11, 40}) {
    TunerSetup setup(budget, std::make_shared<OracleModel>(0.5));
    auto tuner = *Tuner::Create(std::move(setup.parts), setup.options);
    const TuningReport report = tuner->Tune(setup.task);
    EXPECT_EQ(setup.backend->asked, budget);
    EXPECT_EQ(report.measurements, budget);
    int64_t spent = 0;
    for (const KernelReport& kernel : report.kernels) spent += kernel.measurements;
    EXPECT_EQ(spent, budget);
  }
}

TEST(TunerTest, ZeroBudgetGivesTheRecordedDefaults) {
  const TuningReport report = TunerSetup(0).Tune();
  EXPECT_EQ(report.outcome, RunOutcome::kDone);
  EXPECT_NEAR(FindKernel(report, "fusion.232").compiler_default->measurement.MedianSeconds(),
              57.2e-6, 0.05e-6);
  EXPECT_FALSE(FindKernel(report, "fusion.232").best.has_value());
}

TEST(TunerTest, DefaultsAreMeasuredFirst) {
  const TuningReport report = TunerSetup(44).Tune();
  std::set<size_t> kernels;
  for (size_t i = 0; i < 10; ++i) {
    EXPECT_EQ(report.candidates[i].role, CandidateRole::kDefault);
    kernels.insert(report.candidates[i].kernel);
  }
  EXPECT_EQ(kernels.size(), 10u);
  EXPECT_EQ(report.candidates[10].role, CandidateRole::kSearch);
}

// Of a budget that is small for so many kernels most goes to the search; what it finds always has
// the kernel's default, measured before, to be compared with.
TEST(TunerTest, ASmallBudgetMeasuresTheDefaultsOfTheKernelsThatItSearches) {
  const TuningReport report = TunerSetup(12).Tune();
  EXPECT_EQ(report.candidates[2].role, CandidateRole::kDefault);
  EXPECT_EQ(report.measurements, 12);
  std::set<size_t> with_default;
  size_t searched = 0;
  for (const CandidateOutcome& candidate : report.candidates) {
    if (candidate.role == CandidateRole::kDefault) with_default.insert(candidate.kernel);
    if (candidate.role != CandidateRole::kSearch || candidate.fate != Fate::kMeasured) continue;
    ++searched;
    EXPECT_TRUE(with_default.contains(candidate.kernel)) << candidate.kernel;
  }
  EXPECT_GE(searched, 5u);
  EXPECT_LT(with_default.size(), 8u);
}

// A quarter of the seconds, and what the round in which they ran out took.
TEST(TunerTest, DefaultsLeaveMostOfASmallBudgetOfSecondsToTheSearch) {
  TunerSetup setup(1000);
  setup.options.budget.reset();
  setup.options.budget_seconds = 6;
  setup.options.top_k = 2;
  setup.options.clock = {.compile_seconds = 1.0, .repeats = 10};
  const TuningReport report = setup.Tune();
  EXPECT_LE(report.measurements, 6 + 4);
  const auto searched = std::count_if(
      report.candidates.begin(), report.candidates.end(), [](const CandidateOutcome& candidate) {
        return candidate.role == CandidateRole::kSearch && candidate.fate == Fate::kMeasured;
      });
  EXPECT_GE(searched, 1);
}

TEST(TunerTest, EndsWhenEverySpaceIsExhausted) {
  const TuningReport report = TunerSetup(100000).Tune();
  EXPECT_EQ(report.outcome, RunOutcome::kDone);
  size_t recorded = 0;
  for (const RecordedKernel& kernel : ExampleRecording().kernels()) {
    recorded += kernel.configs().size();
  }
  EXPECT_EQ(report.measurements, static_cast<int64_t>(recorded));
  for (const KernelReport& kernel : report.kernels) {
    const double best = kernel.best->measurement.MedianSeconds();
    const double known = kernel.best_known->measurement.MedianSeconds();
    EXPECT_LE(best, known * 1.01) << kernel.name;
  }
  EXPECT_EQ(FindKernel(report, "fusion.191").failures.size(), 1u);
  EXPECT_EQ(FindKernel(report, "fusion.191").failures[0].kind, FailureKind::kRecordedFailure);
}

TEST(TunerTest, NoConfigurationIsMeasuredTwiceUnderReplay) {
  const TuningReport report = TunerSetup(200, std::make_shared<OracleModel>(0.3)).Tune();
  std::set<std::pair<size_t, std::string>> seen;
  for (const CandidateOutcome& outcome : report.candidates) {
    if (outcome.fate != Fate::kMeasured) continue;
    EXPECT_TRUE(seen.insert({outcome.kernel, outcome.config.Key()}).second);
  }
  EXPECT_EQ(seen.size(), 200u);
}

TEST(TunerTest, SameSeedSameRun) {
  const TuningReport a = TunerSetup(60, std::make_shared<OracleModel>(0.4)).Tune();
  const TuningReport b = TunerSetup(60, std::make_shared<OracleModel>(0.4)).Tune();
  ASSERT_EQ(a.candidates.size(), b.candidates.size());
  for (size_t i = 0; i < a.candidates.size(); ++i) {
    EXPECT_EQ(a.candidates[i].kernel, b.candidates[i].kernel);
    EXPECT_EQ(a.candidates[i].config.Key(), b.candidates[i].config.Key());
  }
}

TEST(TunerTest, BudgetGoesToTheKernelsThatPromiseMost) {
  const TuningReport report = TunerSetup(60, std::make_shared<OracleModel>(0.3)).Tune();
  const int64_t large = FindKernel(report, "fusion.191").measurements;
  // copy.24 takes 4 us of the program's 640 us and fusion.191 a quarter of it.
  EXPECT_GT(large, 3 * FindKernel(report, "copy.24").measurements);
}

TEST(TunerTest, NothingMoreGoesToAKernelAtItsRoofline) {
  TunerSetup setup(60, std::make_shared<OracleModel>(0.3));
  setup.parts.roofline_of = [](const Kernel& kernel) {
    return kernel.name == "fusion.191"
               ? *ExampleRecording().Find(kernel.fingerprint)->Default()->MedianSeconds()
               : 0;
  };
  const TuningReport report = setup.Tune();
  EXPECT_EQ(FindKernel(report, "fusion.191").measurements, 1);  // its default
}

TEST(TunerTest, ARunWhoseKernelsAreAtTheirRooflineEndsAndSaysSo) {
  TunerSetup setup(1000, std::make_shared<OracleModel>(0.3));
  setup.parts.roofline_of = [](const Kernel& kernel) {
    const RecordedConfig* own = ExampleRecording().Find(kernel.fingerprint)->Default();
    return own != nullptr ? *own->MedianSeconds() / 1.005 : 0;
  };
  const TuningReport report = setup.Tune();
  EXPECT_EQ(report.outcome, RunOutcome::kDone);
  EXPECT_EQ(FindKernel(report, "fusion.191").measurements, 1);
  EXPECT_THAT(report.warnings, Contains(HasSubstr("at the roofline")));
}

TEST(TunerTest, OpaqueKernelsAreSearchedWithoutAModelAndMarked) {
  const TuningReport report = TunerSetup(60, std::make_shared<OracleModel>()).Tune();
  const KernelReport& reshape = FindKernel(report, "reshape.37");
  EXPECT_TRUE(reshape.opaque);
  EXPECT_TRUE(reshape.model_choices.empty());
  EXPECT_THAT(reshape.space, HasSubstr("opaque"));
  EXPECT_NEAR(reshape.best->measurement.MedianSeconds(), 238068e-9, 1e-12);
}

TEST(TunerTest, ABrokenBackendKeepsWhatWasFound) {
  TunerSetup setup(60);
  setup.backend->breaks_after = 20;
  const TuningReport report = setup.Tune();
  EXPECT_EQ(report.outcome, RunOutcome::kFailed);
  EXPECT_EQ(report.error, "the device is gone");
  EXPECT_NEAR(FindKernel(report, "fusion.191").compiler_default->measurement.MedianSeconds(),
              151565e-9, 1e-12);
  EXPECT_GE(report.candidates.size(), 20u);
}

TEST(TunerTest, InterruptionStopsBetweenBatches) {
  TunerSetup setup(60);
  CountingBackend* backend = setup.backend;
  setup.parts.interrupted = [backend] { return backend->asked >= 20; };
  const TuningReport report = setup.Tune();
  EXPECT_EQ(report.outcome, RunOutcome::kInterrupted);
  EXPECT_GE(report.measurements, 20);
  EXPECT_LT(report.measurements, 60);
}

TEST(TunerTest, FinalistsAreConfirmedOnHardware) {
  TunerSetup setup(60, std::make_shared<OracleModel>(), "pjrt");
  const TuningReport report = setup.Tune();
  EXPECT_EQ(report.measurements, 60);
  std::vector<std::string> confirmed;
  for (const CandidateOutcome& outcome : report.candidates) {
    if (outcome.role == CandidateRole::kConfirmation) {
      confirmed.push_back(report.kernels[outcome.kernel].name);
    }
  }
  // fusion.191 alone leaves its default by more than the tie window and more than reshape.37.
  ASSERT_GE(confirmed.size(), 2u);
  EXPECT_EQ(confirmed[0], confirmed[1]);
  EXPECT_EQ(FindKernel(report, "fusion.191").best->measurement.samples().size(), 2u);
  EXPECT_EQ(FindKernel(report, "fusion.191").compiler_default->measurement.samples().size() % 2,
            0u);
}

// Whatever is left at the end: each kernel that is confirmed is so together with its default.
TEST(TunerTest, ConfirmationComesInPairs) {
  for (int64_t budget = 11; budget < 40; ++budget) {
    const TuningReport report =
        TunerSetup(budget, std::make_shared<OracleModel>(0.2), "pjrt").Tune();
    EXPECT_LE(report.measurements, budget);
    std::map<size_t, std::set<std::string>> confirmed;
    for (const CandidateOutcome& outcome : report.candidates) {
      if (outcome.role != CandidateRole::kConfirmation) continue;
      confirmed[outcome.kernel].insert(outcome.config.Key());
    }
    for (const auto& [kernel, keys] : confirmed) {
      EXPECT_EQ(keys.size(), 2u) << report.kernels[kernel].name << ", budget " << budget;
      EXPECT_TRUE(keys.contains(report.kernels[kernel].compiler_default->config.Key()));
    }
  }
}

// The program names a default that nobody recorded: asking for it would spend a unit on the answer
// "not recorded".
TEST(TunerTest, ADefaultThatIsNotRecordedCostsNothing) {
  Recording recording(ExampleRecording().origin());
  const RecordedKernel* whole = nullptr;
  for (const RecordedKernel& kernel : ExampleRecording().kernels()) {
    if (kernel.kernel().name == "fusion.191") whole = &kernel;
  }
  ASSERT_NE(whole, nullptr);
  Kernel kernel = whole->kernel();
  const TileBounds* chosen = whole->Default()->config.tile();
  ASSERT_NE(chosen, nullptr);
  kernel.compiler_choice = CompilerChoice{.bounds = *chosen};
  RecordedKernel& rest = recording.FindOrAdd(kernel);
  for (const RecordedConfig& config : whole->configs()) {
    if (!config.is_default) rest.Add(config);
  }
  EXPECT_EQ(SpaceFromRecording(kernel, recording).compiler_default, std::nullopt);
  EXPECT_EQ(SpaceFromRecording(kernel, ExampleRecording()).compiler_default,
            whole->Default()->config);

  TunerSetup setup(8, std::make_shared<OracleModel>());
  setup.parts.space_of = [&](const Kernel& k) { return SpaceFromRecording(k, recording); };
  setup.task.kernels = {kernel};
  const TuningReport report = setup.Tune();
  EXPECT_EQ(report.measurements, 8);
  EXPECT_TRUE(report.kernels[0].failures.empty());
  EXPECT_EQ(report.candidates.front().role, CandidateRole::kSearch);
}

TEST(TunerTest, AnUnfittedModelIsReplacedAndTheReportSaysSo) {
  auto unfitted = std::make_shared<OracleModel>();
  unfitted->set_fitted(false);
  TunerSetup setup(20, unfitted);
  setup.parts.baseline = std::make_shared<OracleModel>();
  const TuningReport report = setup.Tune();
  EXPECT_THAT(report.warnings, ElementsAre(HasSubstr("not fitted")));
  EXPECT_EQ(unfitted->fits, 0);
}

TEST(TunerTest, TheModelIsFittedToWhatWasMeasured) {
  auto model = std::make_shared<OracleModel>(0.3);
  TunerSetup(30, model).Tune();
  EXPECT_GE(model->fits, 3);
  EXPECT_GT(model->last_samples, 20);  // all but the opaque ones
  EXPECT_LE(model->last_samples, 30);
}

// Under another name.
class SecondOracle : public OracleModel {
 public:
  using OracleModel::OracleModel;
  absl::string_view name() const override { return "second"; }
};

// The record says what each model thought of a candidate, and only one of them guides the search.
TEST(TunerTest, EveryModelsScoreAndRankAreRecorded) {
  const TuningReport alone = TunerSetup(40, std::make_shared<OracleModel>(0.3)).Tune();
  TunerSetup setup(40, std::make_shared<OracleModel>(0.3));
  setup.parts.baseline = std::make_shared<SecondOracle>();
  const TuningReport both = setup.Tune();
  // The default configurations may come in another order, nothing else.
  using Candidates = std::map<std::pair<size_t, std::string>, const CandidateOutcome*>;
  const auto by_config = [](const TuningReport& report) {
    Candidates candidates;
    for (const CandidateOutcome& outcome : report.candidates) {
      candidates[{outcome.kernel, outcome.config.Key()}] = &outcome;
    }
    return candidates;
  };
  const Candidates guided = by_config(alone);
  ASSERT_EQ(both.candidates.size(), alone.candidates.size());
  int64_t ranked = 0;
  for (const auto& [key, found] : by_config(both)) {
    const CandidateOutcome& candidate = *found;
    ASSERT_TRUE(guided.contains(key)) << "the second one guides nothing";
    EXPECT_EQ(candidate.fate, guided.at(key)->fate);
    if (guided.at(key)->predictions.empty()) {  // opaque
      EXPECT_TRUE(candidate.predictions.empty());
      continue;
    }
    ++ranked;
    ASSERT_EQ(candidate.predictions.size(), 2u) << key.second;
    EXPECT_EQ(candidate.predictions[0].model, "oracle");
    EXPECT_EQ(candidate.predictions[1].model, "second");
    EXPECT_GE(candidate.predictions[1].rank, 0);
    if (!candidate.measurement || !candidate.measurement->ok()) continue;
    EXPECT_NEAR(candidate.predictions[1].score, std::log(candidate.measurement->MedianSeconds()),
                1e-9)
        << "it has no noise";
  }
  EXPECT_GT(ranked, 30);
  // Of what waits at the end, the ranks follow the scores.
  std::map<size_t, std::map<int64_t, double>> by_rank;
  for (const CandidateOutcome& candidate : both.candidates) {
    if (candidate.fate != Fate::kProposed || candidate.predictions.size() < 2) continue;
    by_rank[candidate.kernel][candidate.predictions[1].rank] = candidate.predictions[1].score;
  }
  EXPECT_FALSE(by_rank.empty());
  for (const auto& [kernel, scores] : by_rank) {
    double last = -1e30;
    for (const auto& [rank, score] : scores) {
      EXPECT_GE(score, last) << kernel << " " << rank;
      last = score;
    }
  }
}

TEST(TunerTest, WithoutAGuideTheBaselinesOpinionIsStillRecorded) {
  TunerSetup setup(30);
  setup.parts.baseline = std::make_shared<SecondOracle>();
  int64_t opinions = 0;
  for (const CandidateOutcome& candidate : setup.Tune().candidates) {
    for (const Prediction& prediction : candidate.predictions) {
      EXPECT_EQ(prediction.model, "second");
      ++opinions;
    }
  }
  EXPECT_GT(opinions, 20);
}

TEST(TunerTest, KernelsThatAreNotRecordedAreReported) {
  TunerSetup setup(20);
  setup.parts.space_of = [](const Kernel& kernel) {
    if (kernel.name == "fusion.191") {
      KernelSpace space;
      space.not_tuned = "not in the recording";
      return space;
    }
    return SpaceFromRecording(kernel, ExampleRecording());
  };
  const TuningReport report = setup.Tune();
  EXPECT_EQ(FindKernel(report, "fusion.191").not_tuned, "not in the recording");
  EXPECT_EQ(FindKernel(report, "fusion.191").measurements, 0);
}

// Compiles: estimates for every kernel but fusion.191, which it cannot compile alone.
class OneCannotBeCompiled : public CountingBackend {
 public:
  explicit OneCannotBeCompiled(FailureKind kind) : CountingBackend("aot"), kind_(kind) {
    estimates_ = CountingBackend::capabilities();
    estimates_.time_source = TimeSource::kEstimate;
  }
  const Capabilities& capabilities() const override { return estimates_; }

  absl::StatusOr<std::vector<Measurement>> Measure(
      absl::Span<const Candidate> candidates) override {
    absl::StatusOr<std::vector<Measurement>> results = CountingBackend::Measure(candidates);
    for (size_t i = 0; results.ok() && i < candidates.size(); ++i) {
      if (candidates[i].kernel->name != "fusion.191") continue;
      (*results)[i] = Measurement::FromFailure(kind_, "Invalid input window bounds");
    }
    return results;
  }

 private:
  const FailureKind kind_;
  Capabilities estimates_;
};

// Regression: a kernel that cannot be compiled alone went on taking budget.
TEST(TunerTest, AKernelWhoseOwnTileCannotBeCompiledIsLeftOut) {
  for (FailureKind kind : {FailureKind::kCompileError, FailureKind::kTimeout}) {
    TunerSetup setup(200, nullptr, "aot");
    setup.parts.backend = std::make_unique<OneCannotBeCompiled>(kind);
    const TuningReport report = setup.Tune();
    const KernelReport& kernel = FindKernel(report, "fusion.191");
    if (kind == FailureKind::kTimeout) {  // the next one may be faster to compile
      EXPECT_GT(kernel.measurements, 1);
      continue;
    }
    EXPECT_EQ(kernel.measurements, 1);
    EXPECT_EQ(kernel.not_tuned, "the compiler's own tile fails: compile-error");
    EXPECT_THAT(report.warnings, ::testing::Contains(HasSubstr("Invalid input window bounds")));
    EXPECT_EQ(report.measurements, 1 + 90);  // every configuration of the others
  }
}

TEST(TunerTest, RefusesOptionsThatMakeNoSense) {
  auto refused = [](TunerOptions options, std::shared_ptr<CostModel> model = nullptr) {
    TunerSetup setup(1, std::move(model));
    return std::string(
        Tuner::Create(std::move(setup.parts), std::move(options)).status().message());
  };
  EXPECT_THAT(refused({.strategy = "annealing", .budget = -1}), HasSubstr("-1"));
  EXPECT_THAT(refused({.strategy = "guessing"}), HasSubstr("model-greedy"));
  EXPECT_THAT(refused({.strategy = "model-greedy"}), HasSubstr("needs a model"));
  EXPECT_THAT(refused({.strategy = "annealing", .top_k = 0}), HasSubstr("top-k"));
  EXPECT_THAT(refused({.strategy = "annealing", .exploration = 2}), HasSubstr("exploration"));
}

TEST(TunerTest, SimulatedSecondsLimitReplay) {
  TunerSetup setup(1000);
  setup.options.budget.reset();
  setup.options.budget_seconds = 25;
  setup.options.clock = {.compile_seconds = 1.0, .repeats = 10};
  const TuningReport report = setup.Tune();
  // Each candidate costs a second of compiling and some microseconds of running.
  EXPECT_GE(report.measurements, 25);
  EXPECT_LT(report.measurements, 25 + 8);
  EXPECT_NEAR(report.time.device_compile, static_cast<double>(report.measurements), 1e-9);
}

}  // namespace
}  // namespace autotune
