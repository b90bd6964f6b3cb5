#include "hardware/measurement.h"

#include "gtest/gtest.h"

namespace autotune {
namespace {

TEST(Measurement, SamplesGiveMedianAndSpread) {
  const Measurement odd = Measurement::FromSamples({3e-6, 1e-6, 2e-6}, TimeSource::kHardware);
  EXPECT_TRUE(odd.ok());
  EXPECT_DOUBLE_EQ(odd.MedianSeconds(), 2e-6);
  EXPECT_EQ(odd.SpreadSeconds(), 0);  // too few samples to tell
  EXPECT_EQ(odd.source(), TimeSource::kHardware);

  // Quartiles of 1, 2, 3, 4, 100: 2 and 4.
  const Measurement five = Measurement::FromSamples({100, 1, 4, 2, 3}, TimeSource::kEstimate);
  EXPECT_DOUBLE_EQ(five.MedianSeconds(), 3);
  EXPECT_DOUBLE_EQ(five.SpreadSeconds(), 1);
  EXPECT_EQ(five.source(), TimeSource::kEstimate);
  EXPECT_EQ(five.samples()[0], 100) << "samples stay in the order of measuring";

  // Quartiles of 1, 2, 3, 4: 1.75 and 3.25; median 2.5.
  const Measurement four = Measurement::FromSamples({4, 3, 2, 1}, TimeSource::kHardware);
  EXPECT_DOUBLE_EQ(four.MedianSeconds(), 2.5);
  EXPECT_DOUBLE_EQ(four.SpreadSeconds(), 0.75);
}

TEST(Measurement, AFailureHasNoTime) {
  const Measurement failed = Measurement::FromFailure(FailureKind::kOutOfMemory, "17 MiB of VMEM");
  EXPECT_FALSE(failed.ok());
  EXPECT_EQ(failed.failure().kind, FailureKind::kOutOfMemory);
  EXPECT_EQ(failed.failure().message, "17 MiB of VMEM");
}

TEST(Measurement, NamesOfFailureKindsComeBack) {
  for (FailureKind kind : {FailureKind::kKernelNotRecorded, FailureKind::kConfigNotRecorded,
                           FailureKind::kRecordedFailure, FailureKind::kCompileError,
                           FailureKind::kCrash, FailureKind::kOutOfMemory, FailureKind::kTimeout,
                           FailureKind::kWrongResult, FailureKind::kNotFaithful}) {
    EXPECT_EQ(FailureKindFromName(FailureKindName(kind)), kind) << FailureKindName(kind);
  }
  EXPECT_EQ(FailureKindName(FailureKind::kConfigNotRecorded), "config-not-recorded");
  EXPECT_EQ(FailureKindFromName("Timeout"), std::nullopt);
}

TEST(Measurement, NamesOfTimeSourcesComeBack) {
  EXPECT_EQ(TimeSourceFromName("hardware"), TimeSource::kHardware);
  EXPECT_EQ(TimeSourceFromName("estimate"), TimeSource::kEstimate);
  EXPECT_EQ(TimeSourceName(TimeSource::kEstimate), "estimate");
  EXPECT_EQ(TimeSourceFromName(""), std::nullopt);
}

TEST(Measurement, JoiningAddsSamplesAndATimeBeatsAFailure) {
  Measurement a = Measurement::FromSamples({1, 2}, TimeSource::kEstimate);
  Measurement b = Measurement::FromSamples({4}, TimeSource::kEstimate);
  b.compile_seconds = 7;
  b.method = "calls";
  const Measurement both = JoinMeasurements(a, b);
  EXPECT_EQ(std::vector<double>(both.samples().begin(), both.samples().end()),
            (std::vector<double>{1, 2, 4}));
  EXPECT_EQ(both.source(), TimeSource::kEstimate);
  EXPECT_EQ(both.compile_seconds, 7);
  EXPECT_EQ(both.method, "calls");
  const Measurement failed = Measurement::FromFailure(FailureKind::kCrash, "first");
  const Measurement again = Measurement::FromFailure(FailureKind::kTimeout, "second");
  EXPECT_EQ(JoinMeasurements(failed, a).MedianSeconds(), 1.5);
  EXPECT_EQ(JoinMeasurements(a, failed).MedianSeconds(), 1.5);
  EXPECT_EQ(JoinMeasurements(failed, again).failure().message, "first");
}

}  // namespace
}  // namespace autotune
