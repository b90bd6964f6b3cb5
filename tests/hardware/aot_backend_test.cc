// The `aot` backend against the real TPU compiler; skipped where libtpu is not installed
// (./autotune --with aot).

#include "hardware/aot_backend.h"

#include <algorithm>
#include <memory>
#include <string>
#include <variant>

#include "gtest/gtest.h"
#include "hardware/aot_record.h"
#include "hardware/pjrt_discovery.h"
#include "hlo/parser.h"
#include "tests/hardware/aot_fit.h"

namespace autotune {
namespace {

// A program before optimisation: a matrix product and what follows it, and a reduction.
constexpr char kProgram[] = R"(HloModule small
%sum (a: f32[], b: f32[]) -> f32[] {
  %a = f32[] parameter(0)
  %b = f32[] parameter(1)
  ROOT %add = f32[] add(%a, %b)
}
ENTRY %main (x: f32[512,1024], w: f32[1024,512]) -> (f32[512,512], f32[512]) {
  %x = f32[512,1024] parameter(0)
  %w = f32[1024,512] parameter(1)
  %y = f32[512,512] dot(%x, %w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  %z = f32[512,512] tanh(%y)
  %zero = f32[] constant(0)
  %r = f32[512] reduce(%x, %zero), dimensions={1}, to_apply=%sum
  ROOT %t = (f32[512,512], f32[512]) tuple(%z, %r)
}
)";

class AotBackendTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasPjrtSupport() || !FindLibtpu().ok()) GTEST_SKIP() << "libtpu is not installed";
    absl::StatusOr<std::unique_ptr<AotBackend>> backend = AotBackend::Create({.target = "v3"});
    ASSERT_TRUE(backend.ok()) << backend.status();
    backend_ = *std::move(backend);
  }

  std::vector<Kernel> Kernels() {
    absl::StatusOr<std::unique_ptr<HloModule>> module = ParseHloText(kProgram);
    EXPECT_TRUE(module.ok()) << module.status();
    absl::StatusOr<AotDefault> compiled = backend_->CompileProgram(**module);
    EXPECT_TRUE(compiled.ok()) << compiled.status();
    return compiled.ok() ? compiled->kernels : std::vector<Kernel>();
  }

  absl::Status Sweep(const std::vector<Kernel>& kernels, const TileLister& tiles,
                     const SweepOptions& options, const std::string& path) {
    absl::StatusOr<std::unique_ptr<SweepShard>> shard =
        SweepShard::Open(path, backend_->capabilities());
    if (!shard.ok()) return shard.status();
    return RecordSweep(*backend_, kernels, tiles, options, **shard);
  }

  std::unique_ptr<AotBackend> backend_;
};

TEST_F(AotBackendTest, KernelsOfAProgramAreFaithfulAlone) {
  int measured = 0;
  for (const Kernel& kernel : Kernels()) {
    if (!kernel.compiler_choice.has_value()) continue;
    auto estimate = backend_->Estimate(kernel, &kernel.compiler_choice->bounds);
    ASSERT_TRUE(estimate.ok()) << estimate.status();
    ASSERT_TRUE(std::holds_alternative<AotEstimate>(*estimate))
        << kernel.name << ": " << std::get<Failure>(*estimate).message;
    EXPECT_GT(std::get<AotEstimate>(*estimate).seconds, 0);
    for (const ScheduledLoop& loop : std::get<AotEstimate>(*estimate).schedule.loops) {
      EXPECT_TRUE(loop.trip_count.has_value() || loop.assumed_trips > 1) << kernel.name;
    }
    ++measured;
  }
  EXPECT_GE(measured, 2);
}

TEST_F(AotBackendTest, ATileIsObeyedAndOneThatCannotBeIsAFailure) {
  for (const Kernel& kernel : Kernels()) {
    if (!kernel.compiler_choice.has_value() || kernel.compiler_choice->bounds.output.size() < 2) {
      continue;
    }
    TileBounds small = kernel.compiler_choice->bounds;
    small.output[0] = 1;
    TileBounds absurd = small;
    absurd.output.push_back(1);  // one dimension too many
    auto results =
        backend_->Measure({Candidate{&kernel, Config(small)}, Candidate{&kernel, Config(absurd)}});
    ASSERT_TRUE(results.ok()) << results.status();
    EXPECT_TRUE(results->at(0).ok()) << results->at(0).failure().message;
    EXPECT_FALSE(results->at(1).ok()) << kernel.name;
  }
}

