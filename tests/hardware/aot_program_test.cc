#include "hardware/aot_program.h"

#include <memory>
#include <string>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "gtest/gtest.h"
#include "hlo/kernel_choice.h"
#include "hlo/parser.h"

namespace autotune {
namespace {

std::shared_ptr<const HloModule> Parse(const std::string& text) {
  absl::StatusOr<std::unique_ptr<HloModule>> module = ParseHloText(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return *std::move(module);
}

// A lone reduce: its reducer is a computation that has to be scheduled too.
constexpr char kReduce[] = R"(HloModule reduce.7

%sum (a: f32[], b: f32[]) -> f32[] {
  %a = f32[]{:T(128)} parameter(0)
  %b = f32[]{:T(128)} parameter(1)
  ROOT %add = f32[]{:T(128)} add(%a, %b)
}

ENTRY %main (x: f32[64,256], zero: f32[]) -> f32[256] {
  %x = f32[64,256]{0,1:T(8,128)S(1)} parameter(0)
  %zero = f32[]{:T(128)S(6)} parameter(1)
  ROOT %reduce.7 = f32[256]{0:T(256)} reduce(%x, %zero), dimensions={0}, to_apply=%sum, backend_config={"window_config":{"output_window_bounds":["2","8"],"estimated_cycles":"5"},"used_scoped_memory_configs":[{"size":"9"}]}
}
)";

Kernel ReduceKernel() {
  absl::StatusOr<Kernel> kernel = KernelFromModule(Parse(kReduce));
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  return *kernel;
}

TileBounds Bounds(WindowBounds output) {
  TileBounds bounds;
  bounds.output = std::move(output);
  return bounds;
}

TEST(AotProgramTest, KernelProgramIsScheduledAndPinned) {
  const TileBounds bounds = Bounds({1, 4});
  const proto::HloModuleProto program = KernelProgram(ReduceKernel(), &bounds);
  // Both the entry and the reducer, which is no fusion's body.
  EXPECT_EQ(program.schedule().sequences_size(), 2);
  const auto& attributes = program.frontend_attributes().map();
  EXPECT_EQ(attributes.at("arg_layout_modes"), "{0,1:T(8,128)};default");
  EXPECT_EQ(attributes.at("arg_memory_spaces"), "0;6");  // copied into VMEM
  EXPECT_EQ(attributes.at("out_layout_modes"), "{0:T(256)}");
  EXPECT_EQ(attributes.at("out_memory_spaces"), "0");
  absl::StatusOr<std::unique_ptr<HloModule>> module = HloModule::FromProto(program);
  ASSERT_TRUE(module.ok()) << module.status();
  const auto choice = ParseCompilerChoice((*module)->FindInstruction("reduce.7")->backend_config());
  ASSERT_TRUE(choice.has_value());
  EXPECT_EQ(choice->bounds, bounds);
  EXPECT_FALSE(
      absl::StrContains((*module)->FindInstruction("reduce.7")->backend_config(), "used_scoped"));
}

TEST(AotProgramTest, WithoutBoundsTheCompilerChooses) {
  const proto::HloModuleProto program = KernelProgram(ReduceKernel(), nullptr);
  absl::StatusOr<std::unique_ptr<HloModule>> module = HloModule::FromProto(program);
  ASSERT_TRUE(module.ok()) << module.status();
  EXPECT_EQ((*module)->FindInstruction("reduce.7")->backend_config(), "");
}

TEST(AotProgramTest, ConvolutionAlgorithmsAndFlagsAreKept) {
  const std::string config = WithWindowConfig(
      R"({"flag_configs":[1],"convolution_algorithm_config":{"emitter":"E"},"retry_config":{}})",
      Bounds({2, 3}));
  EXPECT_EQ(config,
            R"({"convolution_algorithm_config":{"emitter":"E"},"flag_configs":[1],)"
            R"("window_config":{"kernel_window_bounds":[],"output_window_bounds":["2","3"]}})");
  EXPECT_TRUE(absl::StrContains(WithWindowConfig("no JSON", Bounds({7})), "\"7\""));
}

// Regression: the compiler refuses these copies without input bounds, with its own tile too
// ("Invalid input window bounds"). Shapes and bounds as it wrote them for moe_top2 on a TPU v5e.
TEST(AotProgramTest, CopiesThatTurnMinorDimensionsOverGetInputBounds) {
  constexpr char kCopy[] = R"(HloModule copy.21

ENTRY %main (x: bf16[2048,2,8]) -> bf16[2048,2,8] {
  %x = bf16[2048,2,8]{0,2,1:T(8,128)(2,1)} parameter(0)
  ROOT %copy.21 = bf16[2048,2,8]{2,1,0:T(2,128)(2,1)} copy(%x), backend_config={"window_config":{"kernel_window_bounds":[],"output_window_bounds":["512","1","1"],"input_window_bounds":["2","1","4"]}}
}
)";
  const absl::StatusOr<Kernel> kernel = KernelFromModule(Parse(kCopy));
  ASSERT_TRUE(kernel.ok()) << kernel.status();
  const Shape& operand = kernel->module->entry_computation().root().operand(0).shape();
  const Shape& result = kernel->module->entry_computation().root().shape();
  EXPECT_EQ(CopyInputBounds(operand, result, {512, 1, 1}), (WindowBounds{2, 1, 4}));
  EXPECT_EQ(CopyInputBounds(operand, result, {100, 1, 1}), (WindowBounds{2, 1, 1}));
  EXPECT_EQ(CopyInputBounds(operand, result, {2048, 1, 1}), (WindowBounds{2, 1, 16}));
  EXPECT_TRUE(CopyInputBounds(operand, result, {512, 1}).empty());
  const auto input_of = [](const proto::HloModuleProto& program) {
    const auto module = HloModule::FromProto(program);
    EXPECT_TRUE(module.ok()) << module.status();
    return ParseCompilerChoice((*module)->FindInstruction("copy.21")->backend_config())
        ->bounds.input;
  };
  const TileBounds bounds = Bounds({1024, 1, 1});
  EXPECT_EQ(input_of(KernelProgram(*kernel, &bounds)), (WindowBounds{2, 1, 8}));
  // Other kernels are left to the compiler, and so are copies to which it gave no input bounds.
  std::string text = kCopy;
  text.replace(text.find("[\"2\",\"1\",\"4\"]"), 13, "[]");
  const absl::StatusOr<Kernel> plain = KernelFromModule(Parse(text));
  ASSERT_TRUE(plain.ok()) << plain.status();
  EXPECT_TRUE(input_of(KernelProgram(*plain, &bounds)).empty());
}

TEST(AotProgramTest, FaithfulMeansSameKernelAndSameBounds) {
  const Kernel kernel = ReduceKernel();
  const TileBounds chosen = Bounds({2, 8});
  const TileBounds other = Bounds({4, 8});
  EXPECT_TRUE(CheckFaithful(kernel, &chosen, *kernel.module).ok());
  EXPECT_TRUE(CheckFaithful(kernel, nullptr, *kernel.module).ok());
  const absl::Status clamped = CheckFaithful(kernel, &other, *kernel.module).status();
  EXPECT_TRUE(absl::StrContains(clamped.message(), "o=2,8 instead of o=4,8")) << clamped;
  // The compiler places scalars itself; another layout of an array is another kernel.
  std::string text = kReduce;
  text.replace(text.find("S(6)"), 4, "");
  EXPECT_TRUE(CheckFaithful(kernel, &chosen, *Parse(text)).ok());
  text.replace(text.find("{0,1:T(8,128)S(1)}"), 18, "{1,0:T(8,128)S(1)}");
  EXPECT_FALSE(CheckFaithful(kernel, &chosen, *Parse(text)).ok());
}

// Regression: a program with elided constants did not compile ("Expected 262144 elements").
TEST(AotProgramTest, ElidedConstantsGetZeros) {
  proto::HloModuleProto program = Parse(R"(HloModule m
ENTRY %e () -> (f32[4,8], bf16[16], f32[2]) {
  %a = f32[4,8]{1,0} constant({...})
  %b = bf16[16]{0} constant({...})
  %c = f32[2]{0} constant({1, 2})
  ROOT %t = (f32[4,8]{1,0}, bf16[16]{0}, f32[2]{0}) tuple(%a, %b, %c)
}
)")
                                      ->ToProto();
  EXPECT_EQ(FillElidedConstants(&program), 2);
  const auto& instructions = program.computations(0).instructions();
  EXPECT_EQ(instructions[0].literal().f32s_size(), 32);
  EXPECT_EQ(instructions[1].literal().bf16s().size(), 32u);
  ASSERT_EQ(instructions[2].literal().f32s_size(), 2);
  EXPECT_EQ(instructions[2].literal().f32s(1), 2);
  EXPECT_EQ(FillElidedConstants(&program), 0);  // there are none left
}

TEST(AotProgramTest, ElidedConstantsOfEveryTypeGetSeededValues) {
  for (const char* type : {"pred", "s8", "u8", "s16", "u16", "s32", "u32", "s64", "u64", "f16",
                           "bf16", "f32", "f64", "c64", "c128", "f8e4m3fn", "s4"}) {
    const std::string text =
        absl::StrCat("HloModule m\nENTRY %e () -> ", type, "[64] {\n  ROOT %a = ", type,
                     "[64]{0} constant({...})\n}\n");
    proto::HloModuleProto program = Parse(text)->ToProto();
    proto::HloModuleProto other = program;
    proto::HloModuleProto same = program;
    EXPECT_EQ(FillElidedConstants(&program, 3), 1) << type;
    FillElidedConstants(&other, 4);
    FillElidedConstants(&same, 3);
    EXPECT_EQ(program.SerializeAsString(), same.SerializeAsString()) << type;
    EXPECT_NE(program.SerializeAsString(), other.SerializeAsString()) << type;
    absl::StatusOr<std::unique_ptr<HloModule>> module = HloModule::FromProto(program);
    ASSERT_TRUE(module.ok()) << type << ": " << module.status();
    EXPECT_EQ((*module)->elided_constant_count(), 0) << type;
  }
}

}  // namespace
}  // namespace autotune
