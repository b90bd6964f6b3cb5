#include "hardware/replay_backend.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace autotune {
namespace {

using ::testing::HasSubstr;

Recording Load() {
  absl::StatusOr<Recording> recording =
      Recording::Load(absl::StrCat(AUTOTUNE_SOURCE_DIR, "/examples/alexnet/tpu_v3.pb"));
  EXPECT_TRUE(recording.ok()) << recording.status();
  return recording.ok() ? *std::move(recording) : Recording(RecordingOrigin{});
}

std::unique_ptr<ReplayBackend> Backend() {
  std::vector<Recording> recordings;
  recordings.push_back(Load());
  absl::StatusOr<std::unique_ptr<ReplayBackend>> backend =
      ReplayBackend::Create(std::move(recordings));
  EXPECT_TRUE(backend.ok());
  return *std::move(backend);
}

const RecordedKernel& ByName(const Recording& recording, absl::string_view name) {
  for (const RecordedKernel& kernel : recording.kernels()) {
    if (kernel.kernel().name == name) return kernel;
  }
  ADD_FAILURE() << "no kernel " << name;
  return recording.kernels()[0];
}

TEST(ReplayBackend, SaysWhatItIs) {
  const std::unique_ptr<ReplayBackend> backend = Backend();
  EXPECT_EQ(backend->capabilities().name, "replay");
  EXPECT_EQ(backend->capabilities().device, "tpu-v3");
  EXPECT_EQ(backend->capabilities().time_source, TimeSource::kHardware);
}

TEST(ReplayBackend, AnswersInOrderAndTellsTheThreeAbsencesApart) {
  const std::unique_ptr<ReplayBackend> backend = Backend();
  const RecordedKernel& recorded = ByName(backend->recording(), "fusion.191");
  Kernel stranger = recorded.kernel();
  stranger.fingerprint += 1;
  stranger.name = "fusion.999";
  const RecordedConfig* failed = nullptr;
  for (const RecordedConfig& config : recorded.configs()) {
    if (config.seconds.empty()) failed = &config;
  }
  ASSERT_NE(failed, nullptr);

  const Config unknown(TileBounds{.output = {1, 2, 3, 4, 5}});
  const std::vector<Candidate> candidates = {
      {&recorded.kernel(), recorded.Default()->config},
      {&stranger, recorded.Default()->config},
      {&recorded.kernel(), unknown},
      {&recorded.kernel(), failed->config},
      {&recorded.kernel(), recorded.Best()->config},
  };
  const absl::StatusOr<std::vector<Measurement>> results = backend->Measure(candidates);
  ASSERT_TRUE(results.ok());
  ASSERT_EQ(results->size(), 5u);
  EXPECT_NEAR((*results)[0].MedianSeconds() * 1e9, 151565, 1e-6);
  EXPECT_EQ((*results)[1].failure().kind, FailureKind::kKernelNotRecorded);
  EXPECT_THAT((*results)[1].failure().message, HasSubstr("fusion.999"));
  EXPECT_EQ((*results)[2].failure().kind, FailureKind::kConfigNotRecorded);
  EXPECT_THAT((*results)[2].failure().message, HasSubstr("o=1,2,3,4,5"));
  EXPECT_EQ((*results)[3].failure().kind, FailureKind::kRecordedFailure);
  EXPECT_NEAR((*results)[4].MedianSeconds() * 1e9, 137344, 1e-6);
}

TEST(ReplayBackend, GivesAllSamplesInRecordedOrder) {
  Recording first = Load();
  Recording second({"tpu-v3", "", "", TimeSource::kHardware});
  const Kernel kernel = ByName(first, "copy.24").kernel();
  RecordedConfig again{ByName(first, "copy.24").Default()->config};
  again.seconds = {5e-6, 4e-6};
  again.compile_seconds = 0.25;
  second.FindOrAdd(kernel).Add(again);
  std::vector<Recording> recordings;
  recordings.push_back(std::move(first));
  recordings.push_back(std::move(second));
  absl::StatusOr<std::unique_ptr<ReplayBackend>> backend =
      ReplayBackend::Create(std::move(recordings));
  ASSERT_TRUE(backend.ok()) << backend.status();
  const std::vector<Candidate> candidates = {{&kernel, again.config}};
  const auto results = (*backend)->Measure(candidates);
  ASSERT_TRUE(results.ok());
  const Measurement& result = (*results)[0];
  ASSERT_TRUE(result.ok());
  ASSERT_GE(result.samples().size(), 3u);
  EXPECT_EQ(result.samples()[0], 3967 / 1e9);
  EXPECT_EQ(result.samples()[result.samples().size() - 2], 5e-6);
  EXPECT_EQ(result.samples().back(), 4e-6);
  EXPECT_EQ(result.compile_seconds, 0.25);
}

// PROGRAM and --recording often name the same file: its runs were taken for repeats, and an
// interval of confidence was made of them.
TEST(ReplayBackend, ARecordingGivenTwiceCountsOnce) {
  std::vector<Recording> recordings;
  for (int i = 0; i < 3; ++i) recordings.push_back(Load());
  const auto backend = ReplayBackend::Create(std::move(recordings));
  ASSERT_TRUE(backend.ok()) << backend.status();
  const Recording once = Load();
  ASSERT_EQ((*backend)->recording().kernels().size(), once.kernels().size());
  for (const RecordedKernel& kernel : once.kernels()) {
    EXPECT_EQ((*backend)->recording().Find(kernel.kernel().fingerprint)->runs(), kernel.runs());
  }
}

TEST(ReplayBackend, RefusesToMix) {
  std::vector<Recording> recordings;
  recordings.push_back(Load());
  recordings.push_back(Recording({"tpu-v3", "aot", "", TimeSource::kEstimate}));
  EXPECT_EQ(ReplayBackend::Create(std::move(recordings)).status().code(),
            absl::StatusCode::kFailedPrecondition);
  EXPECT_EQ(ReplayBackend::Create({}).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace autotune
