#include "hardware/recording.h"

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hardware/atomic_file.h"
#include "hlo/module.h"
#include "proto/tuning_data.pb.h"

namespace autotune {
namespace {

using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

std::string KernelTilesPath() {
  return absl::StrCat(AUTOTUNE_SOURCE_DIR, "/examples/alexnet/tpu_v3.pb");
}

std::string KernelTilesBytes() {
  absl::StatusOr<std::string> bytes = ReadWholeFile(KernelTilesPath());
  EXPECT_TRUE(bytes.ok()) << bytes.status();
  return bytes.ok() ? *std::move(bytes) : "";
}

const RecordedKernel* FindByName(const Recording& recording, absl::string_view name) {
  for (const RecordedKernel& kernel : recording.kernels()) {
    if (kernel.kernel().name == name) return &kernel;
  }
  ADD_FAILURE() << "no kernel " << name;
  return nullptr;
}

class KernelTiles : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<Recording> loaded = Recording::Load(KernelTilesPath());
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    recording_ = std::make_unique<Recording>(*std::move(loaded));
  }
  std::unique_ptr<Recording> recording_;
};

struct KernelFacts {
  const char* name;
  const char* kind;
  int64_t runs;
  int64_t best_ns;     // the smallest median: fusion.232 has 57,188 and 57,204 of its best tile
  int64_t default_ns;  // the first sample
};

TEST_F(KernelTiles, HoldsTheTenRecordedKernels) {
  const KernelFacts facts[] = {
      {"fusion.232", "reduce fusion", 61, 57196, 57188},
      {"fusion.191", "convolution fusion", 581, 137344, 151565},
      {"copy.24", "copy", 10, 3872, 3967},
      {"fusion.181", nullptr, 5, 1447, 1447},
      {"fusion.207", nullptr, 3, 1635, 1635},
      {"fusion.206", "reduce fusion", 3, 1244, 1244},
      {"fusion.250", "loop fusion", 2, 598, 598},
      {"reshape.37", "reshape", 3, 238068, 270591},
      {"reshape.39", "reshape", 2, 5664, 5664},
      {"reshape.38", "reshape", 2, 4358, 4358},
  };
  EXPECT_EQ(recording_->kernels().size(), 10u);
  EXPECT_EQ(recording_->origin().device, "tpu-v3");
  EXPECT_EQ(recording_->origin().source, TimeSource::kHardware);
  int64_t runs = 0;
  for (const KernelFacts& fact : facts) {
    SCOPED_TRACE(fact.name);
    const RecordedKernel* kernel = FindByName(*recording_, fact.name);
    ASSERT_NE(kernel, nullptr);
    EXPECT_EQ(kernel->runs(), fact.runs);
    if (fact.kind != nullptr) {
      EXPECT_EQ(kernel->kernel().kind, fact.kind);
    }
    ASSERT_NE(kernel->Best(), nullptr);
    ASSERT_NE(kernel->Default(), nullptr);
    EXPECT_NEAR(*kernel->Best()->MedianSeconds() * 1e9, fact.best_ns, 1e-6);
    EXPECT_NEAR(kernel->Default()->seconds[0] * 1e9, fact.default_ns, 1e-6);
    EXPECT_EQ(recording_->Find(kernel->kernel().fingerprint), kernel);
    runs += kernel->runs();
  }
  EXPECT_EQ(runs, 672);
}

TEST_F(KernelTiles, KeepsTheTwoFailures) {
  const RecordedKernel* kernel = FindByName(*recording_, "fusion.191");
  ASSERT_NE(kernel, nullptr);
  size_t failures = 0;
  for (const RecordedConfig& config : kernel->configs()) {
    failures += config.failures.size();
    if (config.failures.empty()) continue;
    EXPECT_EQ(config.failures[0].kind, FailureKind::kRecordedFailure);
    EXPECT_TRUE(config.seconds.empty());
    EXPECT_FALSE(config.ToMeasurement(TimeSource::kHardware).ok());
  }
  EXPECT_EQ(failures, 2u);
  EXPECT_EQ(kernel->runs() - static_cast<int64_t>(failures), 579);
}

TEST_F(KernelTiles, SeveralRunsOfOneConfigurationAreSamplesOfIt) {
  const RecordedKernel* kernel = FindByName(*recording_, "fusion.232");
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(kernel->configs().size(), 60u) << "61 runs, the default twice";
  const RecordedConfig* config = kernel->Find("o=2,26,4,2");
  ASSERT_NE(config, nullptr);
  EXPECT_EQ(config, kernel->Default());
  EXPECT_EQ(config->seconds, (std::vector<double>{57188 / 1e9, 57204 / 1e9}));
}

