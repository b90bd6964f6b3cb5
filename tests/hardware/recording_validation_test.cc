// What a recording from anywhere may hold, and what is refused.

#include <functional>
#include <limits>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hardware/atomic_file.h"
#include "hardware/recording.h"
#include "hardware/recording_forms.h"
#include "proto/recording.pb.h"
#include "proto/tuning_data.pb.h"

namespace autotune {
namespace {

using ::testing::HasSubstr;

// The first kernel of the example.
proto::ModuleTuningData OneModule() {
  proto::TuningData data;
  EXPECT_TRUE(data.ParseFromString(
      *ReadWholeFile(absl::StrCat(AUTOTUNE_SOURCE_DIR, "/examples/alexnet/tpu_v3.pb"))));
  return data.modules(0);
}

std::string ErrorOf(const proto::ModuleTuningData& module) {
  proto::TuningData data;
  *data.add_modules() = module;
  return std::string(Recording::Parse(data.SerializeAsString(), "x.pb").status().message());
}

// The geometry and the models trust a kernel's shapes: these used to be read and to crash them.
TEST(RecordingValidationTest, AModuleThatTheVerifierRefusesIsRefused) {
  ASSERT_EQ(ErrorOf(OneModule()), "");
  proto::ModuleTuningData broken = OneModule();
  proto::HloModuleProto& module = *broken.mutable_module();
  for (auto& computation : *module.mutable_computations()) {
    for (auto& instruction : *computation.mutable_instructions()) {
      if (instruction.opcode() == "broadcast") instruction.clear_dimensions();
    }
  }
  EXPECT_THAT(ErrorOf(broken), HasSubstr("x.pb: module record 0 at byte 3: "));
  EXPECT_THAT(ErrorOf(broken), HasSubstr("broadcast"));
}

TEST(RecordingValidationTest, AKernelOfOurOwnFormIsVerified) {
  absl::StatusOr<Kernel> kernel = KernelOfRecordedModule(OneModule().module());
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  proto::KernelRecord record;
  KernelToProto(*kernel, &record);
  ASSERT_TRUE(KernelFromProto(record).ok());
  record.mutable_module()
      ->mutable_computations(0)
      ->mutable_instructions(0)
      ->mutable_shape()
      ->set_element_type(proto::TOKEN);
  EXPECT_FALSE(KernelFromProto(record).ok());
}

TEST(RecordingValidationTest, CountsAndEstimatesMustBePossible) {
  absl::StatusOr<Kernel> kernel = KernelOfRecordedModule(OneModule().module());
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  proto::KernelRecord record;
  KernelToProto(*kernel, &record);
  for (const int64_t count : {int64_t{0}, int64_t{-1}, std::numeric_limits<int64_t>::min()}) {
    record.set_count(count);
    EXPECT_THAT(std::string(KernelFromProto(record).status().message()),
                HasSubstr(absl::StrCat(" occurs ", count, " times")));
  }
  record.set_count(3);
  EXPECT_EQ(KernelFromProto(record)->count, 3);
  record.mutable_compiler_choice()->set_estimated_cycles(-5);
  EXPECT_EQ(KernelFromProto(record).status().message(), "a compiler's estimate of -5 cycles");
}

TEST(RecordingValidationTest, SecondsMustBeFiniteAndNotNegative) {
  proto::ConfigRecord good;
  good.mutable_tile()->add_output_bounds(1);
  good.add_seconds(1e-6);
  good.set_compile_seconds(0);
  good.set_compiler_estimate_seconds(2e-6);
  ASSERT_TRUE(RecordedConfigFromProto(good).ok());
  EXPECT_EQ(RecordedConfigFromProto(good)->compiler_estimate_seconds, 2e-6);
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (const double wrong :
       {-1.0, kInfinity, -kInfinity, std::numeric_limits<double>::quiet_NaN()}) {
    proto::ConfigRecord record = good;
    record.set_compile_seconds(wrong);
    EXPECT_THAT(std::string(RecordedConfigFromProto(record).status().message()),
                HasSubstr("a compilation of "));
    record = good;
    record.set_compiler_estimate_seconds(wrong);
    EXPECT_THAT(std::string(RecordedConfigFromProto(record).status().message()),
                HasSubstr("a compiler's estimate of "));
    record = good;
    record.set_seconds(0, wrong);
    EXPECT_FALSE(RecordedConfigFromProto(record).ok());
  }
}

}  // namespace
}  // namespace autotune
