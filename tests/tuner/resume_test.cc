// A run that stops at any point and is resumed ends where an unbroken one does, and asks the
// backend nothing twice.

#include <signal.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "gtest/gtest.h"
#include "hardware/journaled_store.h"
#include "hardware/record_store.h"
#include "tests/tuner/tuning_fixture.h"
#include "tuner/backend_choice.h"
#include "tuner/tuner.h"

namespace autotune {
namespace {

constexpr int64_t kBudget = 60;

class ResumeTest : public ::testing::TestWithParam<int> {
 protected:
  ResumeTest() {
    path_ = std::filesystem::path(::testing::TempDir()) /
            absl::StrCat("resume_", GetParam(), "_", getpid(), ".db");
    std::filesystem::remove(path_);
  }
  ~ResumeTest() override { std::filesystem::remove(path_); }

  std::unique_ptr<RecordStore> Open() {
    return *RecordStore::Open(absl::StrCat("sqlite:", path_.string()));
  }

  std::filesystem::path path_;
};

std::vector<std::string> Course(const TuningReport& report) {
  std::vector<std::string> course;
  for (const CandidateOutcome& outcome : report.candidates) {
    if (outcome.fate != Fate::kMeasured) continue;
    course.push_back(absl::StrCat(outcome.kernel, " ", outcome.config.Key()));
  }
  return course;
}

TEST_P(ResumeTest, EndsWhereAnUnbrokenRunEnds) {
  const TuningReport unbroken = TunerSetup(kBudget, std::make_shared<OracleModel>(0.3)).Tune();

  TunerSetup first(kBudget, std::make_shared<OracleModel>(0.3));
  first.parts.store = Open();
  CountingBackend* backend = first.backend;
  first.parts.interrupted = [backend] { return backend->asked >= GetParam(); };
  auto first_tuner = *Tuner::Create(std::move(first.parts), first.options);
  const TuningReport stopped = first_tuner->Tune(first.task);
  ASSERT_EQ(stopped.outcome, RunOutcome::kInterrupted);
  const int64_t asked_before = backend->asked;
  first_tuner.reset();

  TunerSetup second(kBudget, std::make_shared<OracleModel>(0.3));
  second.parts.store = Open();
  second.task.resume =
      InterruptedRun{*second.parts.store->GetRun("run"), *second.parts.store->RunCandidates("run")};
  CountingBackend* second_backend = second.backend;
  auto second_tuner = *Tuner::Create(std::move(second.parts), second.options);
  const TuningReport resumed = second_tuner->Tune(second.task);

  EXPECT_EQ(resumed.outcome, RunOutcome::kDone);
  EXPECT_EQ(Course(resumed), Course(unbroken));
  EXPECT_EQ(asked_before + second_backend->asked, kBudget);
  EXPECT_EQ(resumed.Total("best found")->seconds, unbroken.Total("best found")->seconds);
  second_tuner.reset();

  // Each measurement is stored once.
  std::unique_ptr<RecordStore> store = Open();
  int64_t measured = 0;
  const std::vector<CandidateRecord> records = *store->RunCandidates("run");
  for (const CandidateRecord& record : records) {
    measured += record.fate == Fate::kMeasured ? 1 : 0;
  }
  EXPECT_EQ(measured, kBudget);
  EXPECT_EQ(store->GetRun("run")->outcome, "done");
}

// Workers answer in any order: of the last round before the end any part may be there.
TEST_P(ResumeTest, AGapInTheLastRoundChangesNoOrder) {
  const TuningReport unbroken = TunerSetup(kBudget, std::make_shared<OracleModel>(0.3)).Tune();
  TunerSetup first(kBudget, std::make_shared<OracleModel>(0.3));
  first.parts.store = Open();
  CountingBackend* backend = first.backend;
  first.parts.interrupted = [backend] { return backend->asked >= GetParam(); };
  ASSERT_EQ(first.Tune().outcome, RunOutcome::kInterrupted);

  TunerSetup second(kBudget, std::make_shared<OracleModel>(0.3));
  InterruptedRun part{*Open()->GetRun("run"), *Open()->RunCandidates("run")};
  ASSERT_GE(part.candidates.size(), 2u);
  part.candidates.erase(part.candidates.end() - 2);
  second.task.resume = std::move(part);
  EXPECT_EQ(Course(second.Tune()), Course(unbroken));
}

INSTANTIATE_TEST_SUITE_P(AfterMeasurements, ResumeTest, ::testing::Values(1, 10, 11, 25, 42, 59));

// A store in a file of its own.
class StoreTest : public ::testing::Test {
 protected:
  StoreTest() { std::filesystem::remove(path_); }
  ~StoreTest() override { std::filesystem::remove(path_); }

