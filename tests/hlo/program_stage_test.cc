#include "hlo/program_stage.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "hlo/parser.h"
#include "hlo/read_module.h"

namespace autotune {
namespace {

ProgramStage StageOfText(const std::string& text) {
  const auto module = ParseHloText(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return StageOf(**module);
}

constexpr char kBody[] = "f { p = f32[8]{0} parameter(0) ROOT n = f32[8]{0} negate(p) }\n";

TEST(ProgramStageTest, IsToldFromFusionsLayoutsAndConfigurations) {
  EXPECT_EQ(StageOfText("ENTRY e { a = f32[8]{0} parameter(0) ROOT n = f32[8]{0} negate(a) }"),
            ProgramStage::kBeforeOptimization);
  EXPECT_EQ(StageOfText(absl::StrCat(kBody,
                                     "ENTRY e { a = f32[8]{0} parameter(0) "
                                     "ROOT n = f32[8]{0} fusion(a), kind=kLoop, calls=f }")),
            ProgramStage::kOptimizedElsewhere);
  EXPECT_EQ(StageOfText("HloModule m, is_scheduled=true\nENTRY e { a = f32[8]{0} parameter(0) }"),
            ProgramStage::kOptimizedElsewhere);
  EXPECT_EQ(StageOfText("ENTRY e { a = f32[8]{0:T(1024)} parameter(0) }"),
            ProgramStage::kOptimizedForTpu);
  EXPECT_EQ(StageOfText("ENTRY e { a = (s32[], (f32[8]{0:T(1024)})) parameter(0) }"),
            ProgramStage::kOptimizedForTpu);
  EXPECT_EQ(
      StageOfText(absl::StrCat(kBody,
                               "ENTRY e { a = f32[8]{0} parameter(0) ROOT n = f32[8]{0} fusion(a), "
                               "kind=kLoop, calls=f, backend_config={\"flag_configs\":[]} }")),
      ProgramStage::kOptimizedForTpu);
  // A program that keeps an array on the host is not optimised for that.
  EXPECT_EQ(StageOfText("ENTRY e { a = f32[8]{0:S(5)} parameter(0) }"),
            ProgramStage::kBeforeOptimization);
}

TEST(ProgramStageTest, OfRealPrograms) {
  const std::string folder = absl::StrCat(AUTOTUNE_SHARED_DIR, "/data/programs");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "no recorded programs";
  int programs = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".hlo") continue;
    const auto read = ReadModuleFile(entry.path());
    ASSERT_TRUE(read.ok()) << read.status();
    const bool before = absl::StrContains(entry.path().string(), ".before.");
    EXPECT_EQ(StageOf(*read->module),
              before ? ProgramStage::kBeforeOptimization : ProgramStage::kOptimizedForTpu)
        << entry.path();
    ++programs;
  }
  EXPECT_GT(programs, 50);
}

}  // namespace
}  // namespace autotune
