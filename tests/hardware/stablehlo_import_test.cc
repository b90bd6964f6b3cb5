#include "hardware/stablehlo_import.h"

#include <string>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo/program_stage.h"
#include "hlo/verifier.h"

namespace autotune {
namespace {

constexpr char kProgram[] = R"(
module @jit_f {
  func.func public @main(%a: tensor<4x8xf32>, %b: tensor<8x2xf32>) -> tensor<4x2xf32> {
    %0 = stablehlo.dot_general %a, %b, contracting_dims = [1] x [0] : (tensor<4x8xf32>, tensor<8x2xf32>) -> tensor<4x2xf32>
    %1 = stablehlo.tanh %0 : tensor<4x2xf32>
    return %1 : tensor<4x2xf32>
  }
}
)";

class StableHloImportTest : public ::testing::Test {
 protected:
  void SetUp() override {
    absl::StatusOr<std::vector<StableHloImporter>> found = FindStableHloImporters();
    if (!found.ok()) GTEST_SKIP() << found.status();
    importers_ = *std::move(found);
    importer_ = importers_.front();
  }
  std::vector<StableHloImporter> importers_;
  StableHloImporter importer_;
};

// Through libtpu and through a CPU plugin: the program is the same.
TEST_F(StableHloImportTest, EveryPluginGivesTheProgramBeforeOptimisation) {
  for (const StableHloImporter& importer : importers_) {
    const auto module = ImportStableHlo(kProgram, importer);
    ASSERT_TRUE(module.ok()) << importer.plugin << ": " << module.status();
    EXPECT_EQ((*module)->name(), "jit_f");
    EXPECT_EQ((*module)->entry_computation().root().opcode(), HloOpcode::kTanh);
  }
}

TEST_F(StableHloImportTest, GivesTheProgramBeforeOptimisation) {
  const auto module = ImportStableHlo(kProgram);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ((*module)->name(), "jit_f");
  EXPECT_EQ(StageOf(**module), ProgramStage::kBeforeOptimization);
  EXPECT_TRUE(VerifyModule(**module).empty());
  EXPECT_EQ((*module)->entry_computation().root().shape().ToString(false), "f32[4,2]");
  bool has_dot = false;
  for (const HloInstruction* instruction : (*module)->entry_computation().instructions()) {
    has_dot |= instruction->opcode() == HloOpcode::kDot;
  }
  EXPECT_TRUE(has_dot);
}

TEST_F(StableHloImportTest, WhatTheCompilerDoesNotReadIsAnError) {
  const auto module = ImportStableHlo("module @m { this is no code }", importer_);
  EXPECT_EQ(module.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(module.status().message()),
              ::testing::HasSubstr("the compiler does not take this StableHLO"));
}

TEST_F(StableHloImportTest, APluginThatIsNotThereIsAnError) {
  importer_.plugin = "/no/such/plugin.so";
  EXPECT_FALSE(ImportStableHlo(kProgram, importer_).ok());
}

}  // namespace
}  // namespace autotune