  std::unique_ptr<RecordStore> Open() {
    return *RecordStore::Open(absl::StrCat("sqlite:", path_.string()));
  }

  // Tunes until so many measurements are made, under the name of a backend.
  TuningReport Interrupt(int64_t budget, int64_t after, const std::string& backend) {
    TunerSetup setup(budget, std::make_shared<OracleModel>(0.3), backend);
    setup.parts.store = Open();
    setup.parts.interrupted = [counter = setup.backend, after] { return counter->asked >= after; };
    return setup.Tune();
  }

  // The setup of a run that goes on with it.
  TunerSetup Resume(int64_t budget, const std::string& backend) {
    TunerSetup setup(budget, std::make_shared<OracleModel>(0.3), backend);
    setup.parts.store = Open();
    RecordStore& store = *setup.parts.store;
    setup.task.resume = InterruptedRun{*store.GetRun("run"), *store.RunCandidates("run"),
                                       *LoadDeviceSeconds(store, "run")};
    return setup;
  }

  int64_t Stored(Fate fate) {
    int64_t count = 0;
    const std::vector<CandidateRecord> records = *Open()->RunCandidates("run");
    for (const CandidateRecord& record : records) {
      count += record.fate == fate ? 1 : 0;
    }
    return count;
  }

  const std::filesystem::path path_ =
      std::filesystem::path(::testing::TempDir()) / absl::StrCat("store_", getpid(), ".db");
};

// On a device the time of the first part is not in the measurements; the store keeps it.
TEST_F(StoreTest, DeviceTimeIsChargedAgainWhenARunIsResumed) {
  for (const std::string backend : {"pjrt", "replay"}) {
    const TuningReport first = Interrupt(60, 25, backend);
    ASSERT_EQ(first.outcome, RunOutcome::kInterrupted);
    const double spent = first.progress.back().device_seconds;
    ASSERT_GT(spent, 0);
    EXPECT_DOUBLE_EQ(*LoadDeviceSeconds(*Open(), "run"), spent);

    TunerSetup second = Resume(60, backend);
    second.options.budget_seconds = 0.999 * spent;  // as much as is gone, but for rounding
    CountingBackend* counter = second.backend;
    auto tuner = *Tuner::Create(std::move(second.parts), second.options);
    const TuningReport resumed = tuner->Tune(second.task);
    EXPECT_NEAR(resumed.progress.back().device_seconds, spent, 1e-6 * spent) << backend;
    EXPECT_EQ(counter->asked, 0) << backend;
    EXPECT_EQ(resumed.measurements, first.measurements) << backend;
    std::filesystem::remove(path_);
  }
}

// Another budget cuts rounds in another way; what the first part measured is neither asked again
// nor lost nor free.
TEST_F(StoreTest, WithMoreBudgetNothingIsSpentTwice) {
  for (const std::string backend : {"replay", "pjrt"}) {
    for (const auto& [before, after] : {std::pair{11, 12}, {13, 29}, {18, 60}, {41, 44}}) {
      TunerSetup first(before, std::make_shared<OracleModel>(0.3), backend);
      first.parts.store = Open();
      const int64_t spent = first.Tune().measurements;
      TunerSetup second = Resume(after, backend);
      CountingBackend* counter = second.backend;
      auto tuner = *Tuner::Create(std::move(second.parts), second.options);
      const TuningReport resumed = tuner->Tune(second.task);
      EXPECT_LE(resumed.measurements, after);
      EXPECT_EQ(spent + counter->asked, resumed.measurements) << backend << before << after;
      EXPECT_EQ(Stored(Fate::kMeasured), resumed.measurements);
      std::set<int64_t> sequences;
      for (const CandidateOutcome& outcome : resumed.candidates) {
        EXPECT_TRUE(sequences.insert(outcome.sequence).second) << "reported twice";
      }
      tuner.reset();
      std::filesystem::remove(path_);
    }
  }
}

TEST_F(StoreTest, AFinishedRunThatIsResumedAddsNothing) {
  Interrupt(20, 1000, "replay");
  const int64_t measured = Stored(Fate::kMeasured);
  const int64_t proposed = Stored(Fate::kProposed);
  EXPECT_EQ(measured, 20);
  EXPECT_GT(proposed, 0);
  const TuningReport again = Resume(20, "replay").Tune();
  EXPECT_EQ(again.outcome, RunOutcome::kDone);
  EXPECT_EQ(Stored(Fate::kMeasured), measured);
  EXPECT_EQ(Stored(Fate::kProposed), proposed);
}

TEST_F(StoreTest, ResultsUnderOtherFlagsAreNotReused) {
  TunerSetup first(40);
  first.parts.store = Open();
  first.parts.flags = "recording 1";
  first.Tune();
  EXPECT_EQ(Open()->RunCandidates("run")->front().context.flags, "recording 1");
  for (const auto& [flags, hits] :
       {std::pair<std::string, int64_t>{"recording 1", 10}, {"recording 2", 0}}) {
    TunerSetup second(0);
    second.parts.store = Open();
    second.parts.flags = flags;
    second.task.run.id = flags;
    EXPECT_EQ(second.Tune().store_hits, hits) << flags;
  }
}

// What must agree is the user's choice: by default all of it.
TEST_F(StoreTest, ALooseMatchReusesOtherVersionsAndSaysSo) {
  TunerSetup first(40);
  first.parts.store = Open();
  first.parts.flags = "recording 1";
  first.Tune();
  for (const VersionMatch match : {VersionMatch::kStrict, VersionMatch::kLoose}) {
    TunerSetup second(0);
    second.parts.store = Open();
    second.parts.flags = "recording 2";
    second.options.match = match;
    second.task.run.id = std::string(VersionMatchName(match));
    const TuningReport report = second.Tune();
    const bool loose = match == VersionMatch::kLoose;
    EXPECT_EQ(report.store_hits, loose ? 10 : 0);
    bool warned = false;
    for (const std::string& warning : report.warnings) {
      warned = warned || warning.find("40 results of the store were measured with another") == 0;
    }
    EXPECT_EQ(warned, loose);
  }
}

TEST(VersionMatchTest, NamesAreStable) {
  EXPECT_EQ(VersionMatchFromName("strict"), VersionMatch::kStrict);
  EXPECT_EQ(VersionMatchFromName("loose"), VersionMatch::kLoose);
  EXPECT_EQ(VersionMatchFromName("Loose"), std::nullopt);
}

// A model that learns begins with what is recorded of similar kernels of other programs, and the
// run's own kernels are not among them.
TEST_F(StoreTest, RecordsOfSimilarKernelsFeedTheModel) {
  const auto take = [](TunerSetup& setup, bool wanted) {
    std::erase_if(setup.task.kernels,
                  [&](const Kernel& kernel) { return (kernel.name == "fusion.207") != wanted; });
  };
  TunerSetup first(60);
  take(first, false);
  first.parts.store = Open();
  first.task.run.started_unix_micros = 1;
  const TuningReport known = first.Tune();
  int64_t similar = 0;  // measured reduce fusions
  for (const KernelReport& kernel : known.kernels) {
    if (kernel.kind == "reduce fusion") similar += kernel.measurements;
  }
  ASSERT_GT(similar, 2);
  const int64_t future = 4'000'000'000'000'000;  // microseconds: everything is older
  for (const auto& [started, samples] : {std::pair<int64_t, int64_t>{future, similar}, {0, 0}}) {
    auto model = std::make_shared<OracleModel>(0.3);
    TunerSetup second(0, model);
    take(second, true);
    ASSERT_EQ(second.task.kernels.size(), 1u);
    second.parts.baseline = std::make_shared<OracleModel>();
    second.parts.store = Open();
    second.task.run.id = absl::StrCat("second", started);
    second.task.run.started_unix_micros = started;
    second.Tune();
    EXPECT_EQ(model->last_samples, samples) << "what is newer than the run does not count";
  }
  // The analytical model learns nothing: nothing is looked up for a model that is the baseline.
  auto baseline = std::make_shared<OracleModel>();
  TunerSetup third(0, baseline);
  take(third, true);
  third.parts.store = Open();
  third.task.run.id = "third";
  third.task.run.started_unix_micros = future;
  third.Tune();
  EXPECT_EQ(baseline->fits, 0);
}

TEST(ContentFingerprintTest, DependsOnEveryTimeAndConfiguration) {
  const Recording& example = ExampleRecording();
  const uint64_t whole = ContentFingerprint(example);
  EXPECT_EQ(ContentFingerprint(Recording(example)), whole);
  Recording more = example;
  RecordedConfig again = example.kernels()[0].configs()[0];
  more.FindOrAdd(example.kernels()[0].kernel()).Add(again);
  EXPECT_NE(ContentFingerprint(more), whole);
  Recording other = example;
  again.config = Config(OpaqueConfig{77});
  other.FindOrAdd(example.kernels()[0].kernel()).Add(again);
  EXPECT_NE(ContentFingerprint(other), whole);
  EXPECT_NE(ContentFingerprint(other), ContentFingerprint(more));
}

TEST_F(StoreTest, WhatIsRecordedCostsNothing) {
  TunerSetup first(40);
  first.parts.store = Open();
  const TuningReport before = first.Tune();
  EXPECT_EQ(before.store_hits, 0);
  EXPECT_EQ(before.store_misses, 10);

  TunerSetup second(0);
  second.parts.store = Open();
  second.task.run.id = "run 2";
  const TuningReport after = second.Tune();
  EXPECT_EQ(after.measurements, 0);
  EXPECT_EQ(after.store_hits, 10);
  EXPECT_EQ(after.Total("best found")->seconds, before.Total("best found")->seconds);
  int64_t reused = 0;
  for (const KernelReport& kernel : after.kernels) reused += kernel.reused;
  EXPECT_EQ(reused, 40);
}

// Kills its process in the middle of a round, before the measurement after the first `measured`.
class KillingBackend : public MeasurementBackend {
 public:
  explicit KillingBackend(int64_t measured) : counting_("pjrt"), measured_(measured) {}
  const Capabilities& capabilities() const override { return counting_.capabilities(); }
  absl::StatusOr<std::vector<Measurement>> Measure(
      absl::Span<const Candidate> candidates) override {
    if (counting_.asked >= measured_) kill(getpid(), SIGKILL);
    return counting_.Measure(candidates);
  }

