// The `aot` backend against a plugin that crashes, hangs, leaks, lies and reports other versions.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "hardware/aot_backend.h"
#include "tests/fault/fault_fixture.h"

namespace autotune {
namespace {

class AotFaultTest : public FaultTest {
 protected:
  static absl::StatusOr<std::unique_ptr<AotBackend>> Backend(int jobs = 1) {
    AotBackendOptions options;
    options.target = "v3";
    options.plugin = AUTOTUNE_FAKE_PLUGIN;
    options.jobs = jobs;
    options.timeout = absl::Seconds(2);
    options.memory_limit_bytes = int64_t{192} << 20;
    return AotBackend::Create(options);
  }
};

const std::map<std::string, FailureKind>& Faults() {
  static const auto& faults = *new std::map<std::string, FailureKind>{
      {"fault-crash", FailureKind::kCrash},           {"fault-exit", FailureKind::kCrash},
      {"fault-orphan", FailureKind::kCrash},          {"fault-hang", FailureKind::kTimeout},
      {"fault-leak", FailureKind::kOutOfMemory},      {"fault-error", FailureKind::kCompileError},
      {"fault-memory", FailureKind::kOutOfMemory},    {"fault-code", FailureKind::kCompileError},
      {"fault-schedule", FailureKind::kCompileError}, {"fault-garbage", FailureKind::kCompileError},
      {"fault-bounds", FailureKind::kNotFaithful}};
  return faults;
}

TEST_F(AotFaultTest, AWellBehavedPluginMeasures) {
  absl::StatusOr<std::unique_ptr<AotBackend>> backend = Backend();
  ASSERT_TRUE(backend.ok()) << backend.status();
  EXPECT_EQ((*backend)->capabilities().versions, "fake compiler 1; with a second line");
  EXPECT_EQ((*backend)->capabilities().time_source, TimeSource::kEstimate);
  const Measurement measurement = MeasureNamed(**backend, "fine");
  ASSERT_TRUE(measurement.ok()) << measurement.failure().message;
  EXPECT_EQ(measurement.source(), TimeSource::kEstimate);
  EXPECT_GT(measurement.MedianSeconds(), 0);
}

TEST_F(AotFaultTest, EveryFaultIsTyped) {
  absl::StatusOr<std::unique_ptr<AotBackend>> backend = Backend();
  ASSERT_TRUE(backend.ok()) << backend.status();
  for (const auto& [fault, kind] : Faults()) {
    const Measurement measurement = MeasureNamed(**backend, fault);
    ASSERT_FALSE(measurement.ok()) << fault;
    EXPECT_EQ(measurement.failure().kind, kind)
        << fault << ": " << FailureKindName(measurement.failure().kind) << ", "
        << measurement.failure().message;
    EXPECT_NE(measurement.failure().message, "") << fault;
  }
  const Measurement crash = MeasureNamed(**backend, "fault-crash");
  EXPECT_TRUE(absl::StrContains(crash.failure().message, "SIGILL")) << crash.failure().message;
  EXPECT_TRUE(absl::StrContains(crash.failure().message, "the window fits"));
}

// Regression: candidates of a run whose disk was full were recorded as crashes of the compiler.
TEST_F(AotFaultTest, AFullDiskIsNotTheCandidatesFault) {
  absl::StatusOr<std::unique_ptr<AotBackend>> backend = Backend();
  ASSERT_TRUE(backend.ok()) << backend.status();
  const Kernel kernel = NamedKernel("fault-disk");
  const absl::Status status = (*backend)->Measure({Candidate{&kernel, FullTile()}}).status();
  EXPECT_EQ(status.code(), absl::StatusCode::kResourceExhausted) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "No space left on device")) << status;
  EXPECT_TRUE(MeasureNamed(**backend, "fine").ok());
}

TEST_F(AotFaultTest, AConfigurationThatIsNoTileIsNotMeasured) {
  absl::StatusOr<std::unique_ptr<AotBackend>> backend = Backend();
  ASSERT_TRUE(backend.ok()) << backend.status();
  const Kernel kernel = NamedKernel("fine");
  auto results = (*backend)->Measure({Candidate{&kernel, Config(OpaqueConfig{3})}});
  ASSERT_TRUE(results.ok()) << results.status();
  EXPECT_EQ(results->at(0).failure().kind, FailureKind::kNotFaithful);
}

// 200 candidates, 30 % of them faults of all kinds, four at a time: every result is there, in
// order.
TEST_F(AotFaultTest, TwoHundredCandidatesWithThirtyPercentFaults) {
  std::vector<std::string> kinds;
  for (const auto& [fault, kind] : Faults()) kinds.push_back(fault);
  const auto [names, kernels] = MixedKernels(kinds, 200);
  std::vector<Candidate> candidates;
  for (const Kernel& kernel : kernels) candidates.push_back({&kernel, FullTile()});

  absl::StatusOr<std::unique_ptr<AotBackend>> backend = Backend(/*jobs=*/4);
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

// A main process that dies without a chance to clean up, while its compiler hangs: the worker ends
// itself and removes their folder. (TearDown looks for folders and processes.)
TEST_F(AotFaultTest, AKilledMainProcessLeavesNothingBehind) {
  const pid_t child = fork();
  if (child == 0) {
    absl::StatusOr<std::unique_ptr<AotBackend>> backend = Backend();
    if (backend.ok()) MeasureNamed(**backend, "fault-hang");
    _exit(0);  // the time-out came first
  }
  ASSERT_GT(child, 0);
  WaitUntil([] { return ProcessesWithPlugin() == 1; });
  EXPECT_EQ(ProcessesWithPlugin(), 1);
  EXPECT_FALSE(std::filesystem::is_empty(folder_));
  kill(child, SIGKILL);
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFSIGNALED(status));
  WaitUntil([&] { return ProcessesWithPlugin() == 0 && std::filesystem::is_empty(folder_); });
}

TEST_F(AotFaultTest, ANewerApiWorks) {
  setenv("FAKE_PJRT_API", "new", 1);
  absl::StatusOr<std::unique_ptr<AotBackend>> backend = Backend();
  ASSERT_TRUE(backend.ok()) << backend.status();
  EXPECT_TRUE(MeasureNamed(**backend, "fine").ok());
}

TEST_F(AotFaultTest, AnOlderApiSaysWhatIsMissing) {
  setenv("FAKE_PJRT_API", "old", 1);
  const absl::Status status = Backend().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(absl::StrContains(status.message(), "PJRT_TopologyDescription_Create")) << status;
}

TEST_F(AotFaultTest, AnotherMajorVersionIsRefused) {
  setenv("FAKE_PJRT_API", "major", 1);
  const absl::Status status = Backend().status();
  EXPECT_EQ(status.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_TRUE(absl::StrContains(status.message(), "version")) << status;
}

TEST_F(AotFaultTest, ATargetThatThePluginDoesNotKnow) {
  AotBackendOptions options;
  options.target = "v5e";
  options.plugin = AUTOTUNE_FAKE_PLUGIN;
  const absl::Status status = AotBackend::Create(options).status();
  EXPECT_TRUE(absl::StrContains(status.message(), "no such topology")) << status;
  options.target = "v99";
  EXPECT_EQ(AotBackend::Create(options).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(AotFaultTest, AFileThatIsNoPlugin) {
  AotBackendOptions options;
  options.target = "v3";
  options.plugin = "/lib/x86_64-linux-gnu/libz.so.1";
  const absl::Status status = AotBackend::Create(options).status();
  EXPECT_TRUE(absl::StrContains(status.message(), "GetPjrtApi")) << status;
}

}  // namespace
}  // namespace autotune
