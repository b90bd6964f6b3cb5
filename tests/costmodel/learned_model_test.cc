// LearnedModel and its files, on a network that is trained here on recorded kernels of a TPU v3.

#include "costmodel/learned_model.h"

#include <cmath>
#include <fstream>
#include <thread>

#include "absl/strings/str_cat.h"
#include "costmodel/analytical_model.h"
#include "costmodel/rank_metrics.h"
#include "costmodel/recorded_examples.h"
#include "costmodel/trainer.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hardware/atomic_file.h"
#include "tests/costmodel/learning_test_data.h"

namespace autotune {
namespace {

using testing::HasSubstr;

std::vector<Config> ConfigsOf(const RecordedKernel& kernel) {
  std::vector<Config> configs;
  for (const RecordedConfig& config : kernel.configs()) configs.push_back(config.config);
  return configs;
}

class LearnedModelTest : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!FindNetworkModule().ok()) return;
    recording_ = new Recording(RecordedKernels());
    file_ = new ModelFile(TrainedFile());
  }
  void SetUp() override { SKIP_WITHOUT_NETWORKS(); }

  // A few epochs on all kernels but fusion.232.
  static ModelFile TrainedFile() {
    auto training = MadeUpStore(0, 0), validation = MadeUpStore(0, 0);
    for (const char* name : {"fusion.191", "copy.24", "fusion.181"}) {
      auto example =
          MakeExample(KernelNamed(*recording_, name), "alexnet", "tpu-v3", AnalyticalConstants());
      EXPECT_TRUE(example.ok() && example->has_value());
      EXPECT_TRUE(training->Add(**example).ok());
    }
    TrainerOptions options;
    options.network.opcodes = TileFeatureSchema().opcodes;
    options.network.hidden = 16;
    options.network.members = 2;
    options.epochs = 4;
    auto result = TrainNetwork(*training, *validation, options, nullptr);
    EXPECT_TRUE(result.ok()) << result.status();
    ModelFile file;
    file.schema = TileFeatureSchema();
    file.network = result->network->options();
    file.constants["tpu-v3"] = AnalyticalConstants();
    file.hardware_share["tpu-v3"] = 0.5;
    file.split = {{"alexnet", Side::kTraining}, {"other", Side::kTest}};
    file.data_fingerprint = "0123456789abcdef";
    file.weights = result->network->Save(false);
    return file;
  }

  std::unique_ptr<LearnedModel> Create(TimeSource source = TimeSource::kEstimate) {
    auto model = LearnedModel::Create(*file_, v3_, source);
    EXPECT_TRUE(model.ok()) << model.status();
    return *std::move(model);
  }

  static Recording* recording_;
  static ModelFile* file_;
  const DeviceSpec v3_ = FindDeviceSpec("v3").value();
};

Recording* LearnedModelTest::recording_ = nullptr;
ModelFile* LearnedModelTest::file_ = nullptr;

TEST_F(LearnedModelTest, FilesComeBack) {
  const std::string directory = testing::TempDir() + "/model";
  ASSERT_TRUE(SaveModel(*file_, directory).ok());
  const auto loaded = LoadModel(directory);
  ASSERT_TRUE(loaded.ok()) << loaded.status();
  EXPECT_EQ(loaded->weights, file_->weights);
  EXPECT_EQ(loaded->schema, file_->schema);
  EXPECT_EQ(loaded->split, file_->split);
  EXPECT_EQ(loaded->hardware_share, file_->hardware_share);
  EXPECT_EQ(loaded->network.members, 2);
  EXPECT_EQ(loaded->data_fingerprint, file_->data_fingerprint);
  EXPECT_EQ(loaded->constants.at("tpu-v3").pass_cycles, AnalyticalConstants().pass_cycles);
}

