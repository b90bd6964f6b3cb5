// The `pjrt` backend on a device that crashes, hangs, leaks, errs and computes something else.

#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "hardware/pjrt_backend.h"
#include "tests/fault/fault_fixture.h"

namespace autotune {
namespace {

class PjrtFaultTest : public FaultTest {
 protected:
  static absl::StatusOr<std::unique_ptr<PjrtBackend>> Backend(int jobs = 1) {
    PjrtBackendOptions options;
    options.plugin = AUTOTUNE_FAKE_PLUGIN;
    options.jobs = jobs;
    options.repeats = 2;
    options.significant_seconds = 0.0005;
    options.timeout = absl::Seconds(2);
    options.memory_limit_bytes = int64_t{192} << 20;
    return PjrtBackend::Create(options);
  }

  // On a busy machine the slope of a loop may not be significant.
  static bool HasNoSlope(const Measurement& measurement) {
    return !measurement.ok() &&
           absl::StrContains(measurement.failure().message, "no significant time");
  }
  static Measurement MeasureFine(MeasurementBackend& backend) {
    Measurement measurement = MeasureNamed(backend, "fine");
    for (int tries = 0; tries < 10 && HasNoSlope(measurement); ++tries) {
      measurement = MeasureNamed(backend, "fine");
    }
    return measurement;
  }
};

const std::map<std::string, FailureKind>& Faults() {
  static const auto& faults = *new std::map<std::string, FailureKind>{
      {"fault-crash", FailureKind::kCrash},        {"fault-exit", FailureKind::kCrash},
      {"fault-orphan", FailureKind::kCrash},       {"fault-hang", FailureKind::kTimeout},
      {"fault-leak", FailureKind::kOutOfMemory},   {"fault-error", FailureKind::kCompileError},
      {"fault-memory", FailureKind::kOutOfMemory}, {"fault-code", FailureKind::kCompileError},
      {"fault-bounds", FailureKind::kNotFaithful}, {"fault-run-crash", FailureKind::kCrash},
      {"fault-run-hang", FailureKind::kTimeout},   {"fault-run-leak", FailureKind::kOutOfMemory},
      {"fault-run-error", FailureKind::kCrash},    {"fault-run-memory", FailureKind::kOutOfMemory},
      {"fault-wrong", FailureKind::kWrongResult},  {"fault-nan", FailureKind::kWrongResult},
      {"fault-flat", FailureKind::kWrongResult}};
  return faults;
}

TEST_F(PjrtFaultTest, AWellBehavedDeviceMeasures) {
  absl::StatusOr<std::unique_ptr<PjrtBackend>> backend = Backend();
  ASSERT_TRUE(backend.ok()) << backend.status();
  EXPECT_EQ((*backend)->capabilities().device, "tpu-v3");
  EXPECT_TRUE((*backend)->capabilities().tiles);
  EXPECT_TRUE(absl::StartsWith((*backend)->capabilities().versions, "fake runtime 1"));
  const Measurement measurement = MeasureFine(**backend);
  ASSERT_TRUE(measurement.ok()) << measurement.failure().message;
  EXPECT_EQ(measurement.source(), TimeSource::kHardware);
  EXPECT_EQ(measurement.method, "device loop, barrier");
  // A trip of the fake device sleeps for 20 us, and a call for some time more.
  EXPECT_GE(measurement.MedianSeconds(), 1e-5);
  EXPECT_LT(measurement.MedianSeconds(), 1e-3);
}

TEST_F(PjrtFaultTest, AProfilerComesFirst) {
  setenv("FAKE_PJRT_PROFILER", "fine", 1);
  absl::StatusOr<std::unique_ptr<PjrtBackend>> backend = Backend();
  ASSERT_TRUE(backend.ok()) << backend.status();
  const Measurement measurement = MeasureFine(**backend);
  ASSERT_TRUE(measurement.ok()) << measurement.failure().message;
  EXPECT_EQ(measurement.method, "profiler");
  // The first of three runs, of 5 us, warms up.
  ASSERT_EQ(measurement.samples().size(), 2u);
  EXPECT_NEAR(measurement.samples()[0], 6e-6, 1e-12);
  EXPECT_NEAR(measurement.samples()[1], 7e-6, 1e-12);
  // Faults are what they are without it.
  for (const char* fault : {"fault-run-crash", "fault-wrong", "fault-run-error"}) {
    const Measurement failed = MeasureNamed(**backend, fault);
    ASSERT_FALSE(failed.ok()) << fault;
    EXPECT_EQ(failed.failure().kind, Faults().at(fault)) << failed.failure().message;
  }
}

TEST_F(PjrtFaultTest, AProfilerThatDoesNotWorkIsPassedOver) {
  const std::map<std::string, std::string> complaints = {
      {"error", "no permission to trace"},
      {"empty", "holds no operation of a device"},
      {"garbage", "cannot be read"},
      {"another.kernel", "holds 0 of 3 runs"}};
  for (const auto& [kind, complaint] : complaints) {
    setenv("FAKE_PJRT_PROFILER", kind.c_str(), 1);
    absl::StatusOr<std::unique_ptr<PjrtBackend>> backend = Backend();
    ASSERT_TRUE(backend.ok()) << backend.status();
    const Measurement measurement = MeasureFine(**backend);
    ASSERT_TRUE(measurement.ok()) << kind << ": " << measurement.failure().message;
    EXPECT_TRUE(absl::StartsWith(measurement.method, "device loop, barrier ("))
        << measurement.method;
    EXPECT_TRUE(absl::StrContains(measurement.method, complaint)) << measurement.method;
  }
}

TEST_F(PjrtFaultTest, EveryFaultIsTyped) {
  absl::StatusOr<std::unique_ptr<PjrtBackend>> backend = Backend();
  ASSERT_TRUE(backend.ok()) << backend.status();
  for (const auto& [fault, kind] : Faults()) {
    const Measurement measurement = MeasureNamed(**backend, fault);
    ASSERT_FALSE(measurement.ok()) << fault;
    EXPECT_EQ(measurement.failure().kind, kind)
        << fault << ": " << FailureKindName(measurement.failure().kind) << ", "
        << measurement.failure().message;
    EXPECT_NE(measurement.failure().message, "") << fault;
    EXPECT_TRUE(MeasureFine(**backend).ok()) << "after " << fault;
  }
  const Measurement wrong = MeasureNamed(**backend, "fault-wrong");
  EXPECT_TRUE(absl::StrContains(wrong.failure().message, "is 2 instead of 1"))
      << wrong.failure().message;
}

// 200 candidates, 30 % of them faults of all kinds, compiled four at a time: every result is there,
// in order.
TEST_F(PjrtFaultTest, TwoHundredCandidatesWithThirtyPercentFaults) {
  std::vector<std::string> kinds;
  for (const auto& [fault, kind] : Faults()) kinds.push_back(fault);
  const auto [names, kernels] = MixedKernels(kinds, 200);
  std::vector<Candidate> candidates;
  for (const Kernel& kernel : kernels) candidates.push_back({&kernel, FullTile()});

  absl::StatusOr<std::unique_ptr<PjrtBackend>> backend = Backend(/*jobs=*/4);
  ASSERT_TRUE(backend.ok()) << backend.status();
  absl::StatusOr<std::vector<Measurement>> results = (*backend)->Measure(candidates);
  ASSERT_TRUE(results.ok()) << results.status();
  ASSERT_EQ(results->size(), candidates.size());
  int faults = 0;
  int fine = 0;
  for (size_t i = 0; i < names.size(); ++i) {
    const Measurement& result = (*results)[i];
    if (names[i] == "fine") {
      EXPECT_TRUE(result.ok() || HasNoSlope(result)) << i << ": " << result.failure().message;
      fine += result.ok() ? 1 : 0;
      continue;
    }
    ++faults;
    ASSERT_FALSE(result.ok()) << i << " " << names[i];
    EXPECT_EQ(result.failure().kind, Faults().at(names[i])) << result.failure().message;
  }
  EXPECT_GT(faults, 40);
  EXPECT_LT(faults, 80);
  EXPECT_GT(fine, 60);
}

TEST_F(PjrtFaultTest, ApisOfOtherVersions) {
  for (const char* version : {"old", "new"}) {
    setenv("FAKE_PJRT_API", version, 1);
    absl::StatusOr<std::unique_ptr<PjrtBackend>> backend = Backend();
    ASSERT_TRUE(backend.ok()) << backend.status();
    EXPECT_TRUE(MeasureFine(**backend).ok()) << version;
  }
  setenv("FAKE_PJRT_API", "ancient", 1);
  EXPECT_TRUE(absl::StrContains(Backend().status().message(), "lacks PJRT_Client_Create"))
      << Backend().status();
  setenv("FAKE_PJRT_API", "major", 1);
  EXPECT_TRUE(absl::StrContains(Backend().status().message(), "version")) << Backend().status();
}

}  // namespace
}  // namespace autotune
