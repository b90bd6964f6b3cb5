#include "costmodel/trainer.h"

#include <cstdio>
#include <fstream>
#include <string>

#include "costmodel/network_json.h"
#include "gtest/gtest.h"
#include "hardware/atomic_file.h"
#include "tests/costmodel/learning_test_data.h"

namespace autotune {
namespace {

class TrainerTest : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_NETWORKS();
    options_.network = SmallNetwork();
    options_.network.members = 2;
    options_.epochs = 6;
    options_.step.learning_rate = 5e-3;
    options_.kernel_configs = 8;
    options_.step.dropout = 0.05;
    options_.batch_kernels = 4;
  }
  absl::StatusOr<TrainingResult> Train(const TrainingProgress& progress = nullptr) {
    return TrainNetwork(*training_, *validation_, options_, progress);
  }
  std::string Checkpoint(const std::string& name) {
    std::string path = testing::TempDir() + "/" + name;
    std::remove(path.c_str());
    return path;
  }

  const std::unique_ptr<ExampleStore> training_ = MadeUpStore(0, 40);
  const std::unique_ptr<ExampleStore> validation_ = MadeUpStore(1000, 12);
  TrainerOptions options_;
};

TEST_F(TrainerTest, LearnsAndKeepsTheBestEpoch) {
  options_.epochs = 25;
  const auto result = Train();
  ASSERT_TRUE(result.ok()) << result.status();
  const auto learned = AssessNetwork(*result->network, *validation_, 2);
  const auto base = AssessBase(*validation_);
  EXPECT_GT(learned->kendall_tau, 0.6);
  EXPECT_LT(base->kendall_tau, 0.3);
  EXPECT_LT(learned->tile_size_ape, base->tile_size_ape);
  double best = -100;
  int64_t best_epoch = 0;
  for (const EpochReport& report : result->epochs) {
    const double score = report.validation.kendall_tau - report.validation.tile_size_ape / 100;
    if (score > best) best_epoch = report.epoch;
    best = std::max(best, score);
  }
  EXPECT_EQ(result->best_epoch, best_epoch);
  EXPECT_NEAR(learned->kendall_tau - learned->tile_size_ape / 100, best, 1e-12);
}

TEST_F(TrainerTest, ThreadsDoNotShow) {
  const auto one = Train();
  options_.jobs = 2;
  const auto two = Train();
  ASSERT_TRUE(one.ok() && two.ok()) << one.status() << two.status();
  EXPECT_EQ(one->network->Save(false), two->network->Save(false));
}

TEST_F(TrainerTest, AnInterruptedTrainingEndsLikeOneThatWasNot) {
  const auto whole = Train();
  options_.checkpoint = Checkpoint("interrupted.bin");
  const auto part = Train([](const EpochReport& report) { return report.epoch < 3; });
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_TRUE(part->interrupted);
  EXPECT_EQ(part->epochs.size(), 3u);
  const auto rest = Train();
  ASSERT_TRUE(rest.ok()) << rest.status();
  EXPECT_EQ(rest->epochs.size(), 6u);
  EXPECT_EQ(rest->best_epoch, whole->best_epoch);
  EXPECT_EQ(rest->network->Save(false), whole->network->Save(false));
}

TEST_F(TrainerTest, ACheckpointOfAnotherTrainingIsRefused) {
  options_.checkpoint = Checkpoint("other.bin");
  ASSERT_TRUE(Train([](const EpochReport&) { return false; }).ok());
  options_.network.seed += 1;
  EXPECT_EQ(Train().status().code(), absl::StatusCode::kFailedPrecondition);
  options_.network.seed -= 1;
  options_.data_fingerprint = 5;
  EXPECT_EQ(Train().status().code(), absl::StatusCode::kFailedPrecondition);
}

