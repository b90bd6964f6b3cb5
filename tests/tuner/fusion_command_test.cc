#include "tuner/fusion_command.h"

#include <filesystem>
#include <sstream>
#include <string>
#include <utility>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tuner/command_status.h"
#include "tuner/run_lock.h"

namespace autotune {
namespace {

using ::testing::HasSubstr;

// Two processes that went on with one fusion.jsonl would both number its kernels.
TEST(FusionCommandTest, OneProcessWritesToAFolder) {
  const std::string path = AUTOTUNE_SOURCE_DIR "/examples/recordings/fusion_v3/int8_mixed_mlp";
  TuneOptions options;
  options.program = path + ".hlo";
  options.recordings = {path + ".jsonl.gz"};
  options.space = "fusion";
  options.strategy = "model-greedy";
  options.budget = 3;
  options.out = ::testing::TempDir() + "/fusion_command_test_locked";
  std::filesystem::create_directories(options.out);
  std::ostringstream out, err;
  CommandContext context{out, err};
  {
    auto lock = RunLock::Acquire(options.out);
    ASSERT_TRUE(lock.ok()) << lock.status();
    EXPECT_NE(RunFusionTuning(options, {"--space"}, context), kExitDone);
    EXPECT_THAT(err.str(), HasSubstr(options.out));
    EXPECT_FALSE(std::filesystem::exists(options.out + "/report.json"));
  }
  EXPECT_EQ(RunFusionTuning(options, {"--space"}, context), kExitDone) << err.str();
  EXPECT_TRUE(std::filesystem::exists(options.out + "/report.json"));
  std::filesystem::remove_all(options.out);
}

}  // namespace
}  // namespace autotune
