#include "costmodel/npz_data.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "costmodel/npz_examples.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/costmodel/learning_test_data.h"

namespace autotune {
namespace {

// Two recorded kernels in a folder for each side.
class NpzDataTest : public testing::Test {
 protected:
  void SetUp() override {
    const Recording recording = RecordedKernels();
    for (const char* side : {"train", "valid", "test"}) {
      std::filesystem::create_directories(folder_ + "/" + side);
    }
    const std::pair<const char*, const char*> kernels[] = {{"train/alexnet.1.npz", "copy.24"},
                                                           {"valid/vgg.1.npz", "fusion.181"},
                                                           {"test/resnet.1.npz", "fusion.207"},
                                                           {"mobile.1.npz", "fusion.206"}};
    for (const auto& [file, name] : kernels) {
      examples_.push_back(
          MakeExample(KernelNamed(recording, name), "p", "tpu-v3", AnalyticalConstants())
              .value()
              .value());
      files_.push_back(folder_ + "/" + file);
      ASSERT_TRUE(WriteNpzExample(examples_.back(), files_.back()).ok());
    }
    for (auto* store : {&training_, &validation_, &test_}) {
      *store = ExampleStore::Create(testing::TempDir(), 1 << 20).value();
    }
  }
  absl::StatusOr<RecordedData> Read(const ProgramSplit& split, int64_t max_configs = 100) {
    return ReadNpzData(files_, TileFeatureSchema(), split, max_configs, training_.get(),
                       validation_.get(), test_.get());
  }

  const std::string folder_ = testing::TempDir() + "/npz_data";
  std::vector<KernelExample> examples_;
  std::vector<std::string> files_;
  std::unique_ptr<ExampleStore> training_, validation_, test_;
};

TEST_F(NpzDataTest, FoldersTellTheSideAndTheSplitTheRest) {
  const auto data = Read({{"alexnet", Side::kTest}, {"mobile", Side::kTest}});
  ASSERT_TRUE(data.ok()) << data.status();
  ASSERT_EQ(training_->size(), 1);
  EXPECT_EQ(training_->info(0).program, "alexnet");
  EXPECT_EQ(validation_->size(), 1);
  ASSERT_EQ(test_->size(), 2);
  EXPECT_EQ(test_->info(1).program, "mobile");
  EXPECT_EQ(data->split.at("alexnet"), Side::kTraining);
  EXPECT_NE(data->fingerprint, 0u);
}

TEST_F(NpzDataTest, AProgramOfSeveralSidesCountsAsSeen) {
  files_.push_back(folder_ + "/test/alexnet.2.npz");
  ASSERT_TRUE(WriteNpzExample(examples_[1], files_.back()).ok());
  std::swap(files_.front(), files_.back());
  const auto data = Read({});
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(data->split.at("alexnet"), Side::kTraining);
  EXPECT_EQ(data->split.at("resnet"), Side::kTest);
}

TEST_F(NpzDataTest, AllFeaturesAndTheBaseComeBack) {
  ASSERT_TRUE(Read({}).ok());
  const auto read = training_->Read(0).value();
  EXPECT_EQ(read->graph.kernel_features, examples_[0].graph.kernel_features);
  EXPECT_EQ(read->config_features, examples_[0].config_features);
  EXPECT_EQ(read->base, examples_[0].base);
  // Whole picoseconds of some microseconds.
  for (size_t i = 0; i < read->target.size(); ++i) {
    EXPECT_NEAR(read->target[i], examples_[0].target[i], 1e-6);
  }
}

TEST_F(NpzDataTest, KeepsNoMoreConfigurationsThanAsked) {
  ASSERT_TRUE(Read({}, 4).ok());
  EXPECT_EQ(training_->info(0).configs, 4);
}

TEST_F(NpzDataTest, SchemasAreToldApart) {
  EXPECT_EQ(DetectNpzSchema(files_[0]).value(), &TileFeatureSchema());
  EXPECT_EQ(DetectNpzSchema(folder_).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(NpzDataTest, FeaturesOfTheKernelAreNeeded) {
  KernelExample bare = examples_[0];
  bare.graph.kernel_features.clear();
  ASSERT_TRUE(WriteNpzExample(bare, files_[0]).ok());
  EXPECT_THAT(std::string(Read({}).status().message()), testing::HasSubstr("kernel_feat"));
}

}  // namespace
}  // namespace autotune
