#include "tuner/program_set.h"

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hardware/atomic_file.h"

namespace autotune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

// One small kernel of its own, twice.
constexpr char kSmall[] = R"(HloModule small, is_scheduled=true

%f (p: f32[8,128]) -> f32[8,128] {
  %p = f32[8,128]{1,0:T(8,128)} parameter(0)
  ROOT %n = f32[8,128]{1,0:T(8,128)} negate(%p)
}

%g (q: f32[8,128]) -> f32[8,128] {
  %q = f32[8,128]{1,0:T(8,128)} parameter(0)
  ROOT %m = f32[8,128]{1,0:T(8,128)} negate(%q)
}

ENTRY %e (a: f32[8,128]) -> f32[8,128] {
  %a = f32[8,128]{1,0:T(8,128)} parameter(0)
  %fusion.7 = f32[8,128]{1,0:T(8,128)} fusion(%a), kind=kLoop, calls=%f, backend_config={"window_config":{"kernel_window_bounds":[],"output_window_bounds":["1","1"],"input_window_bounds":[],"iteration_bounds":["1","1"],"estimated_cycles":"100"}}
  ROOT %fusion.8 = f32[8,128]{1,0:T(8,128)} fusion(%fusion.7), kind=kLoop, calls=%g, backend_config={"window_config":{"kernel_window_bounds":[],"output_window_bounds":["1","1"],"input_window_bounds":[],"iteration_bounds":["1","1"],"estimated_cycles":"100"}}
}
)";

constexpr char kUntiled[] = R"(HloModule untiled

ENTRY e {
  a = f32[8,128]{1,0} parameter(0)
  ROOT b = f32[8,128]{1,0} negate(a)
}
)";

class ProgramSetTest : public ::testing::Test {
 protected:
  ProgramSetTest() { std::filesystem::create_directories(folder_); }
  ~ProgramSetTest() override { std::filesystem::remove_all(folder_); }

  std::string Write(const std::string& name, const std::string& text) {
    const std::string path = (folder_ / name).string();
    std::ofstream(path) << text;
    return path;
  }

  const std::filesystem::path folder_ =
      std::filesystem::path(::testing::TempDir()) / absl::StrCat("program_set_", getpid());
  const std::string example_ =
      *ReadWholeFile(absl::StrCat(AUTOTUNE_SOURCE_DIR, "/examples/alexnet/program.hlo"));
};

TEST_F(ProgramSetTest, KernelsOfAllProgramsOnceWithTheSumOfTheirExecutions) {
  const std::string first = Write("a.hlo", example_);
  const std::string second =
      Write("b.hlo", absl::StrReplaceAll(example_, {{"HloModule alexnet", "HloModule other"}}));
  const std::string third = Write("c.hlo", kSmall);
  const auto alone = LoadPrograms({first});
  ASSERT_TRUE(alone.ok()) << alone.status();
  EXPECT_TRUE(alone->members.empty());
  EXPECT_NE(alone->program.module, nullptr);

  const auto set = LoadPrograms({first, second, third, first});
  ASSERT_TRUE(set.ok()) << set.status();
  ASSERT_EQ(set->members.size(), 3u) << "a file that is named twice counts once";
  ASSERT_EQ(set->program.kernels.size(), alone->program.kernels.size() + 1);
  EXPECT_EQ(set->program.path, "3 programs");
  for (size_t i = 0; i < alone->program.kernels.size(); ++i) {
    const Kernel& kernel = alone->program.kernels[i];
    EXPECT_EQ(set->program.kernels[i].fingerprint, kernel.fingerprint);
    EXPECT_EQ(set->program.kernels[i].count, 2 * kernel.count) << kernel.name;
    EXPECT_EQ(set->members[1].kernels[i], (ProgramKernel{i, kernel.count}));
  }
  EXPECT_EQ(set->program.kernels.back().count, 2);
  EXPECT_EQ(set->members[2].name, "small");
  EXPECT_THAT(set->members[2].kernels,
              ElementsAre(ProgramKernel{alone->program.kernels.size(), 2}));
}

TEST_F(ProgramSetTest, OfAFolderWhatCannotBeTunedIsLeftOut) {
  Write("a.hlo", example_);
  Write("again.hlo", example_);
  Write("broken.hlo", "HloModule broken\n\nENTRY e {\n");
  Write("small.hlo", kSmall);
  Write("untiled.hlo", kUntiled);
  const auto set = LoadPrograms({folder_.string(), (folder_ / "sm*").string()});
  ASSERT_TRUE(set.ok()) << set.status();
  ASSERT_EQ(set->members.size(), 2u);
  EXPECT_EQ(set->members[1].name, "small");
  std::string warnings;
  for (const std::string& warning : set->program.warnings) warnings += warning + "\n";
  EXPECT_THAT(warnings, HasSubstr("2 of 5 files are left out; the first: "));
  EXPECT_THAT(warnings, HasSubstr("broken.hlo"));
  EXPECT_THAT(warnings, HasSubstr("1 of 5 files hold a program that is there already"));
}

TEST_F(ProgramSetTest, WhatIsNamedMustBeGood) {
  const std::string good = Write("a.hlo", example_);
  const std::string untiled = Write("untiled.hlo", kUntiled);
  EXPECT_THAT(std::string(LoadPrograms({good, untiled}).status().message()),
              HasSubstr("untiled.hlo"));
  EXPECT_THAT(std::string(LoadPrograms({good, folder_ / "none.hlo"}).status().message()),
              HasSubstr("none.hlo"));
  std::filesystem::remove(good);
  Write("b.hlo", kUntiled);
  EXPECT_THAT(std::string(LoadPrograms({folder_.string()}).status().message()),
              HasSubstr("none of the 2 programs holds kernels"));
}

TEST(SumProgramsTest, EachProgramCountsItsOwnExecutions) {
  TuningReport report;
  for (const auto& [before, after] : {std::pair{4.0, 2.0}, {3.0, 3.0}}) {
    KernelReport& kernel = report.kernels.emplace_back();
    const Config config(OpaqueConfig{1});
    kernel.compiler_default =
        ConfigResult{config, Measurement::FromSamples({before}, TimeSource::kHardware)};
    kernel.best = ConfigResult{config, Measurement::FromSamples({after}, TimeSource::kHardware)};
  }
  report.kernels.emplace_back();  // was not measured
  report.programs = {{.path = "a", .kernels = {{0, 1}, {1, 2}}},
                     {.path = "b", .kernels = {{1, 5}, {2, 9}}},
                     {.path = "c", .kernels = {{2, 1}}}};
  SumPrograms(report);
  EXPECT_DOUBLE_EQ(*report.programs[0].default_seconds, 4 + 2 * 3);
  EXPECT_DOUBLE_EQ(*report.programs[0].best_seconds, 2 + 2 * 3);
  EXPECT_DOUBLE_EQ(*report.programs[0].Speedup(), 10.0 / 8);
  EXPECT_DOUBLE_EQ(*report.programs[1].Speedup(), 1);
  EXPECT_FALSE(report.programs[2].Speedup().has_value());
}

TEST(NameOfProgramsTest, SaysHowManyThereAre) {
  EXPECT_EQ(NameOfPrograms({"a.hlo"}), "a.hlo");
  EXPECT_EQ(NameOfPrograms({"a.hlo", "b", "c"}), "a.hlo and 2 more");
}

}  // namespace
}  // namespace autotune
