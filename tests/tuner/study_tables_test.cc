#include "tuner/study_tables.h"

#include <filesystem>
#include <string>
#include <vector>

#include "costmodel/network_module.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"

namespace autotune {
namespace {

class StudyTablesTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!FindNetworkModule().ok()) GTEST_SKIP() << FindNetworkModule().status();
    for (const char* program : {"int8_mixed_mlp", "llama_rope_prefill", "mlp_mixer_b16"}) {
      options_.files.push_back(std::string(AUTOTUNE_SOURCE_DIR) + "/examples/recordings/aot_v3/" +
                               program + ".v3.rec");
    }
    options_.trainer.epochs = 1;
    options_.trainer.network.hidden = 16;
    options_.seeds = 2;
    options_.bootstrap = 20;
    options_.scratch = testing::TempDir();
    options_.families = {{"decoders", {"llama_rope_prefill"}},
                         {"perceptrons", {"int8_mixed_mlp", "mlp_mixer_b16"}}};
  }

  StudyOptions options_;
};

TEST_F(StudyTablesTest, UnseenFamiliesAreJudgedOneByOne) {
  options_.kind = StudyKind::kUnseen;
  std::vector<std::string> trainings;
  options_.progress = [&](const std::string& line) { trainings.push_back(line); };
  const auto study = RunModelStudy(options_);
  ASSERT_TRUE(study.ok()) << study.status();
  EXPECT_EQ(trainings.size(), 4u);  // two families, two seeds; "all families" trains nothing
  ASSERT_EQ((*study)["rows"].size(), 3u);
  const nlohmann::json& decoders = (*study)["rows"][0];
  EXPECT_EQ(decoders["name"], "decoders");
  EXPECT_EQ((*study)["rows"][2]["name"], "all families");
  EXPECT_EQ((*study)["rows"][2]["learned"]["kernels"].get<int>(),
            decoders["learned"]["kernels"].get<int>() +
                (*study)["rows"][1]["learned"]["kernels"].get<int>());
  const nlohmann::json& tau = decoders["learned"]["kendall_tau"];
  ASSERT_EQ(tau["seeds"].size(), 2u);
  EXPECT_NEAR(tau["median"].get<double>(),
              (tau["seeds"][0].get<double>() + tau["seeds"][1].get<double>()) / 2, 1e-12);
  EXPECT_LE(tau["low"].get<double>(), tau["high"].get<double>());
  EXPECT_THAT(StudyToMarkdown(*study), testing::HasSubstr("| decoders | "));
}

TEST_F(StudyTablesTest, ExportsEverySplit) {
  options_.export_to = testing::TempDir() + "/study_export";
  options_.seeds = 1;
  ASSERT_TRUE(RunModelStudy(options_).ok());
  for (const char* side : {"training", "validation", "test"}) {
    EXPECT_FALSE(std::filesystem::is_empty(options_.export_to + "/0/" + side)) << side;
  }
}

TEST_F(StudyTablesTest, CurvesByConfigurationsKeepTheTestSide) {
  options_.kind = StudyKind::kCurve;
  options_.curve_configs = {100};
  options_.seeds = 1;
  const auto study = RunModelStudy(options_);
  ASSERT_TRUE(study.ok()) << study.status();
  ASSERT_EQ((*study)["rows"].size(), 2u);
  const nlohmann::json &part = (*study)["rows"][0], &all = (*study)["rows"][1];
  EXPECT_EQ(part["name"], "100 configurations");
  EXPECT_EQ(part["learned"]["kernels"], all["learned"]["kernels"]);
  EXPECT_EQ(part["training"]["kernels_median"], all["training"]["kernels_median"]);
  EXPECT_EQ(part["analytical"], all["analytical"]);
  EXPECT_NEAR(part["training"]["configs_median"].get<double>(), 100, 20);
  EXPECT_GT(all["training"]["configs_median"].get<double>(), 150);
}

TEST_F(StudyTablesTest, TheTestShareIsOfThePrograms) {
  options_.seeds = 1;
  options_.validation_share = 0;
  double trained[2];
  for (int two = 0; two < 2; ++two) {  // of three programs
    options_.test_share = two ? 0.66 : 0.33;
    const auto study = RunModelStudy(options_);
    ASSERT_TRUE(study.ok()) << study.status();
    trained[two] = (*study)["rows"][0]["training"]["kernels_median"].get<double>();
  }
  EXPECT_LT(trained[1], trained[0]);
  options_.test_share = 0;
  EXPECT_FALSE(RunModelStudy(options_).ok()) << "nothing is left to judge by";
}

TEST_F(StudyTablesTest, TransferNeedsTwoDevices) {
  options_.kind = StudyKind::kTransfer;
  EXPECT_EQ(RunModelStudy(options_).status().message(),
            "transfer needs recordings of at least two devices");
}

}  // namespace
}  // namespace autotune
