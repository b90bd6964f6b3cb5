// Sweeps of tiles into a shard, with a backend that compiles nothing.

#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdio>
#include <filesystem>
#include <fstream>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "hardware/aot_record.h"
#include "hlo/parser.h"

namespace autotune {
namespace {

constexpr char kTail[] = "; Built on Nov 5 cl/10; libtpu 0.0.52";

// A loop fusion of 64 x 8 tiles, told apart by its operation.
Kernel MakeKernel(const std::string& operation) {
  const std::string text = absl::StrCat(
      "HloModule m, is_scheduled=true\n"
      "%f (p: f32[512,1024]) -> f32[512,1024] {\n"
      "  %p = f32[512,1024]{1,0:T(8,128)} parameter(0)\n  ROOT %r = f32[512,1024]{1,0:T(8,128)} ",
      operation,
      "(%p)\n}\nENTRY %e (x: f32[512,1024]) -> f32[512,1024] {\n"
      "  %x = f32[512,1024]{1,0:T(8,128)} parameter(0)\n"
      "  ROOT %",
      operation,
      "_fusion = f32[512,1024]{1,0:T(8,128)} fusion(%x), kind=kLoop, calls=%f, backend_config="
      "{\"window_config\":{\"output_window_bounds\":[\"8\",\"8\"],\"estimated_cycles\":\"9\"}}\n}");
  absl::StatusOr<std::unique_ptr<HloModule>> module = ParseHloText(text);
  EXPECT_TRUE(module.ok()) << module.status();
  absl::StatusOr<Kernel> kernel = KernelFromModule(*std::move(module));
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  return *kernel;
}

// Estimates that depend on the tile alone; notes every question in a file.
class NotingBackend : public MeasurementBackend {
 public:
  explicit NotingBackend(std::string notes) : notes_(std::move(notes)) {
    capabilities_ = {.name = "aot",
                     .device = "tpu-v3",
                     .versions = absl::StrCat("TFRT TPU v3", kTail),
                     .time_source = TimeSource::kEstimate};
  }

  const Capabilities& capabilities() const override { return capabilities_; }

  absl::StatusOr<std::vector<Measurement>> Measure(
      absl::Span<const Candidate> candidates) override {
    std::vector<Measurement> results;
    for (const Candidate& candidate : candidates) {
      if (asked == dies_after) raise(SIGKILL);
      ++asked;
      std::ofstream(notes_, std::ios::app)
          << candidate.kernel->name << " " << candidate.config.Key() << std::endl;
      const auto failure = failing.find(candidate.kernel->name);
      if (failure != failing.end()) {
        results.push_back(Measurement::FromFailure(failure->second, "as told"));
      } else {
        const double tiles = static_cast<double>(candidate.config.tile()->output[0]);
        results.push_back(Measurement::FromSamples({1e-6 * tiles}, TimeSource::kEstimate));
      }
    }
    return results;
  }

  std::map<std::string, FailureKind> failing;  // by the kernel's name
  int64_t asked = 0;
  int64_t dies_after = -1;

