// The tile spaces of the recorded AlexNet kernels against what was recorded of them.

#include "search/kernel_tile_space.h"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hardware/atomic_file.h"
#include "hardware/device_spec.h"
#include "hardware/recording.h"
#include "hlo/module.h"
#include "hlo/parser.h"

namespace autotune {
namespace {

DeviceSpec TpuV3() { return *FindDeviceSpec("tpu-v3"); }

class KernelTileSpaceTest : public ::testing::Test {
 protected:
  void SetUp() override {
    auto loaded = Recording::Load(absl::StrCat(AUTOTUNE_SOURCE_DIR, "/examples/alexnet/tpu_v3.pb"));
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    recording_ = std::make_unique<Recording>(*std::move(loaded));
  }

  const RecordedKernel& Find(const std::string& name) const {
    for (const RecordedKernel& kernel : recording_->kernels()) {
      if (kernel.kernel().name == name) return kernel;
    }
    ADD_FAILURE() << "no kernel " << name;
    return recording_->kernels().front();
  }

  std::unique_ptr<TileSpace> SpaceOf(const RecordedKernel& recorded) const {
    auto geometry = TileGeometry::Create(*recorded.kernel().module);
    EXPECT_TRUE(geometry.ok()) << geometry.status();
    auto space = CreateKernelTileSpace(*geometry, TpuV3());
    EXPECT_TRUE(space.ok()) << space.status();
    return *std::move(space);
  }

  std::unique_ptr<Recording> recording_;
};

TEST_F(KernelTileSpaceTest, ContainsTheRecordedTiles) {
  int64_t recorded_tiles = 0, contained = 0;
  for (const RecordedKernel& recorded : recording_->kernels()) {
    if (recorded.HasOpaqueConfigs()) continue;
    const std::unique_ptr<TileSpace> space = SpaceOf(recorded);
    for (const RecordedConfig& config : recorded.configs()) {
      if (config.seconds.empty()) continue;
      ++recorded_tiles;
      if (space->Contains(config.config)) {
        ++contained;
      } else {
        ADD_FAILURE() << recorded.kernel().name << " " << config.config.Key();
      }
    }
  }
  EXPECT_EQ(recorded_tiles, 662);
  EXPECT_EQ(contained, recorded_tiles);
}

TEST_F(KernelTileSpaceTest, HasTheSizeOfTheConvolution) {
  const auto space = SpaceOf(Find("fusion.191"));
  // 3 * 3 * 2 kernel bounds (output features are tied), 6 * 6 * 3 * 3 output bounds.
  EXPECT_EQ(space->combinations(), 18 * 324);
  ASSERT_TRUE(space->Size().has_value());
  EXPECT_LE(*space->Size(), 18 * 324);
  EXPECT_GE(*space->Size(), 5000);
}

TEST_F(KernelTileSpaceTest, ASmallVmemLeavesSmallTiles) {
  auto geometry = TileGeometry::Create(*Find("fusion.232").kernel().module);
  ASSERT_TRUE(geometry.ok());
  auto all = CreateKernelTileSpace(*geometry, TpuV3());
  DeviceSpec small = TpuV3();
  small.kernel_vmem_bytes = 64 << 10;
  auto few = CreateKernelTileSpace(*geometry, small);
  ASSERT_TRUE(all.ok() && few.ok());
  EXPECT_LT((*few)->Size(), (*all)->Size());
  EXPECT_GT((*few)->Size(), 0);
  for (const Config& config : (*few)->Enumerate(1000)) {
    EXPECT_LE(geometry->Evaluate(*config.tile()).vmem_bytes, 64 << 10);
  }
}

// The tiles that the compiler chose by itself in real programs.
struct Share {
  int64_t chosen = 0;     // kernels whose tile the space should hold
  int64_t contained = 0;  // of them
  int64_t not_tiled = 0;  // kernels with a tile that TileGeometry does not know
  std::string missed;     // the ones that are not contained, a line each
};

void AddProgram(const std::filesystem::path& path, const DeviceSpec& device, Share& share) {
  absl::StatusOr<std::string> text = ReadWholeFile(path.string());
  ASSERT_TRUE(text.ok()) << text.status();
  auto module = ParseHloText(*std::move(text));
  ASSERT_TRUE(module.ok()) << module.status();
  auto kernels = ExtractKernels(**module);
  ASSERT_TRUE(kernels.ok()) << kernels.status();
  for (const Kernel& kernel : *kernels) {
    if (!kernel.compiler_choice || kernel.compiler_choice->bounds.IsEmpty()) continue;
    auto geometry = TileGeometry::Create(*kernel.module);
    if (!geometry.ok()) {
      ++share.not_tiled;
      continue;
    }
    auto space = CreateKernelTileSpace(*geometry, device);
    ASSERT_TRUE(space.ok()) << space.status();
    ++share.chosen;
    const Config choice(kernel.compiler_choice->bounds);
    if ((*space)->Contains(choice)) {
      ++share.contained;
      continue;
    }
    TileEvaluation tile;
    const absl::Status status = geometry->Check(*choice.tile());
    if (status.ok()) geometry->Evaluate(*choice.tile(), &tile);
    absl::StrAppend(&share.missed, path.filename().string(), " ", kernel.name, " ", choice.Key(),
                    " vmem ", tile.vmem_bytes, " ", std::string(status.message()), "\n");
  }
}

class CompilerChoiceTest : public ::testing::TestWithParam<const char*> {};

TEST_P(CompilerChoiceTest, IsInTheSpace) {
  const std::filesystem::path folder = absl::StrCat(AUTOTUNE_SHARED_DIR, "/data/programs");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no recorded programs";
  const std::string suffix = GetParam();
  const DeviceSpec device = *FindDeviceSpec(suffix);
  std::vector<std::filesystem::path> programs;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (absl::EndsWith(entry.path().string(), absl::StrCat(".", suffix, ".hlo"))) {
      programs.push_back(entry.path());
    }
  }
  std::sort(programs.begin(), programs.end());
  Share share;
  for (const auto& program : programs) AddProgram(program, device, share);
  RecordProperty("chosen", std::to_string(share.chosen));
  RecordProperty("contained", std::to_string(share.contained));
  std::cout << share.contained << " of " << share.chosen << " tiles; " << share.not_tiled
            << " kernels without a geometry\n"
            << share.missed;
  EXPECT_GT(share.chosen, 900);
  EXPECT_LE(share.not_tiled, share.chosen / 50);
  EXPECT_GE(static_cast<double>(share.contained), 0.99 * static_cast<double>(share.chosen))
      << share.missed;
}

INSTANTIATE_TEST_SUITE_P(Programs, CompilerChoiceTest, ::testing::Values("v3", "v5e"),
                         [](const auto& test) { return std::string(test.param); });

}  // namespace
}  // namespace autotune
