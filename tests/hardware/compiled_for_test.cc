#include "hardware/compiled_for.h"

#include <memory>
#include <string>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo/parser.h"
#include "hlo/read_file.h"

namespace autotune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

absl::Status Check(const std::string& text, const char* device) {
  absl::StatusOr<std::unique_ptr<HloModule>> module = ParseHloText(text);
  if (!module.ok()) return module.status();
  return CheckCompiledFor(**module, *FindDeviceSpec(device));
}

// A program with scalars of these layouts.
std::string Program(const std::string& f32, const std::string& bf16) {
  return absl::StrCat("HloModule m\nENTRY e {\n  a = f32[]", f32, " constant(1)\n  b = bf16[]",
                      bf16, " constant(2)\n  ROOT t = (f32[]", f32, ", bf16[]", bf16,
                      ") tuple(a, b)\n}\n");
}

TEST(CheckCompiledForTest, ScalarsOfV2AndV3FillTwiceAsMuchAsThoseOfLaterGenerations) {
  const std::string early = Program("{:T(256)}", "{:T(512)S(6)}");
  const std::string late = Program("{:T(128)}", "{:T(256)S(6)}");
  for (const char* device : {"v2", "v3"}) {
    EXPECT_TRUE(Check(early, device).ok()) << device;
    EXPECT_TRUE(absl::IsInvalidArgument(Check(late, device))) << device;
  }
  for (const char* device : {"v4", "v5e", "v5p", "v6e", "v7x"}) {
    EXPECT_TRUE(Check(late, device).ok()) << device;
    EXPECT_TRUE(absl::IsInvalidArgument(Check(early, device))) << device;
  }
}

TEST(CheckCompiledForTest, TheErrorNamesBothSides) {
  EXPECT_THAT(std::string(Check(Program("{:T(256)}", "{:T(512)}"), "v5e").message()),
              HasSubstr("already optimised, for tpu-v2 or tpu-v3 and not for tpu-v5e"));
}

TEST(CheckCompiledForTest, WhatDoesNotTellPasses) {
  EXPECT_TRUE(Check(Program("", ""), "v5e").ok());
  EXPECT_TRUE(Check(Program("{:T(256)}", "{:T(256)}"), "v5e").ok());  // contradictory
  EXPECT_TRUE(Check(Program("{:T(8)}", "{:T(16)}"), "v5e").ok());     // of no known generation
}

TEST(CompiledForDevicesTest, OldestFirstAndNoneWhereNothingIsTold) {
  const auto devices = [](const std::string& f32, const std::string& bf16) {
    return CompiledForDevices(**ParseHloText(Program(f32, bf16)));
  };
  EXPECT_THAT(devices("{:T(256)}", "{:T(512)}"), ElementsAre("tpu-v2", "tpu-v3"));
  EXPECT_THAT(devices("{:T(128)}", "{:T(256)}"),
              ElementsAre("tpu-v4", "tpu-v5e", "tpu-v5p", "tpu-v6e", "tpu-v7x"));
  EXPECT_THAT(devices("{:T(256)}", "{:T(256)}"), IsEmpty());
  EXPECT_THAT(devices("{:T(8)}", "{:T(16)}"), IsEmpty());
}

TEST(CheckCompiledForTest, AlexNetWasCompiledForV3) {
  const auto text =
      ReadWholeFile(absl::StrCat(AUTOTUNE_SOURCE_DIR, "/examples/alexnet/program.hlo"));
  ASSERT_TRUE(text.ok()) << text.status();
  EXPECT_TRUE(Check(*text, "v3").ok());
  EXPECT_FALSE(Check(*text, "v5e").ok());
}

}  // namespace
}  // namespace autotune
