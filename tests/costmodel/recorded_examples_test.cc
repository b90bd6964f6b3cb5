#include "costmodel/recorded_examples.h"

#include <cmath>
#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/costmodel/learning_test_data.h"

namespace autotune {
namespace {

using testing::Each;
using testing::Pair;

TEST(ProgramOfFileTest, CompilationsOfOneProgramStayTogether) {
  EXPECT_EQ(ProgramOfFile("out/vgg16.v3.rec"), "vgg16");
  EXPECT_EQ(ProgramOfFile("vgg16.v5e.rec"), "vgg16");
  EXPECT_EQ(ProgramOfFile("a.b/plain"), "plain");
}

TEST(SplitProgramsTest, SharesAndSeeds) {
  std::vector<std::string> programs;
  for (int i = 0; i < 20; ++i) programs.push_back("p" + std::to_string(i));
  const auto count = [](const ProgramSplit& split, Side side) {
    return std::count_if(split.begin(), split.end(),
                         [side](const auto& entry) { return entry.second == side; });
  };
  const ProgramSplit split = SplitPrograms(programs, {}, 0.15, 0.2, 1);
  EXPECT_EQ(split.size(), 20u);
  EXPECT_EQ(count(split, Side::kTest), 4);
  EXPECT_EQ(count(split, Side::kValidation), 3);
  EXPECT_EQ(split, SplitPrograms({programs.rbegin(), programs.rend()}, {}, 0.15, 0.2, 1));
  EXPECT_NE(split, SplitPrograms(programs, {}, 0.15, 0.2, 2));
  const ProgramSplit chosen = SplitPrograms(programs, {"p3", "p4"}, 0.15, 0.2, 1);
  EXPECT_EQ(count(chosen, Side::kTest), 2);
  EXPECT_EQ(chosen.at("p3"), Side::kTest);
  // Something is always left to train on.
  EXPECT_EQ(SplitPrograms({"only"}, {}, 0.5, 0.5, 1).at("only"), Side::kTraining);
}

class RecordedExamplesTest : public testing::Test {
 protected:
  const Recording recording_ = RecordedKernels();

