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
  const Measurement measurement = MeasureNamed(**backend, "fine");
  ASSERT_TRUE(measurement.ok()) << measurement.failure().message;
  EXPECT_EQ(measurement.source(), TimeSource::kHardware);
  EXPECT_EQ(measurement.method, "device loop, barrier");
  // A trip of the fake device sleeps for 20 us, and a call for some time more.
  EXPECT_GE(measurement.MedianSeconds(), 1e-5);
  EXPECT_LT(measurement.MedianSeconds(), 1e-3);
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
    EXPECT_TRUE(MeasureNamed(**backend, "fine").ok()) << "after " << fault;
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
  for (size_t i = 0; i < names.size(); ++i) {
    const Measurement& result = (*results)[i];
    if (names[i] == "fine") {
      EXPECT_TRUE(result.ok()) << i << ": " << result.failure().message;
      continue;
    }
    ++faults;
    ASSERT_FALSE(result.ok()) << i << " " << names[i];
    EXPECT_EQ(result.failure().kind, Faults().at(names[i])) << result.failure().message;
  }
  EXPECT_GT(faults, 40);
  EXPECT_LT(faults, 80);
}

TEST_F(PjrtFaultTest, ApisOfOtherVersions) {
  for (const char* version : {"old", "new"}) {
    setenv("FAKE_PJRT_API", version, 1);
    absl::StatusOr<std::unique_ptr<PjrtBackend>> backend = Backend();
    ASSERT_TRUE(backend.ok()) << backend.status();
    EXPECT_TRUE(MeasureNamed(**backend, "fine").ok()) << version;
  }
  setenv("FAKE_PJRT_API", "ancient", 1);
  EXPECT_TRUE(absl::StrContains(Backend().status().message(), "lacks PJRT_Client_Create"))
      << Backend().status();
  setenv("FAKE_PJRT_API", "major", 1);
  EXPECT_TRUE(absl::StrContains(Backend().status().message(), "version")) << Backend().status();
}

}  // namespace
}  // namespace autotune