// The table that the bars of the estimate are judged on is what the compiler and this code say.
TEST_F(AotBackendTest, RecordedTilesGiveTheInputsOfTheTable) {
  const FitData table = ReadFitData(AUTOTUNE_SOURCE_DIR);
  const absl::StatusOr<Recording> recording =
      Recording::Load(AUTOTUNE_SOURCE_DIR "/examples/alexnet/tpu_v3.pb");
  ASSERT_TRUE(recording.ok()) << recording.status();
  int compared = 0;
  for (const RecordedKernel& kernel : recording->kernels()) {
    const std::string& name = kernel.kernel().name;
    if (name != "fusion.232" && name != "fusion.207") continue;
    const std::vector<FitRow>& rows = table.at(name);
    for (size_t i = 0; i < rows.size(); i += 20) {
      const auto config = std::find_if(
          kernel.configs().begin(), kernel.configs().end(),
          [&](const RecordedConfig& recorded) { return recorded.config.Key() == rows[i].tile; });
      ASSERT_NE(config, kernel.configs().end()) << rows[i].tile;
      const auto result = backend_->Estimate(kernel.kernel(), config->config.tile());
      ASSERT_TRUE(result.ok()) << result.status();
      ASSERT_TRUE(std::holds_alternative<AotEstimate>(*result)) << rows[i].tile;
      const EstimateInputs& inputs = std::get<AotEstimate>(*result).inputs;
      EXPECT_NEAR(inputs.compute_cycles, rows[i].inputs.compute_cycles, 1) << rows[i].tile;
      EXPECT_EQ(inputs.iterations, rows[i].inputs.iterations) << rows[i].tile;
      EXPECT_EQ(inputs.moved_bytes, rows[i].inputs.moved_bytes) << rows[i].tile;
      EXPECT_EQ(inputs.reloaded_bytes, rows[i].inputs.reloaded_bytes) << rows[i].tile;
      EXPECT_EQ(inputs.first_bytes, rows[i].inputs.first_bytes) << rows[i].tile;
      EXPECT_NEAR(inputs.runs, rows[i].inputs.runs, 1) << rows[i].tile;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 4);
}

TEST_F(AotBackendTest, ASweepResumes) {
  const std::string path = testing::TempDir() + "/sweep.rec";
  std::remove(path.c_str());
  const std::vector<Kernel> kernels = Kernels();
  const auto tiles = [&](const Kernel& kernel, const SweepOptions& options) {
    return CanonicalTiles(kernel, backend_->device().vmem_bytes, options);
  };
  SweepOptions options;
  options.sample = 3;
  int64_t calls = 0;
  options.progress = [&](const SweepProgress&) { return ++calls < 2; };  // stops after one batch
  ASSERT_TRUE(Sweep(kernels, tiles, options, path).ok());
  absl::StatusOr<Recording> stopped = JoinShards({path});
  ASSERT_TRUE(stopped.ok()) << stopped.status();
  for (const Kernel& kernel : kernels) {
    if (!kernel.compiler_choice.has_value()) continue;
    // The compiler's own tiles came first.
    ASSERT_NE(stopped->Find(kernel.fingerprint), nullptr) << kernel.name;
    EXPECT_NE(stopped->Find(kernel.fingerprint)->Default(), nullptr) << kernel.name;
    EXPECT_EQ(stopped->Find(kernel.fingerprint)->configs().size(), 1u) << kernel.name;
  }
  SweepProgress last;
  int64_t done_at_start = -1;
  options.progress = [&](const SweepProgress& progress) {
    if (done_at_start < 0) done_at_start = progress.configs_done;
    last = progress;
    return true;
  };
  ASSERT_TRUE(Sweep(kernels, tiles, options, path).ok());
  EXPECT_EQ(last.configs_done, last.configs);
  absl::StatusOr<Recording> recording = JoinShards({path});
  ASSERT_TRUE(recording.ok()) << recording.status();
  EXPECT_EQ(recording->origin().source, TimeSource::kEstimate);
  for (const RecordedKernel& kernel : recording->kernels()) {
    EXPECT_NE(kernel.Default(), nullptr) << kernel.kernel().name;
    for (const RecordedConfig& config : kernel.configs()) {
      EXPECT_EQ(config.seconds.size() + config.failures.size(), 1u);  // measured once
    }
  }
  std::remove(path.c_str());
}

}  // namespace
}  // namespace autotune
