#include "tuner/stored_run.h"

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tuner/tuning_report.h"

namespace autotune {
namespace {

CandidateRecord Record(int64_t sequence, uint64_t kernel, int64_t config,
                       std::optional<double> seconds, bool is_default = false) {
  CandidateRecord record;
  record.run_id = "r";
  record.sequence = sequence;
  record.kernel_fingerprint = kernel;
  record.kernel_name = kernel == 1 ? "one" : "two";
  record.context = {.device = "tpu-v3", .backend = "pjrt", .versions = "v"};
  record.config = Config(OpaqueConfig{config});
  record.fate = seconds ? Fate::kMeasured : Fate::kProposed;
  if (seconds) record.measurement = Measurement::FromSamples({*seconds}, TimeSource::kHardware);
  record.is_default = is_default;
  record.unix_micros = 1'000'000 * (10 + sequence);
  return record;
}

RecordedRun SampleRun() {
  RecordedRun recorded;
  recorded.run = {.id = "r", .program = "p.hlo", .seed = 3, .started_unix_micros = 10'000'000};
  recorded.candidates = {Record(0, 1, 0, 4e-6, true), Record(1, 2, 0, 9e-6, true),
                         Record(2, 1, 1, 3e-6),       Record(3, 1, 2, std::nullopt),
                         Record(4, 2, 1, 8.95e-6),    Record(5, 1, 1, 5e-6)};
  CandidateRecord failed = Record(6, 2, 5, std::nullopt);
  failed.fate = Fate::kMeasured;
  failed.measurement = Measurement::FromFailure(FailureKind::kTimeout, "120 s");
  recorded.candidates.push_back(failed);
  return recorded;
}

TEST(ReportFromRecordsTest, HoldsWhatTheRecordsSay) {
  RecordedRun recorded = SampleRun();
  const TuningReport report = ReportFromRecords(recorded);
  EXPECT_EQ(report.run_id, "r");
  EXPECT_EQ(report.device, "tpu-v3");
  EXPECT_EQ(report.outcome, RunOutcome::kInterrupted);
  EXPECT_EQ(report.measurements, 6);
  ASSERT_EQ(report.kernels.size(), 2u);
  const KernelReport& one = report.kernels[0];
  EXPECT_EQ(one.name, "one");
  EXPECT_EQ(one.measurements, 3);
  // Measured twice, 3 and 5 us: 4 us, as fast as the default, which wins the tie.
  EXPECT_DOUBLE_EQ(one.best->measurement.MedianSeconds(), 4e-6);
  EXPECT_EQ(one.best->config.Key(), "#0");
  // Within one per cent of the default.
  EXPECT_EQ(report.kernels[1].best->config.Key(), "#0");
  ASSERT_EQ(report.kernels[1].failures.size(), 1u);
  EXPECT_EQ(report.kernels[1].failures[0].first_message, "120 s");
  EXPECT_DOUBLE_EQ(report.Total("default")->seconds, 13e-6);
  EXPECT_DOUBLE_EQ(report.Total("best found")->seconds, 13e-6);
  EXPECT_DOUBLE_EQ(report.candidates[4].wall_seconds, 4);
  EXPECT_EQ(report.candidates.size(), 7u);
  // After the third measurement kernel one seemed to take 3 us.
  ASSERT_EQ(report.progress.size(), 6u);
  EXPECT_DOUBLE_EQ(report.progress[2].program_seconds, 12e-6);
  EXPECT_DOUBLE_EQ(report.progress.back().program_seconds, 13e-6);
}

TEST(ReportFromRecordsTest, AFasterResultIsTheBest) {
  RecordedRun recorded = SampleRun();
  recorded.candidates.push_back(Record(7, 2, 7, 6e-6));
  const TuningReport report = ReportFromRecords(recorded);
  EXPECT_EQ(report.kernels[1].best->config.Key(), "#7");
  EXPECT_DOUBLE_EQ(*report.Speedup(), 13.0 / 10.0);
}

TEST(ReportFromRecordsTest, WhatFailedOnceAndThenHadATimeIsNoFailure) {
  RecordedRun recorded = SampleRun();
  recorded.candidates.push_back(Record(7, 2, 5, 9e-6));
  EXPECT_TRUE(ReportFromRecords(recorded).kernels[1].failures.empty());
}

TEST(ReportFromRecordsTest, TheOutcomeIsThatOfTheRun) {
  RecordedRun recorded = SampleRun();
  recorded.run.outcome = "done";
  EXPECT_EQ(ReportFromRecords(recorded).outcome, RunOutcome::kDone);
  recorded.run.outcome = "failed: no space left on device";
  EXPECT_EQ(ReportFromRecords(recorded).outcome, RunOutcome::kFailed);
  EXPECT_EQ(ReportFromRecords(recorded).error, "no space left on device");
  recorded.run.outcome = "done";
  recorded.candidates = {recorded.candidates.back()};  // nothing but a failure
  EXPECT_EQ(ReportFromRecords(recorded).outcome, RunOutcome::kNothingMeasured);
}

TEST(ReportFromRecordsTest, ARunWithoutCandidatesIsEmpty) {
  RecordedRun recorded;
  recorded.run.id = "r";
  const TuningReport report = ReportFromRecords(recorded);
  EXPECT_TRUE(report.kernels.empty());
  EXPECT_TRUE(report.totals.empty());
}

TEST(LoadStoredRunTest, AFolderWithoutARunIsNotFound) {
  const absl::StatusOr<TuningReport> report = LoadStoredRun("/nonexistent-folder");
  EXPECT_EQ(report.status().code(), absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace autotune