TEST_F(KernelTiles, EmptyTilesAreOpaque) {
  const RecordedKernel* kernel = FindByName(*recording_, "reshape.37");
  ASSERT_NE(kernel, nullptr);
  EXPECT_TRUE(kernel->HasOpaqueConfigs());
  ASSERT_EQ(kernel->configs().size(), 3u);
  for (int64_t i = 0; i < 3; ++i) {
    const Config& config = kernel->configs()[static_cast<size_t>(i)].config;
    ASSERT_NE(config.opaque(), nullptr);
    EXPECT_EQ(config.opaque()->index, i);
  }
  EXPECT_FALSE(FindByName(*recording_, "fusion.191")->HasOpaqueConfigs());
}

TEST_F(KernelTiles, TheDefaultIsTheCompilersChoice) {
  const RecordedKernel* kernel = FindByName(*recording_, "fusion.191");
  ASSERT_TRUE(kernel->kernel().compiler_choice.has_value());
  EXPECT_EQ(Config(kernel->kernel().compiler_choice->bounds), kernel->Default()->config);
  EXPECT_FALSE(kernel->kernel().compiler_choice->estimated_cycles.has_value());
}

TEST_F(KernelTiles, OwnFormGivesTheSameBack) {
  const absl::StatusOr<std::string> bytes = recording_->Serialize();
  ASSERT_TRUE(bytes.ok()) << bytes.status();
  EXPECT_EQ(*recording_->Serialize(), *bytes) << "equal recordings give equal bytes";
  const absl::StatusOr<Recording> back = Recording::Parse(*bytes, "copy");
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->origin(), recording_->origin());
  ASSERT_EQ(back->kernels().size(), recording_->kernels().size());
  for (size_t k = 0; k < back->kernels().size(); ++k) {
    const RecordedKernel& a = recording_->kernels()[k];
    const RecordedKernel& b = back->kernels()[k];
    EXPECT_EQ(a.kernel().fingerprint, b.kernel().fingerprint);
    EXPECT_EQ(a.kernel().name, b.kernel().name);
    EXPECT_EQ(a.kernel().kind, b.kernel().kind);
    ASSERT_EQ(a.configs().size(), b.configs().size());
    for (size_t c = 0; c < a.configs().size(); ++c) {
      EXPECT_EQ(a.configs()[c].config, b.configs()[c].config);
      EXPECT_EQ(a.configs()[c].seconds, b.configs()[c].seconds);
      EXPECT_EQ(a.configs()[c].failures.size(), b.configs()[c].failures.size());
      EXPECT_EQ(a.configs()[c].is_default, b.configs()[c].is_default);
    }
  }
  EXPECT_EQ(*back->Serialize(), *bytes);
}

TEST_F(KernelTiles, MergeAddsSamplesAndKeepsOpaqueRunsApart) {
  Recording merged = *recording_;
  ASSERT_TRUE(merged.Merge(*recording_).ok());
  EXPECT_EQ(merged.kernels().size(), 10u);
  const RecordedKernel* tiled = FindByName(merged, "fusion.191");
  const RecordedKernel* before = FindByName(*recording_, "fusion.191");
  EXPECT_EQ(tiled->configs().size(), before->configs().size());
  EXPECT_EQ(tiled->runs(), 2 * before->runs());
  EXPECT_EQ(FindByName(merged, "reshape.37")->configs().size(), 6u);
}

TEST_F(KernelTiles, MergeRefusesOtherDevicesAndEstimates) {
  Recording other_device({"tpu-v4", "", "", TimeSource::kHardware});
  Recording estimates({"tpu-v3", "", "", TimeSource::kEstimate});
  const absl::Status device = other_device.Merge(*recording_);
  EXPECT_EQ(device.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(device.message()), HasSubstr("tpu-v4"));
  EXPECT_EQ(estimates.Merge(*recording_).code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(KernelTiles, SaveWritesAFileThatLoads) {
  const std::string path = absl::StrCat(::testing::TempDir(), "/recording_test.rec");
  ASSERT_TRUE(recording_->Save(path).ok());
  const absl::StatusOr<Recording> back = Recording::Load(path);
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->kernels().size(), 10u);
  std::filesystem::remove(path);
  const absl::Status missing = recording_->Save("/no/such/folder/x.rec");
  EXPECT_EQ(missing.code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.message()), HasSubstr("/no/such/folder/x.rec"));
}

