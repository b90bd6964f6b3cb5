// Kernels with operands and results in VMEM, cut out of a program: they get copies around them.

#include "hardware/vmem_staging.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "gtest/gtest.h"
#include "hardware/aot_backend.h"
#include "hardware/aot_program.h"
#include "hardware/pjrt_discovery.h"
#include "hlo/kernel.h"
#include "hlo/parser.h"
#include "hlo/verifier.h"

namespace autotune {
namespace {

// Two operands and one of two results in VMEM.
constexpr char kTwoResults[] = R"(HloModule kernel
%body (a: f32[1024,1024], b: f32[1024,1024], c: f32[1024,1024]) -> (f32[1024,1024], f32[1024,1024]) {
  %a = f32[1024,1024]{1,0:T(8,128)S(1)} parameter(0)
  %b = f32[1024,1024]{1,0:T(8,128)} parameter(1)
  %c = f32[1024,1024]{1,0:T(8,128)S(1)} parameter(2)
  %add = f32[1024,1024]{1,0:T(8,128)} add(%a, %b)
  %multiply = f32[1024,1024]{1,0:T(8,128)S(1)} multiply(%a, %c)
  ROOT %tuple = (f32[1024,1024]{1,0:T(8,128)}, f32[1024,1024]{1,0:T(8,128)S(1)}) tuple(%add, %multiply)
}
ENTRY %main (a: f32[1024,1024], b: f32[1024,1024], c: f32[1024,1024]) -> (f32[1024,1024], f32[1024,1024]) {
  %a = f32[1024,1024]{1,0:T(8,128)S(1)} parameter(0)
  %b = f32[1024,1024]{1,0:T(8,128)} parameter(1)
  %c = f32[1024,1024]{1,0:T(8,128)S(1)} parameter(2)
  ROOT %fusion.5 = (f32[1024,1024]{1,0:T(8,128)}, f32[1024,1024]{1,0:T(8,128)S(1)}) fusion(%a, %b, %c), kind=kLoop, calls=%body, backend_config={"window_config":{"kernel_window_bounds":[],"output_window_bounds":["32","8"]}}
}
)";

// The same in HBM altogether.
std::string InHbm(std::string text) {
  for (size_t at = text.find("S(1)"); at != std::string::npos; at = text.find("S(1)", at)) {
    text.erase(at, 4);
  }
  return text;
}

Kernel KernelOf(const std::string& text) {
  absl::StatusOr<std::unique_ptr<HloModule>> module = ParseHloText(text);
  EXPECT_TRUE(module.ok()) << module.status();
  absl::StatusOr<Kernel> kernel = KernelFromModule(*std::move(module));
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  return *kernel;
}

TEST(VmemStagingTest, OperandsAreCopiedInAndResultsOut) {
  proto::HloModuleProto program = KernelOf(kTwoResults).module->ToProto();
  EXPECT_TRUE(UsesVmem(program));
  StageVmemOperands(&program);
  absl::StatusOr<std::unique_ptr<HloModule>> staged = HloModule::FromProto(program);
  ASSERT_TRUE(staged.ok()) << staged.status();
  EXPECT_TRUE(VerifyStatus(**staged).ok()) << VerifyStatus(**staged);
  const HloComputation& entry = (*staged)->entry_computation();
  for (const HloInstruction* parameter : entry.parameters()) {
    EXPECT_EQ(parameter->shape().layout().memory_space, 0);
  }
  const HloInstruction* kernel = (*staged)->FindInstruction("fusion.5");
  ASSERT_NE(kernel, nullptr);
  const std::vector<HloOpcode> operands = {kernel->operand(0).opcode(), kernel->operand(1).opcode(),
                                           kernel->operand(2).opcode()};
  EXPECT_EQ(operands,
            (std::vector<HloOpcode>{HloOpcode::kCopy, HloOpcode::kParameter, HloOpcode::kCopy}));
  EXPECT_EQ(kernel->operand(0).shape().layout().memory_space, 1);
  // The first result is in HBM already, the second is copied there.
  const HloInstruction& root = entry.root();
  ASSERT_EQ(root.opcode(), HloOpcode::kTuple);
  EXPECT_EQ(root.operand(0).opcode(), HloOpcode::kGetTupleElement);
  EXPECT_EQ(root.operand(1).opcode(), HloOpcode::kCopy);
  EXPECT_EQ(root.operand(1).shape().layout().memory_space, 0);
}

TEST(VmemStagingTest, AKernelInHbmStaysAsItIs) {
  proto::HloModuleProto program = KernelOf(InHbm(kTwoResults)).module->ToProto();
  const std::string before = program.SerializeAsString();
  EXPECT_FALSE(UsesVmem(program));
  StageVmemOperands(&program);
  EXPECT_EQ(program.SerializeAsString(), before);
}

TEST(VmemStagingTest, TheKernelIsFoundBetweenTheCopies) {
  const Kernel kernel = KernelOf(kTwoResults);
  const TileBounds& bounds = kernel.compiler_choice->bounds;
  absl::StatusOr<std::unique_ptr<HloModule>> staged =
      HloModule::FromProto(KernelProgram(kernel, &bounds));
  ASSERT_TRUE(staged.ok()) << staged.status();
  const auto choice = CheckFaithful(kernel, &bounds, **staged);
  ASSERT_TRUE(choice.ok()) << choice.status();
  ASSERT_TRUE(choice->has_value());
  EXPECT_EQ((*choice)->bounds, bounds);
  EXPECT_FALSE(CheckFaithful(KernelOf(InHbm(kTwoResults)), &bounds, **staged).ok());
}

// Regression: the compilers for v5e and later refused kernels with several operands in VMEM, and
// moved others there ("another kernel of it"), so that hardly a kernel of a program was faithful.
class VmemTargetTest : public testing::TestWithParam<const char*> {};

TEST_P(VmemTargetTest, AKernelInVmemIsFaithful) {
  if (!HasPjrtSupport() || !FindLibtpu().ok()) GTEST_SKIP() << "libtpu is not installed";
  const auto backend = AotBackend::Create({.target = GetParam()});
  ASSERT_TRUE(backend.ok()) << backend.status();
  double seconds[2] = {};
  const Kernel kernels[] = {KernelOf(kTwoResults), KernelOf(InHbm(kTwoResults))};
  for (int i = 0; i < 2; ++i) {
    const auto estimate = (*backend)->Estimate(kernels[i], &kernels[i].compiler_choice->bounds);
    ASSERT_TRUE(estimate.ok()) << estimate.status();
    ASSERT_TRUE(std::holds_alternative<AotEstimate>(*estimate))
        << std::get<Failure>(*estimate).message;
    seconds[i] = std::get<AotEstimate>(*estimate).seconds;
  }
  EXPECT_LT(seconds[0], seconds[1]);  // less goes through HBM, and the copies are not counted
}

INSTANTIATE_TEST_SUITE_P(Targets, VmemTargetTest, testing::Values("v5e", "v5p", "v6e", "v7x"));

}  // namespace
}  // namespace autotune
