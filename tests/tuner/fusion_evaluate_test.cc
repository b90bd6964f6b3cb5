// How well times of kernels are predicted before they were compiled.

#include "tuner/fusion_evaluate.h"

#include <cstdint>
#include <filesystem>
#include <iterator>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "costmodel/fusion_examples.h"
#include "costmodel/network_module.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hardware/device_spec.h"
#include "nlohmann/json.hpp"
#include "tests/hardware/fusion_pair.h"

namespace autotune {
namespace {

using ::testing::HasSubstr;

class FusionEvaluateTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = absl::StrCat(::testing::TempDir(), "/fusion_evaluate_",
                           ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
    for (const char* name : {"a", "b", "c"}) {
      WriteFusionPair(folder_, name, static_cast<uint64_t>(name[0]));
    }
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string folder_;
};

// The three kernels read and write 4 MiB each: 18.6 us on v3, where they take 100, 60 and 40 us.
TEST_F(FusionEvaluateTest, TheRooflineIsJudgedByKernelsThatAreNotKnown) {
  const auto rows = AssessFusionModels(FusionPairsOf(folder_)[0], nullptr);
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 1);
  EXPECT_EQ((*rows)[0].program, "a");
  EXPECT_EQ((*rows)[0].model, "roofline");
  const std::vector<FusionQuality>& quality = (*rows)[0].quality;
  const double roofline = 2 * 4194304 / FindDeviceSpec("v3")->hbm_bytes_per_second;
  EXPECT_EQ(quality[0].kernels, 3);
  const double errors[] = {100 * (1 - roofline / 1e-4), 100 * (1 - roofline / 6e-5),
                           100 * (1 - roofline / 4e-5)};
  EXPECT_NEAR(quality[0].mape, (errors[0] + errors[1] + errors[2]) / 3, 1e-9);
  EXPECT_NEAR(quality[0].median_ape, errors[1], 1e-9);
  // After the default compilation the kernel of all five operations is known, and corrects those
  // that share operations with it; after twenty nothing is left to judge.
  EXPECT_EQ(quality[1].kernels, 2);
  EXPECT_LT(quality[1].mape, quality[0].mape);
  EXPECT_EQ(quality[2].kernels, 0);
}

TEST_F(FusionEvaluateTest, EachProgramIsJudgedByANetworkOfTheOthers) {
  if (!FindNetworkModule().ok()) GTEST_SKIP() << FindNetworkModule().status();
  const std::vector<FusionPair> pairs = FusionPairsOf(folder_);
  const auto rows = CrossValidateFusion(pairs, 1, 1, folder_);
  ASSERT_TRUE(rows.ok()) << rows.status();
  ASSERT_EQ(rows->size(), 6);  // two models of three programs, in the order of the pairs
  for (size_t i = 0; i < rows->size(); ++i) {
    EXPECT_EQ((*rows)[i].program, std::string(1, static_cast<char>('a' + i / 2)));
    EXPECT_EQ((*rows)[i].model, i % 2 == 0 ? "learned" : "roofline");
    EXPECT_EQ((*rows)[i].quality[0].kernels, 3);
  }
  // The other two programs have the same kernels with the same times.
  EXPECT_LT((*rows)[0].quality[0].mape, (*rows)[1].quality[0].mape);
  EXPECT_THAT(FusionQualityText(*rows), HasSubstr("all"));
  EXPECT_EQ(FusionQualityJson(*rows)["rows"].size(), 8 * std::size(kFusionKnown));
}

}  // namespace
}  // namespace autotune
