#include "tuner/program.h"

#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo/parser.h"
#include "tuner/command_status.h"
#include "tuner/program_set.h"

namespace autotune {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

// AlexNet for v3, as a program and as a recording of its kernels.
std::string AlexNet(const std::string& file) {
  return absl::StrCat(AUTOTUNE_SOURCE_DIR, "/examples/alexnet/", file);
}

absl::Status Require(const Program& program, const std::string& device) {
  return RequireCompiledFor(program, *FindDeviceSpec(device));
}

Program Parsed(const std::string& scalar_layout) {
  Program program;
  program.path = "p.hlo";
  program.module = *ParseHloText(
      absl::StrCat("HloModule m\nENTRY e {\n  ROOT a = f32[]", scalar_layout, " constant(1)\n}\n"));
  return program;
}

TEST(RequireCompiledForTest, AProgramIsRefusedWithItsPathAndTheRemedy) {
  const absl::StatusOr<Program> program = LoadProgram(AlexNet("program.hlo"));
  ASSERT_TRUE(program.ok()) << program.status();
  EXPECT_TRUE(Require(*program, "v3").ok());
  const absl::Status other = Require(*program, "v5e");
  EXPECT_EQ(ExitCodeOf(other), kExitWrongUse);
  EXPECT_THAT(std::string(other.message()),
              AllOf(HasSubstr("program.hlo: already optimised, for tpu-v2 or tpu-v3"),
                    HasSubstr("--target")));
}

TEST(RequireCompiledForTest, SoAreTheKernelsOfARecordingAndOfSeveralPrograms) {
  const absl::StatusOr<Program> recording = LoadProgram(AlexNet("tpu_v3.pb"));
  ASSERT_TRUE(recording.ok()) << recording.status();
  EXPECT_TRUE(Require(*recording, "v3").ok());
  EXPECT_THAT(std::string(Require(*recording, "v5e").message()),
              AllOf(HasSubstr("tpu_v3.pb, kernel "), HasSubstr("not for tpu-v5e")));

  const absl::StatusOr<ProgramSet> set =
      LoadPrograms({AlexNet("program.hlo"), AlexNet("tpu_v3.pb")});
  ASSERT_TRUE(set.ok()) << set.status();
  EXPECT_TRUE(Require(set->program, "v3").ok());
  EXPECT_FALSE(Require(set->program, "v5e").ok());
}

TEST(AssumeTargetTest, ARecordingIsForItsDevice) {
  const absl::StatusOr<Program> recording = LoadProgram(AlexNet("tpu_v3.pb"));
  ASSERT_TRUE(recording.ok()) << recording.status();
  const AssumedTarget assumed = AssumeTarget({&*recording, 1});
  EXPECT_EQ(assumed.device, "tpu-v3");
  EXPECT_THAT(assumed.reason, HasSubstr("recording"));
}

TEST(AssumeTargetTest, TheFirstProgramThatTellsDecides) {
  const std::vector<Program> early = {Parsed(""), Parsed("{:T(256)}"), Parsed("{:T(128)}")};
  EXPECT_EQ(AssumeTarget(early).device, "tpu-v3");
  EXPECT_EQ(AssumeTarget(early).reason,
            "the program's layouts are those of tpu-v2 or tpu-v3, --target names another");
  const std::vector<Program> late = {Parsed("{:T(128)}"), Parsed("{:T(256)}")};
  EXPECT_EQ(AssumeTarget(late).device, kAssumedTarget);
  const std::vector<Program> untold = {Parsed("")};
  EXPECT_EQ(AssumeTarget(untold).device, kAssumedTarget);
  EXPECT_EQ(AssumeTarget(untold).reason, "target assumed, --target names another");
}

}  // namespace
}  // namespace autotune
