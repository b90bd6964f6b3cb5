// The tile spaces of the recorded AlexNet kernels against what was recorded of them.

#include "search/kernel_tile_space.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hardware/recording.h"
#include "hlo/module.h"

namespace autotune {
namespace {

constexpr int64_t kVmemBytes = int64_t{16} << 20;  // TPU v3

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
    auto space = CreateKernelTileSpace(*geometry, kVmemBytes);
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
  auto all = CreateKernelTileSpace(*geometry, kVmemBytes);
  auto few = CreateKernelTileSpace(*geometry, 64 << 10);
  ASSERT_TRUE(all.ok() && few.ok());
  EXPECT_LT((*few)->Size(), (*all)->Size());
  EXPECT_GT((*few)->Size(), 0);
  for (const Config& config : (*few)->Enumerate(1000)) {
    EXPECT_LE(geometry->Evaluate(*config.tile()).vmem_bytes, 64 << 10);
  }
}

}  // namespace
}  // namespace autotune
