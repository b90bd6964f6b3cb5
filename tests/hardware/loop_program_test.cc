#include "hardware/loop_program.h"

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "hlo/parser.h"
#include "hlo/verifier.h"

namespace autotune {
namespace {

constexpr char kProgram[] = R"(HloModule small
ENTRY main {
  x = f32[16,32] parameter(0)
  w = f32[32,8] parameter(1)
  y = f32[16,8] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  z = f32[16,8] tanh(y)
  ROOT t = (f32[16,8], f32[16,8]) tuple(y, z)
}
)";

std::unique_ptr<HloModule> Parse(const std::string& text) {
  absl::StatusOr<std::unique_ptr<HloModule>> module = ParseHloText(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? *std::move(module) : nullptr;
}

class LoopProgramTest : public testing::TestWithParam<LoopLink> {};

TEST_P(LoopProgramTest, IsAValidProgramWithTheOtherOneInItsLoop) {
  const std::unique_ptr<HloModule> program = Parse(kProgram);
  absl::StatusOr<LoopProgram> loop = MakeLoopProgram(*program, GetParam());
  ASSERT_TRUE(loop.ok()) << loop.status();
  EXPECT_EQ(loop->results.size(), 2u);
  absl::StatusOr<std::unique_ptr<HloModule>> module = HloModule::FromProto(loop->module);
  ASSERT_TRUE(module.ok()) << module.status();
  const absl::Status valid = VerifyStatus(**module, "loop");
  EXPECT_TRUE(valid.ok()) << valid;
  // Operands, first results, trips, and the flag.
  EXPECT_EQ((*module)->entry_computation().parameters().size(),
            GetParam() == LoopLink::kUpdate ? 6u : 5u);
  EXPECT_EQ((*module)->entry_computation().root().shape(),
            program->entry_computation().root().shape());
  EXPECT_TRUE(CheckLoopBody(*program, **module).ok());
}

INSTANTIATE_TEST_SUITE_P(Links, LoopProgramTest,
                         testing::Values(LoopLink::kBarrier, LoopLink::kUpdate),
                         [](const auto& link) {
                           return link.param == LoopLink::kBarrier ? "Barrier" : "Update";
                         });

TEST(LoopProgram, TheCheckSeesWhatWasHoisted) {
  const std::unique_ptr<HloModule> alone = Parse(kProgram);
  const std::unique_ptr<HloModule> hoisted = Parse(R"(HloModule hoisted
body {
  s = (s32[], s32[], f32[16,8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=1
  y = f32[16,8] get-tuple-element(s), index=2
  one = s32[] constant(1)
  next = s32[] add(i, one)
  ROOT t = (s32[], s32[], f32[16,8]) tuple(next, n, y)
}
condition {
  s = (s32[], s32[], f32[16,8]) parameter(0)
  i = s32[] get-tuple-element(s), index=0
  n = s32[] get-tuple-element(s), index=1
  ROOT less = pred[] compare(i, n), direction=LT
}
ENTRY main {
  x = f32[16,32] parameter(0)
  w = f32[32,8] parameter(1)
  n = s32[] parameter(2)
  zero = s32[] constant(0)
  y = f32[16,8] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  s = (s32[], s32[], f32[16,8]) tuple(zero, n, y)
  loop = (s32[], s32[], f32[16,8]) while(s), condition=condition, body=body
  ROOT result = f32[16,8] get-tuple-element(loop), index=2
}
)");
  const absl::Status status = CheckLoopBody(*alone, *hoisted);
  EXPECT_TRUE(absl::StrContains(status.message(), "moved a dot out")) << status;
  EXPECT_FALSE(CheckLoopBody(*alone, *alone).ok()) << "no loop at all";
}

TEST(LoopProgram, WhatCannotBeTimedInALoopSaysWhy) {
  const std::unique_ptr<HloModule> token = Parse(R"(HloModule with_token
ENTRY main {
  t = token[] parameter(0)
  ROOT x = f32[] constant(1)
}
)");
  EXPECT_TRUE(absl::IsUnimplemented(MakeLoopProgram(*token, LoopLink::kBarrier).status()));
  const std::unique_ptr<HloModule> flags = Parse(R"(HloModule with_flags
ENTRY main {
  p = pred[8] parameter(0)
  ROOT n = pred[8] not(p)
}
)");
  EXPECT_TRUE(MakeLoopProgram(*flags, LoopLink::kBarrier).ok());
  EXPECT_TRUE(absl::IsUnimplemented(MakeLoopProgram(*flags, LoopLink::kUpdate).status()));
}

}  // namespace
}  // namespace autotune
