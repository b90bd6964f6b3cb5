// A run that stops at any point and is resumed ends where an unbroken one does, and asks the
// backend nothing twice.

#include <filesystem>
#include <memory>

#include "gtest/gtest.h"
#include "hardware/record_store.h"
#include "tests/tuner/tuning_fixture.h"
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
  for (const CandidateRecord& record : *store->RunCandidates("run")) {
    measured += record.fate == Fate::kMeasured ? 1 : 0;
  }
  EXPECT_EQ(measured, kBudget);
  EXPECT_EQ(store->GetRun("run")->outcome, "done");
}

INSTANTIATE_TEST_SUITE_P(AfterMeasurements, ResumeTest, ::testing::Values(1, 10, 11, 25, 42, 59));

TEST(StoreTest, WhatIsRecordedCostsNothing) {
  const std::filesystem::path path =
      std::filesystem::path(::testing::TempDir()) / absl::StrCat("reuse_", getpid(), ".db");
  std::filesystem::remove(path);
  const std::string url = absl::StrCat("sqlite:", path.string());
  TunerSetup first(30);
  first.parts.store = *RecordStore::Open(url);
  const TuningReport before = first.Tune();
  EXPECT_EQ(before.store_hits, 0);
  EXPECT_EQ(before.store_misses, 10);

  TunerSetup second(0);
  second.parts.store = *RecordStore::Open(url);
  second.task.run.id = "run 2";
  const TuningReport after = second.Tune();
  EXPECT_EQ(after.measurements, 0);
  EXPECT_EQ(after.store_hits, 10);
  EXPECT_EQ(after.Total("best found")->seconds, before.Total("best found")->seconds);
  int64_t reused = 0;
  for (const KernelReport& kernel : after.kernels) reused += kernel.reused;
  EXPECT_EQ(reused, 30);
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace autotune