TEST_F(LearnedModelTest, WhatDoesNotFitIsRefusedWithAReason) {
  const std::string directory = testing::TempDir() + "/changed";
  const auto reject = [&](const char* from, const char* to) {
    EXPECT_TRUE(SaveModel(*file_, directory).ok());
    std::string text = ReadWholeFile(directory + "/model.json").value();
    const size_t at = text.find(from);
    EXPECT_NE(at, std::string::npos) << from;
    text.replace(at, std::string(from).size(), to);
    std::ofstream(directory + "/model.json") << text;
    return LoadModel(directory).status();
  };
  EXPECT_THAT(std::string(reject("\"format\": 1", "\"format\": 99").message()),
              HasSubstr("has version 99 of the format; this autotune reads version 1"));
  const absl::Status features = reject("\"log_iterations\"", "\"log_trips\"");
  EXPECT_EQ(features.code(), absl::StatusCode::kFailedPrecondition);
  EXPECT_THAT(std::string(features.message()), HasSubstr("train it again"));
  EXPECT_THAT(std::string(reject("\"constants\"", "\"konstants\"").message()),
              HasSubstr("the member \"constants\" is missing"));
  EXPECT_THAT(std::string(reject("\"hidden\": 16", "\"hidden\": true").message()),
              HasSubstr("option \"hidden\" takes a whole number"));
  for (const char* too_large : {"1000000000", "18", "-4", "1e300"}) {
    EXPECT_THAT(
        std::string(
            reject("\"hidden\": 16", absl::StrCat("\"hidden\": ", too_large).c_str()).message()),
        HasSubstr("option \"hidden\" takes a"));
  }
  const std::string inputs = absl::StrCat("\"config_features\": ", file_->network.config_features);
  for (const char* other : {"\"config_features\": 50", "\"config_features\": 99999"}) {
    EXPECT_THAT(std::string(reject(inputs.c_str(), other).message()),
                HasSubstr("are not as many as \"schema\" names"));
  }
  EXPECT_THAT(std::string(reject("\"constants\": {", "\"constants\": null, \"was\": {").message()),
              HasSubstr("the member \"constants\" is missing or no such value"));
  EXPECT_THAT(std::string(reject("{", "[").message()), HasSubstr("is no JSON object"));
  ASSERT_TRUE(SaveModel(*file_, directory).ok());
  std::ofstream(directory + "/weights.bin", std::ios::app) << "x";
  EXPECT_THAT(std::string(LoadModel(directory).status().message()), HasSubstr("is damaged"));
  EXPECT_EQ(LoadModel(testing::TempDir() + "/none").status().code(), absl::StatusCode::kNotFound);
}

TEST_F(LearnedModelTest, WeightsOfAnotherNetworkAreRefused) {
  ModelFile file = *file_;
  file.network.hidden = 8;
  EXPECT_THAT(std::string(RestoreNetwork(file).status().message()),
              HasSubstr("the weights do not fit the network"));
  file.network.hidden = 4096;  // before it takes a gigabyte
  file.network.layers = 64;
  EXPECT_THAT(std::string(RestoreNetwork(file).status().message()), HasSubstr("too few"));
}

TEST_F(LearnedModelTest, ProgramsOfAnyNameAreSaved) {
  ModelFile file = *file_;
  file.split["g\xff\xfe"] = Side::kTraining;
  const std::string directory = testing::TempDir() + "/odd_name";
  ASSERT_TRUE(SaveModel(file, directory).ok());
  EXPECT_TRUE(LoadModel(directory).ok());
}

TEST_F(LearnedModelTest, PredictsTheBasePlusACorrection) {
  const RecordedKernel& kernel = KernelNamed(*recording_, "fusion.232");
  const std::vector<Config> configs = ConfigsOf(kernel);
  const auto learned = Create()->Predict(kernel.kernel(), configs);
  const auto hardware = Create(TimeSource::kHardware)->Predict(kernel.kernel(), configs);
  const auto base = AnalyticalModel(v3_).Predict(kernel.kernel(), configs);
  ASSERT_TRUE(learned.ok() && hardware.ok() && base.ok());
  double difference = 0;
  for (size_t i = 0; i < configs.size(); ++i) {
    ASSERT_TRUE(std::isfinite((*learned)[i]));
    // Half of the correction on hardware.
    EXPECT_NEAR((*hardware)[i] - (*base)[i], ((*learned)[i] - (*base)[i]) / 2, 1e-6);
    difference = std::max(difference, std::abs((*learned)[i] - (*base)[i]));
  }
  EXPECT_GT(difference, 1e-3);
}