TEST(Recording, LoadOfNothing) {
  const absl::StatusOr<Recording> missing = Recording::Load("/no/such/file.pb");
  EXPECT_EQ(missing.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(missing.status().message()), HasSubstr("/no/such/file.pb"));
  EXPECT_EQ(Recording::Load("/").status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(Recording::Parse("", "x.pb").status().message()),
              HasSubstr("x.pb: the file is empty"));
}

TEST(Recording, WhatIsNoRecordingIsRefused) {
  const std::string text = "HloModule m\n\nENTRY e {\n  ROOT p = f32[] parameter(0)\n}\n";
  EXPECT_FALSE(Recording::LooksLikeRecording(text));
  const absl::StatusOr<Recording> from_text = Recording::Parse(text, "m.hlo");
  ASSERT_FALSE(from_text.ok());
  EXPECT_THAT(std::string(from_text.status().message()),
              HasSubstr("m.hlo: this is a program (hlo), not a recording of measurements; "
                        "`autotune record` makes one of it"));

  // A HloProto is a message with a module in field 1, as a ModuleTuningData is, but without runs.
  proto::TuningData data;
  ASSERT_TRUE(data.ParseFromString(KernelTilesBytes()));
  proto::HloProto hlo;
  *hlo.mutable_hlo_module() = data.modules(0).module();
  const std::string bytes = hlo.SerializeAsString();
  EXPECT_FALSE(Recording::LooksLikeRecording(bytes));
  const absl::StatusOr<Recording> from_hlo = Recording::Parse(bytes, "m.pb");
  ASSERT_FALSE(from_hlo.ok());
  EXPECT_THAT(std::string(from_hlo.status().message()),
              HasSubstr("m.pb: this is a program (hloproto), not a recording"));
  EXPECT_FALSE(Recording::LooksLikeRecording(data.modules(0).module().SerializeAsString()));
}

TEST(Recording, ADamagedOneIsNotCalledAProgram) {
  proto::TuningData data;
  ASSERT_TRUE(data.ParseFromString(KernelTilesBytes()));
  for (const std::string& whole : {data.modules(0).SerializeAsString(), data.SerializeAsString()}) {
    const size_t step = std::max<size_t>(whole.size() / 100, 1);
    int refused = 0;
    for (size_t at = 0; at < whole.size(); at += step) {
      for (const char mask : {'\x01', '\x04', '\x7f', '\xff'}) {
        std::string damaged = whole;
        damaged[at] = static_cast<char>(damaged[at] ^ mask);
        const absl::StatusOr<Recording> read = Recording::Parse(damaged, "one.pb");
        if (read.ok()) continue;
        ++refused;
        EXPECT_THAT(std::string(read.status().message()), Not(HasSubstr("this is a program")))
            << "byte " << at;
      }
    }
    EXPECT_GT(refused, 25);
  }
}

TEST(Recording, AModuleTuningDataAloneIsARecording) {
  proto::TuningData data;
  ASSERT_TRUE(data.ParseFromString(KernelTilesBytes()));
  const std::string bytes = data.modules(0).SerializeAsString();
  EXPECT_TRUE(Recording::LooksLikeRecording(bytes));
  EXPECT_TRUE(Recording::LooksLikeRecording(KernelTilesBytes()));
  const absl::StatusOr<Recording> recording = Recording::Parse(bytes, "one.pb");
  ASSERT_TRUE(recording.ok()) << recording.status();
  ASSERT_EQ(recording->kernels().size(), 1u);
  EXPECT_EQ(recording->kernels()[0].kernel().name, data.modules(0).module().name());
}

TEST(Recording, ARunWithoutTimeIsAFailure) {
  proto::TuningData data;
  ASSERT_TRUE(data.ParseFromString(KernelTilesBytes()));
  proto::ModuleTuningData& module = *data.mutable_modules(0);
  module.mutable_runs()->DeleteSubrange(1, module.runs_size() - 1);
  module.mutable_runs(0)->mutable_profile()->set_compute_time_ns(0);
  const absl::StatusOr<Recording> recording = Recording::Parse(module.SerializeAsString(), "x");
  ASSERT_TRUE(recording.ok()) << recording.status();
  const RecordedConfig& run = recording->kernels()[0].configs()[0];
  ASSERT_EQ(run.failures.size(), 1u);
  EXPECT_EQ(run.failures[0].kind, FailureKind::kRecordedFailure);
}