  // A file of some of the kernels, as if a program had them.
  std::string Write(const std::string& name, const std::vector<std::string>& kernels,
                    const std::string& device = "tpu-v3") {
    RecordingOrigin origin = recording_.origin();
    origin.device = device;
    Recording part(origin);
    for (const std::string& kernel : kernels) {
      const RecordedKernel& from = KernelNamed(recording_, kernel);
      RecordedKernel& to = part.FindOrAdd(from.kernel());
      for (const RecordedConfig& config : from.configs()) to.Add(config);
    }
    std::string path = testing::TempDir() + "/" + name;
    EXPECT_TRUE(part.Save(path).ok());
    return path;
  }
};

TEST_F(RecordedExamplesTest, AnExampleHoldsTheTilesThatHaveATime) {
  const RecordedKernel& convolution = KernelNamed(recording_, "fusion.191");
  const auto example = MakeExample(convolution, "alexnet", "tpu-v3", AnalyticalConstants());
  ASSERT_TRUE(example.ok() && example->has_value()) << example.status();
  EXPECT_EQ((*example)->configs(), 579);  // two of 581 runs failed
  EXPECT_EQ((*example)->program, "alexnet");
  const auto chosen = static_cast<size_t>((*example)->default_config);
  EXPECT_NEAR(std::exp((*example)->target[chosen]), 151.565e-6, 1e-9);
  EXPECT_NEAR((*example)->base[chosen], (*example)->target[chosen], 0.3);
}

TEST_F(RecordedExamplesTest, OpaqueConfigurationsTeachNothing) {
  const auto example = MakeExample(KernelNamed(recording_, "reshape.37"), "alexnet", "tpu-v3",
                                   AnalyticalConstants());
  ASSERT_TRUE(example.ok()) << example.status();
  EXPECT_FALSE(example->has_value());
}

TEST_F(RecordedExamplesTest, UnknownDevice) {
  EXPECT_EQ(MakeExample(KernelNamed(recording_, "copy.24"), "p", "tpu-v99", AnalyticalConstants())
                .status()
                .code(),
            absl::StatusCode::kInvalidArgument);
}

TEST_F(RecordedExamplesTest, DuplicatesGoToOneSide) {
  const std::string train = Write("train.v3.rec", {"fusion.191", "copy.24", "fusion.181"});
  const std::string more = Write("more.v3.rec", {"copy.24", "fusion.207"});
  const std::string test = Write("test.v3.rec", {"fusion.191", "fusion.232"});
  RecordedDataOptions options;
  options.split = {{"test", Side::kTest}};
  const auto training_store = MadeUpStore(0, 0), validation_store = MadeUpStore(0, 0),
             test_store = MadeUpStore(0, 0);
  const auto data = ReadRecordedData({train, more, test}, options, training_store.get(),
                                     validation_store.get(), test_store.get());
  ASSERT_TRUE(data.ok()) << data.status();
  std::vector<std::string> training, tested;
  for (int64_t i = 0; i < training_store->size(); ++i) {
    training.push_back(training_store->info(i).program + ":" + training_store->info(i).kernel);
  }
  for (int64_t i = 0; i < test_store->size(); ++i) {
    tested.push_back(test_store->info(i).kernel);
  }
  EXPECT_THAT(training,
              testing::ElementsAre("train:copy.24", "train:fusion.181", "more:fusion.207"));
  EXPECT_THAT(tested, testing::ElementsAre("fusion.191", "fusion.232"));
  EXPECT_EQ(data->duplicates, 2);
  EXPECT_EQ(validation_store->size(), 0);
}

TEST_F(RecordedExamplesTest, ConstantsAreFittedOnTheTrainingSideAlone) {
  const std::string train = Write("one.v3.rec", {"fusion.191"});
  const std::string test = Write("two.v3.rec", {"fusion.232"});
  RecordedDataOptions options;
  options.split = {{"two", Side::kTest}};
  options.fit_tiles = 1000;
  const auto first = ReadRecordedData({train, test}, options, nullptr, nullptr, nullptr);
  const auto second = ReadRecordedData({train}, options, nullptr, nullptr, nullptr);
  ASSERT_TRUE(first.ok() && second.ok()) << first.status();
  for (const NamedConstant& c : AnalyticalConstantList()) {
    EXPECT_EQ(first->constants.at("tpu-v3").*c.value, second->constants.at("tpu-v3").*c.value);
  }
  EXPECT_NE(first->constants.at("tpu-v3").pass_cycles, AnalyticalConstants().pass_cycles);
  options.constants = first->constants;
  const auto third = ReadRecordedData({test}, options, nullptr, nullptr, nullptr);
  EXPECT_EQ(third->constants.at("tpu-v3").pass_cycles, first->constants.at("tpu-v3").pass_cycles);
}

TEST_F(RecordedExamplesTest, SharesOfTheTrainingKernels) {
  const std::string file =
      Write("all.v3.rec", {"fusion.191", "fusion.232", "copy.24", "fusion.181", "fusion.207"});
  RecordedDataOptions options;
  int64_t previous = 0;
  for (double share : {0.0, 0.3, 0.7, 1.0}) {
    options.training_share = share;
    const auto store = MadeUpStore(0, 0);
    ASSERT_TRUE(ReadRecordedData({file}, options, store.get(), nullptr, nullptr).ok());
    EXPECT_GE(store->size(), previous);
    previous = store->size();
    if (share == 0) {
      EXPECT_EQ(store->size(), 0);
    }
  }
  EXPECT_EQ(previous, 5);
}

TEST_F(RecordedExamplesTest, ADamagedRecordingIsNamed) {
  const auto data =
      ReadRecordedData({"/nowhere/x.rec"}, RecordedDataOptions(), nullptr, nullptr, nullptr);
  EXPECT_EQ(data.status().code(), absl::StatusCode::kNotFound);
  EXPECT_THAT(std::string(data.status().message()), testing::HasSubstr("/nowhere/x.rec"));
}

}  // namespace
}  // namespace autotune