TEST_F(LearnedModelTest, ThreadsAndNeighboursDoNotShow) {
  const RecordedKernel& kernel = KernelNamed(*recording_, "fusion.191");
  const std::vector<Config> configs = ConfigsOf(kernel);
  const auto model = Create();
  const std::vector<double> together = model->Predict(kernel.kernel(), configs).value();
  std::vector<double> apart(configs.size());
  std::vector<std::thread> threads;
  for (size_t t = 0; t < 3; ++t) {
    threads.emplace_back([&, t] {
      for (size_t i = t; i < configs.size(); i += 3) {
        apart[i] = model->Predict(kernel.kernel(), {&configs[i], 1}).value()[0];
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(together, apart);
}

TEST_F(LearnedModelTest, ImpossibleConfigurations) {
  const auto model = Create();
  const Kernel& kernel = KernelNamed(*recording_, "fusion.232").kernel();
  TileBounds wrong;
  wrong.output = {1};
  const auto predictions = model->Predict(kernel, {Config(OpaqueConfig{3}), Config(wrong)});
  ASSERT_TRUE(predictions.ok());
  EXPECT_THAT(*predictions, testing::Each(INFINITY));
}

TEST_F(LearnedModelTest, FitLearnsTheKernelAndForgetsNothing) {
  const auto model = Create(TimeSource::kHardware);
  const RecordedKernel& kernel = KernelNamed(*recording_, "fusion.232");
  const RecordedKernel& other = KernelNamed(*recording_, "fusion.191");
  const std::vector<Config> configs = ConfigsOf(kernel);
  const auto tau = [&](const RecordedKernel& of) {
    std::vector<double> scores, seconds;
    const auto all = ConfigsOf(of);
    const auto predictions = model->Predict(of.kernel(), all).value();
    for (size_t i = 0; i < all.size(); ++i) {
      const auto median = of.configs()[i].MedianSeconds();
      if (!median) continue;
      scores.push_back(predictions[i]);
      seconds.push_back(*median);
    }
    return *KendallTau(scores, seconds);
  };
  const double before = tau(kernel), other_before = tau(other);
  std::vector<TrainingSample> samples;
  for (size_t i = 0; i < configs.size(); i += 3) {
    samples.push_back({&kernel.kernel(), configs[i], *kernel.configs()[i].MedianSeconds()});
  }
  ASSERT_TRUE(model->Fit(samples).ok());
  EXPECT_GT(tau(kernel), before);
  EXPECT_NEAR(tau(other), other_before, 0.05);
  // Fitting again from the same samples changes nothing; with none, everything is as trained.
  const auto fitted = model->Predict(kernel.kernel(), configs).value();
  ASSERT_TRUE(model->Fit(samples).ok());
  EXPECT_EQ(model->Predict(kernel.kernel(), configs).value(), fitted);
  ASSERT_TRUE(model->Fit({}).ok());
  EXPECT_EQ(tau(kernel), before);
}

TEST_F(LearnedModelTest, OtherDevicesAndTasksAreRefused) {
  const auto v4 = LearnedModel::Create(*file_, FindDeviceSpec("v4").value(), TimeSource::kEstimate);
  EXPECT_EQ(v4.status().message(), "the learned model knows tpu-v3, not tpu-v4");
  ModelFile fusion = *file_;
  fusion.task = "fusion";
  EXPECT_EQ(LearnedModel::Create(fusion, v3_, TimeSource::kEstimate).status().code(),
            absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace autotune