 private:
  CountingBackend counting_;
  int64_t measured_;
};

// A folder that a test and its child, which is the test run again, share.
std::string SharedFolder() {
  constexpr char kVariable[] = "AUTOTUNE_TEST_MID_ROUND";
  if (const char* folder = std::getenv(kVariable)) return folder;
  std::string folder = absl::StrCat(::testing::TempDir(), "/mid_round_", getpid());
  std::filesystem::create_directories(folder);
  setenv(kVariable, folder.c_str(), 1);
  return folder;
}

// The store behind a journal that it never catches up with by itself.
std::unique_ptr<RecordStore> OpenShared(const std::string& folder) {
  return *OpenJournaledStore(
      *RecordStore::Open(absl::StrCat("sqlite:", folder, "/records.db")),
      {.path = absl::StrCat(folder, "/journal.jsonl"), .store_every_seconds = 1e6});
}

// A round is many measurements, and each of them may have taken minutes of a device.
TEST(MidRoundTest, AKillInTheMiddleOfARoundLosesNothingThatWasMeasured) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  constexpr int64_t kMeasured = 29;  // ten defaults, then 19 of a round of 40
  const std::string folder = SharedFolder();
  const auto setup = [&] {
    TunerSetup made(kBudget, std::make_shared<OracleModel>(0.3), "pjrt");
    made.options.jobs = 20;
    return made;
  };
  EXPECT_EXIT(
      {
        TunerSetup run = setup();
        run.parts.backend = std::make_unique<KillingBackend>(kMeasured);
        run.parts.store = OpenShared(folder);
        run.Tune();
      },
      ::testing::KilledBySignal(SIGKILL), "");

