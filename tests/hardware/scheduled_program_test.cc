#include "hardware/scheduled_program.h"

#include <memory>
#include <string>

#include "absl/strings/str_replace.h"
#include "gtest/gtest.h"
#include "hlo/instruction.h"
#include "hlo/kernel_choice.h"
#include "hlo/kernel_hash.h"
#include "hlo/parser.h"

namespace autotune {
namespace {

// Two equal kernels, another one, and a copy that needs input bounds.
constexpr char kOptimized[] = R"(HloModule step, is_scheduled=true

ENTRY %main (x: bf16[2048,2,8], s: s32[]) -> (bf16[2048,2,8], bf16[2048,2,8], bf16[2048,2,8], bf16[2048,2,8]) {
  %x = bf16[2048,2,8]{1,2,0:T(8,128)(2,1)} parameter(0)
  %s = s32[]{:T(128)S(6)} parameter(1)
  %first = bf16[2048,2,8]{1,2,0:T(8,128)(2,1)} negate(%x), backend_config={"window_config":{"output_window_bounds":["64","1","1"],"estimated_cycles":"7"}}
  %second = bf16[2048,2,8]{1,2,0:T(8,128)(2,1)} negate(%first), backend_config={"window_config":{"output_window_bounds":["64","1","1"],"estimated_cycles":"7"}}
  %other = bf16[2048,2,8]{1,2,0:T(8,128)(2,1)} tanh(%x), backend_config={"window_config":{"output_window_bounds":["64","1","1"],"estimated_cycles":"9"}}
  %turned = bf16[2048,2,8]{2,1,0:T(2,128)(2,1)} copy(%x), backend_config={"window_config":{"kernel_window_bounds":[],"output_window_bounds":["512","1","1"],"input_window_bounds":["512","1","1"]}}
  ROOT %all = (bf16[2048,2,8]{1,2,0:T(8,128)(2,1)}, bf16[2048,2,8]{1,2,0:T(8,128)(2,1)}, bf16[2048,2,8]{1,2,0:T(8,128)(2,1)}, bf16[2048,2,8]{2,1,0:T(2,128)(2,1)}) tuple(%first, %second, %other, %turned)
}
)";

std::unique_ptr<HloModule> Parse(const std::string& text) {
  absl::StatusOr<std::unique_ptr<HloModule>> module = ParseHloText(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? *std::move(module) : nullptr;
}

TileBounds Output(WindowBounds output) {
  TileBounds bounds;
  bounds.output = std::move(output);
  return bounds;
}

class WithTilesTest : public testing::Test {
 protected:
  uint64_t Fingerprint(const char* name) const {
    return KernelHasher(*optimized_).Operation(*optimized_->FindInstruction(name));
  }

  std::string Config(const HloModule& module, const char* name) const {
    return std::string(module.FindInstruction(name)->backend_config());
  }

  const std::unique_ptr<HloModule> optimized_ = Parse(kOptimized);
};

TEST_F(WithTilesTest, EveryOccurrenceOfAKernelTakesItsTileAndTheOthersKeepTheirs) {
  const absl::StatusOr<std::unique_ptr<HloModule>> tiled =
      WithTiles(*optimized_, {{Fingerprint("first"), Output({32, 1, 1})}});
  ASSERT_TRUE(tiled.ok()) << tiled.status();
  for (const char* name : {"first", "second"}) {
    EXPECT_EQ(ParseCompilerChoice(Config(**tiled, name))->bounds, Output({32, 1, 1})) << name;
  }
  for (const char* name : {"other", "turned"}) {
    EXPECT_EQ(Config(**tiled, name), Config(*optimized_, name)) << name;
  }
  EXPECT_TRUE((*tiled)->is_scheduled());
}

TEST_F(WithTilesTest, CopiesThatTurnDimensionsOverGetInputBounds) {
  const absl::StatusOr<std::unique_ptr<HloModule>> tiled =
      WithTiles(*optimized_, {{Fingerprint("turned"), Output({64, 1, 1})}});
  ASSERT_TRUE(tiled.ok()) << tiled.status();
  const auto choice = ParseCompilerChoice(Config(**tiled, "turned"));
  EXPECT_EQ(choice->bounds.output, WindowBounds({64, 1, 1}));
  EXPECT_EQ(choice->bounds.input, WindowBounds({64, 1, 1}));
}

TEST_F(WithTilesTest, LayoutsOfParametersAndResultsArePinned) {
  const absl::StatusOr<std::unique_ptr<HloModule>> tiled = WithTiles(*optimized_, {});
  ASSERT_TRUE(tiled.ok()) << tiled.status();
  const auto& attributes = (*tiled)->attributes().frontend_attributes().map();
  EXPECT_EQ(attributes.at("arg_layout_modes"), "{1,2,0:T(8,128)(2,1)};default");
  EXPECT_EQ(attributes.at("out_layout_modes"),
            "{1,2,0:T(8,128)(2,1)};{1,2,0:T(8,128)(2,1)};{1,2,0:T(8,128)(2,1)};"
            "{2,1,0:T(2,128)(2,1)}");
}

TEST(HoldsPlacedArraysTest, ScalarsDoNotCount) {
  EXPECT_FALSE(HoldsPlacedArrays(*Parse(kOptimized)));
}

TEST(HoldsPlacedArraysTest, ArraysInVmemCountAlsoWithinTuples) {
  const std::string placed =
      absl::StrReplaceAll(kOptimized, {{"%other = bf16[2048,2,8]{1,2,0:T(8,128)(2,1)}",
                                        "%other = bf16[2048,2,8]{1,2,0:T(8,128)(2,1)S(1)}"}});
  EXPECT_TRUE(HoldsPlacedArrays(*Parse(placed)));
  EXPECT_TRUE(HoldsPlacedArrays(*Parse(R"(HloModule pair

ENTRY %main (x: (f32[8], f32[8])) -> f32[8] {
  %x = (f32[8]{0}, f32[8]{0:S(1)}) parameter(0)
  ROOT %y = f32[8]{0} get-tuple-element(%x), index=0
}
)")));
}

}  // namespace
}  // namespace autotune