TEST(Recording, DamageNamesRecordRunAndByte) {
  proto::TuningData data;
  ASSERT_TRUE(data.ParseFromString(KernelTilesBytes()));
  data.mutable_modules(1)
      ->mutable_runs(5)
      ->mutable_op_config()
      ->mutable_tile_size_config()
      ->set_output_bounds(0, -4);
  const absl::StatusOr<Recording> recording = Recording::Parse(data.SerializeAsString(), "x.pb");
  ASSERT_FALSE(recording.ok());
  EXPECT_EQ(recording.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(recording.status().message()),
              ::testing::MatchesRegex("x\\.pb: module record 1 at byte [0-9]+: run 5 at byte "
                                      "[0-9]+: output bound -4 is negative"));
}

// A cut TuningData is refused unless the cut is right between two modules, where what is left is a
// complete smaller file.
TEST(Recording, CutAnywhereNeverCrashes) {
  const std::string bytes = KernelTilesBytes();
  proto::TuningData data;
  ASSERT_TRUE(data.ParseFromString(bytes));
  std::vector<size_t> ends = {};
  proto::TuningData prefix;
  for (const proto::ModuleTuningData& module : data.modules()) {
    *prefix.add_modules() = module;
    ends.push_back(prefix.ByteSizeLong());
  }
  ASSERT_EQ(ends.back(), bytes.size());
  for (size_t length = 0; length < bytes.size(); length += length < 4000 ? 1 : 37) {
    const absl::StatusOr<Recording> cut =
        Recording::Parse(absl::string_view(bytes).substr(0, length), "cut.pb");
    const bool whole = std::find(ends.begin(), ends.end(), length) != ends.end();
    ASSERT_EQ(cut.ok(), whole) << "cut at " << length;
    if (!whole) {
      EXPECT_THAT(std::string(cut.status().message()), HasSubstr("cut.pb"));
      EXPECT_EQ(cut.status().code(), absl::StatusCode::kInvalidArgument);
    }
  }
}

TEST(Recording, CutOrDamagedOwnFormIsAlwaysRefused) {
  proto::TuningData data;
  ASSERT_TRUE(data.ParseFromString(KernelTilesBytes()));
  data.mutable_modules()->DeleteSubrange(3, data.modules_size() - 3);
  const absl::StatusOr<Recording> small = Recording::Parse(data.SerializeAsString(), "small");
  ASSERT_TRUE(small.ok());
  const std::string bytes = *small->Serialize();
  for (size_t length = 0; length < bytes.size();
       length += length < 64 || length + 64 > bytes.size() ? 1 : 13) {
    const absl::StatusOr<Recording> cut =
        Recording::Parse(absl::string_view(bytes).substr(0, length), "cut.rec");
    ASSERT_FALSE(cut.ok()) << "cut at " << length;
    EXPECT_THAT(std::string(cut.status().message()), HasSubstr("cut.rec"));
  }
  for (size_t at = 10; at < bytes.size(); at += 41) {  // the first 10 bytes are gzip's header
    std::string damaged = bytes;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    EXPECT_FALSE(Recording::Parse(damaged, "damaged.rec").ok()) << "byte " << at;
  }
}

TEST(Recording, ModuleLayoutsAreConfigurationsOfTheProgram) {
  const std::string path = absl::StrCat(AUTOTUNE_SHARED_DIR, "/data/tpu_v3/module_layouts.pb");
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "needs " << path;
  const absl::StatusOr<Recording> recording = Recording::Load(path);
  ASSERT_TRUE(recording.ok()) << recording.status();
  ASSERT_EQ(recording->kernels().size(), 1u);
  const RecordedKernel& program = recording->kernels()[0];
  EXPECT_EQ(program.kernel().kind, "program");
  EXPECT_EQ(program.kernel().module->computations().size(), 143u);
  EXPECT_EQ(program.kernel().module->instruction_count(), 3163);
  EXPECT_EQ(program.runs(), 122);
  EXPECT_EQ(program.layout_node_ids().size(), 62u);
  for (const RecordedConfig& config : program.configs()) {
    ASSERT_NE(config.config.layout(), nullptr);
    EXPECT_EQ(config.config.layout()->nodes.size(), 62u);
  }
  ASSERT_NE(program.Default(), nullptr);
  EXPECT_NEAR(program.Default()->seconds[0], 0.910903932, 1e-12);

  const absl::StatusOr<std::string> bytes = recording->Serialize();
  ASSERT_TRUE(bytes.ok());
  const absl::StatusOr<Recording> back = Recording::Parse(*bytes, "layouts");
  ASSERT_TRUE(back.ok()) << back.status();
  EXPECT_EQ(back->kernels()[0].kernel().fingerprint, program.kernel().fingerprint);
  EXPECT_EQ(back->kernels()[0].layout_node_ids(), program.layout_node_ids());
  EXPECT_EQ(*back->Serialize(), *bytes);
}

}  // namespace
}  // namespace autotune