TEST_F(TrainerTest, ADamagedCheckpointIsRefused) {
  options_.checkpoint = Checkpoint("damaged.bin");
  ASSERT_TRUE(Train([](const EpochReport&) { return false; }).ok());
  const std::string whole = ReadWholeFile(options_.checkpoint).value();
  for (const size_t size : {size_t{0}, size_t{10}, whole.find('\n'), whole.find('\n') + 500}) {
    std::ofstream(options_.checkpoint, std::ios::binary) << whole.substr(0, size);
    EXPECT_EQ(Train().status().code(), absl::StatusCode::kInvalidArgument) << size;
  }
  std::string in_networks = whole;
  in_networks[whole.size() / 2] ^= 1;
  std::string in_header = whole;
  in_header.replace(in_header.find("\"epoch\":1"), 9, "\"epoch\":2");
  for (const std::string& changed : {in_networks, in_header}) {
    std::ofstream(options_.checkpoint, std::ios::binary) << changed;
    EXPECT_THAT(std::string(Train().status().message()), testing::HasSubstr("or damaged"));
  }
}

TEST_F(TrainerTest, StopsWhenValidationStopsImproving) {
  options_.epochs = 200;
  options_.patience = 3;
  options_.step.learning_rate = 0;  // nothing is learned: the first epoch stays the best
  const auto result = Train();
  ASSERT_TRUE(result.ok()) << result.status();
  EXPECT_EQ(result->epochs.size(), 4u);
  EXPECT_EQ(result->best_epoch, 1);
}

// A data set of ten times the memory that examples may take.
TEST_F(TrainerTest, DataLargerThanMemoryGiveTheSameNetwork) {
  const auto in_memory = Train();
  const auto small = MadeUpStore(0, 40, training_->total_bytes() / 10);
  const auto streamed = TrainNetwork(*small, *validation_, options_, nullptr);
  ASSERT_TRUE(streamed.ok()) << streamed.status();
  EXPECT_LE(small->peak_memory_bytes(), training_->total_bytes() / 10);
  EXPECT_EQ(streamed->network->Save(false), in_memory->network->Save(false));
}

TEST_F(TrainerTest, NothingToTrainOn) {
  const auto empty = MadeUpStore(0, 0);
  EXPECT_EQ(TrainNetwork(*empty, *validation_, options_, nullptr).status().code(),
            absl::StatusCode::kInvalidArgument);
}

TEST(NetworkJsonTest, EveryOptionComesBack) {
  TrainerOptions options;
  options.network.layer = GraphLayer::kGat;
  options.network.direction = EdgeDirection::kUndirected;
  options.network.reduction = Reduction::kTransformer;
  options.network.join = Join::kEarly;
  options.network.config_attention = true;
  options.network.static_features = NetworkOptions::StaticFeatures::kOff;
  options.network.hidden = 32;
  options.network.config_bins = 6;
  options.network.seed = 1ull << 63;
  options.step.loss = Loss::kListMle;
  options.step.learning_rate = 0.25;
  options.epochs = 3;
  TrainerOptions read;
  const absl::Status status = UpdateFromJson(ToJson(options), &read);
  ASSERT_TRUE(status.ok()) << status;
  EXPECT_EQ(ToJson(read), ToJson(options));
  EXPECT_NE(ToJson(read), ToJson(TrainerOptions()));
}

TEST(NetworkJsonTest, WrongOptionsAreNamed) {
  TrainerOptions options;
  const auto message = [&options](const char* text) {
    return std::string(UpdateFromJson(nlohmann::json::parse(text), &options).message());
  };
  EXPECT_EQ(message(R"({"epoch": 3})"), "there is no option \"epoch\"");
  EXPECT_EQ(message(R"({"epochs": -3})"),
            "option \"epochs\" takes a whole number from 1 to 1000000");
  EXPECT_EQ(message(R"({"batch_kernels": 0})"),
            "option \"batch_kernels\" takes a whole number from 1 to 100000");
  EXPECT_EQ(message(R"({"epochs": 2.5})"),
            "option \"epochs\" takes a whole number from 1 to 1000000");
  EXPECT_EQ(message(R"({"step": {"dropout": 2}})"),
            "option \"dropout\" takes a number from 0 to 0.99");
  EXPECT_EQ(message(R"({"network": {"hidden": 18}})"), "option \"hidden\" takes a multiple of 4");
  EXPECT_EQ(message(R"({"step": {"loss": "mse"}})"),
            "option \"loss\" takes hinge, logistic, listmle, squared-error");
  EXPECT_EQ(message(R"({"network": {"config_attention": 1}})"),
            "option \"config_attention\" takes true or false");
  EXPECT_EQ(message("[]"), "the options must be a JSON object");
}

}  // namespace
}  // namespace autotune