 private:
  const std::string notes_;
  Capabilities capabilities_;
};

class SweepTest : public testing::Test {
 protected:
  void SetUp() override {
    folder_ = absl::StrCat(testing::TempDir(), "/sweep-", getpid());
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string Path(const std::string& name) const { return absl::StrCat(folder_, "/", name); }

  // Each question that was asked, with how often.
  std::map<std::string, int> Asked() const {
    std::map<std::string, int> asked;
    std::ifstream notes(Path("notes"));
    for (std::string line; std::getline(notes, line);) ++asked[line];
    return asked;
  }

  absl::Status Sweep(NotingBackend& backend, SweepOptions options = {}) const {
    absl::StatusOr<std::unique_ptr<SweepShard>> shard =
        SweepShard::Open(Path("a.rec"), backend.capabilities());
    if (!shard.ok()) return shard.status();
    options.sample = 20;
    const auto tiles = [](const Kernel& kernel, const SweepOptions& how) {
      return CanonicalTiles(kernel, int64_t{16} << 20, how);
    };
    return RecordSweep(backend, {MakeKernel("negate"), MakeKernel("tanh")}, tiles, options,
                       **shard);
  }

  std::string folder_;
};

// Whatever a killed sweep was told is in the recording of the next one, and is not asked again.
TEST_F(SweepTest, NothingIsMeasuredTwiceAfterAKill) {
  for (int64_t dies_after : {3, 19}) {
    const pid_t child = fork();
    if (child == 0) {
      NotingBackend backend(Path("notes"));
      backend.dies_after = dies_after;
      Sweep(backend).IgnoreError();
      _exit(0);
    }
    int status = 0;
    ASSERT_EQ(waitpid(child, &status, 0), child);
    ASSERT_TRUE(WIFSIGNALED(status));
  }
  EXPECT_EQ(Asked().size(), 22u);
  NotingBackend backend(Path("notes"));
  ASSERT_TRUE(Sweep(backend).ok());
  for (const auto& [question, times] : Asked()) EXPECT_EQ(times, 1) << question;
  const absl::StatusOr<Recording> recording = Recording::Load(Path("a.rec"));
  ASSERT_TRUE(recording.ok()) << recording.status();
  size_t recorded = 0;
  for (const RecordedKernel& kernel : recording->kernels()) {
    EXPECT_NE(kernel.Default(), nullptr);
    for (const RecordedConfig& config : kernel.configs()) {
      EXPECT_EQ(config.seconds.size(), 1u);
      EXPECT_EQ(config.seconds[0], 1e-6 * static_cast<double>(config.config.tile()->output[0]));
      ++recorded;
    }
  }
  EXPECT_EQ(recorded, Asked().size());
  EXPECT_FALSE(std::filesystem::exists(Path("a.rec.journal")));
}

// Regression: a second call showed no failures though the recording was full of them.
TEST_F(SweepTest, FailuresOfAnEarlierCallCount) {
  NotingBackend backend(Path("notes"));
  backend.failing = {{"tanh_fusion", FailureKind::kTimeout}};
  ASSERT_TRUE(Sweep(backend).ok());
  const int64_t asked = backend.asked;
  SweepOptions options;
  SweepProgress last;
  options.progress = [&](const SweepProgress& progress) {
    last = progress;
    return true;
  };
  ASSERT_TRUE(Sweep(backend, options).ok());
  EXPECT_EQ(backend.asked, asked);
  EXPECT_EQ(last.failures, 20);
  EXPECT_EQ(last.configs_done, 40);
}

// Regression: every tile of a kernel that cannot be compiled alone was tried.
TEST_F(SweepTest, AKernelWhoseOwnTileCannotBeCompiledIsLeftOut) {
  NotingBackend backend(Path("notes"));
  backend.failing = {{"tanh_fusion", FailureKind::kCompileError}};
  SweepOptions options;
  std::vector<std::string> left_out;
  options.left_out = [&](const Kernel& kernel, const Failure& failure) {
    left_out.push_back(absl::StrCat(kernel.name, ": ", failure.message));
  };
  for (int i = 0; i < 2; ++i) {
    ASSERT_TRUE(Sweep(backend, options).ok());
    EXPECT_EQ(backend.asked, 21);  // all of the one, the own tile of the other
  }
  EXPECT_EQ(left_out, std::vector<std::string>(2, "tanh_fusion: as told"));
}

TEST_F(SweepTest, RecordingsThatSayLessOfTheirCompilerGoOn) {
  NotingBackend backend(Path("notes"));
  ASSERT_TRUE(
      Recording({"tpu-v3", "aot", "TFRT TPU v3", TimeSource::kEstimate}).Save(Path("a.rec")).ok());
  EXPECT_TRUE(Sweep(backend).ok());
  EXPECT_EQ(backend.asked, 40);
  ASSERT_TRUE(
      Recording({"tpu-v3", "aot", "TFRT TPU v3; Built on Nov 6 cl/11", TimeSource::kEstimate})
          .Save(Path("a.rec"))
          .ok());
  EXPECT_EQ(Sweep(backend).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(SweepTest, AnotherFileIsNotWrittenOver) {
  std::ofstream(Path("a.rec")) << "HloModule precious";
  NotingBackend backend(Path("notes"));
  const absl::Status status = Sweep(backend);
  EXPECT_EQ(status.code(), absl::StatusCode::kInvalidArgument) << status;
  EXPECT_TRUE(absl::StrContains(status.message(), "is not written over")) << status;
  EXPECT_EQ(backend.asked, 0);
  EXPECT_FALSE(std::filesystem::exists(Path("a.rec.journal")));
}

TEST_F(SweepTest, AFileHasOneSweepAtATime) {
  NotingBackend backend(Path("notes"));
  const auto shard = SweepShard::Open(Path("a.rec"), backend.capabilities());
  ASSERT_TRUE(shard.ok()) << shard.status();
  EXPECT_EQ(Sweep(backend).code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(SweepShard::Open(Path("nowhere/a.rec"), backend.capabilities()).status().code(),
            absl::StatusCode::kNotFound);
}

}  // namespace
}  // namespace autotune