  const TuningReport unbroken = setup().Tune();
  TunerSetup rest = setup();
  rest.parts.store = OpenShared(folder);
  RecordStore& store = *rest.parts.store;
  rest.task.resume = InterruptedRun{*store.GetRun("run"), *store.RunCandidates("run"),
                                    *LoadDeviceSeconds(store, "run")};
  EXPECT_EQ(rest.task.resume->Measured(), kMeasured);
  EXPECT_GT(rest.task.resume->device_seconds, 0);
  CountingBackend* counter = rest.backend;
  auto tuner = *Tuner::Create(std::move(rest.parts), rest.options);
  const TuningReport resumed = tuner->Tune(rest.task);
  EXPECT_EQ(counter->asked, kBudget - kMeasured) << "nothing is measured twice";
  EXPECT_EQ(Course(resumed), Course(unbroken));
  EXPECT_EQ(resumed.Total("best found")->seconds, unbroken.Total("best found")->seconds);
  tuner.reset();
  std::filesystem::remove_all(folder);
}

// A backend that breaks in the middle of a round has not made what it had measured worthless.
TEST_F(StoreTest, WhatABackendMeasuredBeforeItBrokeIsKeptAndReported) {
  TunerSetup setup(60, std::make_shared<OracleModel>(0.3), "pjrt");
  setup.options.jobs = 20;
  setup.backend->breaks_after = 29;
  setup.parts.store = Open();
  const TuningReport report = setup.Tune();
  EXPECT_EQ(report.outcome, RunOutcome::kFailed);
  EXPECT_EQ(Stored(Fate::kMeasured), 29);
  EXPECT_EQ(Course(report).size(), 29u);
  EXPECT_EQ(report.measurements, 29);
}

}  // namespace
}  // namespace autotune
