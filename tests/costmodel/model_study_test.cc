#include "costmodel/model_study.h"

#include <set>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "costmodel/features.h"
#include "gtest/gtest.h"
#include "tests/costmodel/learning_test_data.h"

namespace autotune {
namespace {

class ModelStudyTest : public testing::Test {
 protected:
  ModelStudyTest() {
    for (const char* program : {"int8_mixed_mlp", "llama_rope_prefill", "mlp_mixer_b16"}) {
      files_.push_back(std::string(AUTOTUNE_SOURCE_DIR) + "/examples/recordings/aot_v3/" + program +
                       ".v3.rec");
    }
    split_.name = "one";
    split_.programs = {{"int8_mixed_mlp", Side::kTest},
                       {"llama_rope_prefill", Side::kTraining},
                       {"mlp_mixer_b16", Side::kValidation}};
  }
  auto Create() { return StudyData::Create(files_, split_, testing::TempDir(), 1 << 24); }

  std::vector<std::string> files_;
  StudySplit split_;
};

TEST_F(ModelStudyTest, SidesShareNoKernel) {
  const auto data = Create();
  ASSERT_TRUE(data.ok()) << data.status();
  std::set<uint64_t> trained;
  for (int64_t i = 0; i < (*data)->training().size(); ++i) {
    trained.insert((*data)->training().info(i).fingerprint);
    EXPECT_EQ((*data)->training().info(i).program, "llama_rope_prefill");
  }
  for (int64_t i = 0; i < (*data)->test().size(); ++i) {
    EXPECT_EQ((*data)->test().info(i).program, "int8_mixed_mlp");
    EXPECT_FALSE(trained.contains((*data)->test().info(i).fingerprint));
  }
  // Fitted on the training side.
  EXPECT_NE((*data)->constants().at("tpu-v3").launch_seconds, AnalyticalConstants().launch_seconds);
}

TEST_F(ModelStudyTest, DevicesAreLeftOut) {
  split_.test_device = "tpu-v5e";
  const std::string message(Create().status().message());
  EXPECT_TRUE(absl::StartsWith(message, "the split \"one\" leaves 2")) << message;
  EXPECT_TRUE(absl::EndsWith(message, " kernels to train on and 0 to judge")) << message;
  split_.test_device = "tpu-v3";
  EXPECT_TRUE(Create().ok());
}

TEST_F(ModelStudyTest, TrainsOnAsManyConfigurationsOfEachKernelAsAskedFor) {
  const auto all = Create();
  split_.training_configs = 60;
  const auto part = Create();
  ASSERT_TRUE(all.ok() && part.ok()) << all.status() << part.status();
  ASSERT_EQ((*part)->training().size(), (*all)->training().size());
  ASSERT_EQ((*part)->test().size(), (*all)->test().size());
  EXPECT_EQ((*part)->constants().at("tpu-v3").launch_seconds,
            (*all)->constants().at("tpu-v3").launch_seconds);
  int64_t total = 0, kept = 0, kernels = 0;
  for (int64_t i = 0; i < (*all)->training().size(); ++i) {
    const auto whole = (*all)->training().Read(i).value();
    const auto sample = (*part)->training().Read(i).value();
    total += whole->configs();
    kept += sample->configs();
    ++kernels;
    EXPECT_GE(sample->configs(), 2);
    // The rows are those of the whole, in their order.
    const size_t width = whole->config_features.size() / whole->target.size();
    size_t at = 0;
    for (size_t row = 0; row < sample->target.size(); ++row, ++at) {
      while (at < whole->target.size() && whole->target[at] != sample->target[row]) ++at;
      ASSERT_LT(at, whole->target.size());
    }
    EXPECT_EQ(sample->config_features.size(), width * sample->target.size());
  }
  ASSERT_GT(total, 200);
  EXPECT_NEAR(static_cast<double>(kept), 60, 2 * static_cast<double>(kernels));
}

TEST_F(ModelStudyTest, JudgesTheTestSideAlone) {
  SKIP_WITHOUT_NETWORKS();
  const auto data = Create();
  ASSERT_TRUE(data.ok()) << data.status();
  TrainerOptions options;
  options.network.opcodes = TileFeatureSchema().opcodes;
  options.network.hidden = 16;
  options.network.seed = 3;
  options.epochs = 2;
  const auto scores = (*data)->Run(options);
  ASSERT_TRUE(scores.ok()) << scores.status();
  ASSERT_EQ(static_cast<int64_t>(scores->learned.size()), (*data)->test().size());
  EXPECT_EQ(scores->training_kernels, (*data)->training().size());
  for (size_t i = 0; i < scores->learned.size(); ++i) {
    EXPECT_EQ(scores->learned[i].seconds, scores->analytical[i].seconds);
    EXPECT_EQ(scores->learned[i].info.program, "int8_mixed_mlp");
  }
  options.jobs = 2;
  const auto again = (*data)->Run(options);
  ASSERT_TRUE(again.ok()) << again.status();
  EXPECT_EQ(again->learned[0].log_seconds, scores->learned[0].log_seconds);
}

}  // namespace
}  // namespace autotune
