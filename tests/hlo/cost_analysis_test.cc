#include "hlo/cost_analysis.h"

#include <memory>
#include <string>

#include "gtest/gtest.h"
#include "hlo/parser.h"

namespace autotune {
namespace {

std::unique_ptr<HloModule> Parse(const std::string& text) {
  absl::StatusOr<std::unique_ptr<HloModule>> module = ParseHloText(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? *std::move(module) : nullptr;
}

const HloInstruction& Find(const HloModule& module, const char* name) {
  return *module.FindInstruction(name);
}

TEST(CostAnalysisTest, ElementwiseCountsElements) {
  const auto module = Parse(R"(
HloModule m
ENTRY e {
  a = f32[4,8] parameter(0)
  b = f32[4,8] add(a, a)
  ROOT c = f32[4,8] tanh(b)
})");
  const CostAnalysis costs(*module);
  EXPECT_EQ(costs.Of(Find(*module, "b")).flops, 32);
  EXPECT_EQ(costs.Of(Find(*module, "b")).bytes_accessed, 3 * 128);
  EXPECT_EQ(costs.Of(Find(*module, "c")).flops, 0);
  EXPECT_EQ(costs.Of(Find(*module, "c")).transcendentals, 32);
  EXPECT_EQ(costs.total().bytes_accessed, 5 * 128);
  EXPECT_EQ(costs.OperandBytes(Find(*module, "b"), 1), 128);
  EXPECT_EQ(costs.OutputBytes(Find(*module, "b")), 128);
}

TEST(CostAnalysisTest, DotCountsTwoFlopsForEachMultiplyAdd) {
  const auto module = Parse(R"(
HloModule m
ENTRY e {
  a = f32[2,3,5] parameter(0)
  b = f32[2,5,7] parameter(1)
  ROOT d = f32[2,3,7] dot(a, b), lhs_batch_dims={0}, rhs_batch_dims={0}, lhs_contracting_dims={2}, rhs_contracting_dims={1}
})");
  EXPECT_EQ(CostAnalysis(*module).total().flops, 2.0 * 2 * 3 * 5 * 7);
}

// A 3x3 window with one row and column of padding over 4x4: along each dimension the outer kernel
// positions meet 3 elements and the middle one 4.
TEST(CostAnalysisTest, ConvolutionDoesNotCountPadding) {
  const auto module = Parse(R"(
HloModule m
ENTRY e {
  x = f32[2,4,4,5] parameter(0)
  w = f32[3,3,5,6] parameter(1)
  ROOT c = f32[2,4,4,6] convolution(x, w), window={size=3x3 pad=1_1x1_1}, dim_labels=b01f_01io->b01f
})");
  EXPECT_EQ(CostAnalysis(*module).total().flops, 2.0 * 2 * 5 * 6 * (3 + 4 + 3) * (3 + 4 + 3));
}

// Counts positions one by one, as the definition says.
double CountedPositions(int64_t input, int64_t kernel, int64_t output,
                        const proto::WindowDimension& w) {
  double positions = 0;
  for (int64_t k = 0; k < kernel; ++k) {
    for (int64_t o = 0; o < output; ++o) {
      const int64_t dilated = o * w.stride() - w.padding_low() + k * w.window_dilation();
      if (dilated < 0 || dilated % w.base_dilation() != 0) continue;
      positions += dilated / w.base_dilation() < input;
    }
  }
  return positions;
}

TEST(CostAnalysisTest, ConvolutionPositionsEqualTheirDefinition) {
  for (int stride : {1, 2, 3, 6}) {
    for (int base_dilation : {1, 2, 4, 5}) {
      for (int window_dilation : {1, 2, 3}) {
        for (int pad : {-2, 0, 3}) {
          const int input = 7, kernel = 4;
          const int padded = (input - 1) * base_dilation + 1 + 2 * pad;
          const int size = (kernel - 1) * window_dilation + 1;
          if (padded < size) continue;
          const int output = (padded - size) / stride + 1;
          const auto module =
              Parse(absl::StrCat("HloModule m\nENTRY e {\n x = f32[1,1,7] parameter(0)\n",
                                 " w = f32[1,1,4] parameter(1)\n ROOT c = f32[1,1,", output,
                                 "] convolution(x, w), window={size=4 stride=", stride,
                                 " pad=", pad, "_", pad, " lhs_dilate=", base_dilation,
                                 " rhs_dilate=", window_dilation, "}, dim_labels=bf0_oi0->bf0\n}"));
          ASSERT_NE(module, nullptr);
          const proto::WindowDimension& window =
              Find(*module, "c").attributes().window().dimensions(0);
          EXPECT_EQ(CostAnalysis(*module).total().flops,
                    2 * CountedPositions(input, kernel, output, window))
              << window.ShortDebugString();
        }
      }
    }
  }
}

// A made-up window whose exact count would take forever is bounded instead.
TEST(CostAnalysisTest, HugeWindowsCostNoTime) {
  const auto module = Parse(R"(
HloModule m
ENTRY e {
  x = f32[1,1,1000000000000] parameter(0)
  w = f32[1,1,900000000000] parameter(1)
  ROOT c = f32[1,1,100000000001] convolution(x, w), window={size=900000000000}, dim_labels=bf0_oi0->bf0
})");
  EXPECT_EQ(CostAnalysis(*module).total().flops, 2.0 * 9e11 * 100000000001.0);
}

TEST(CostAnalysisTest, FusionCountsItsBorderOnly) {
  const auto module = Parse(R"(
HloModule m
f {
  p = f32[10,10] parameter(0)
  q = f32[100,10] parameter(1)
  s = f32[10,10] slice(q), slice={[0:10], [0:10]}
  a = f32[10,10] add(p, s)
  ROOT m = f32[10,10] multiply(a, a)
}
ENTRY e {
  p = f32[10,10] parameter(0)
  q = f32[100,10] parameter(1)
  ROOT r = f32[10,10] fusion(p, q), kind=kLoop, calls=f
})");
  const CostAnalysis costs(*module);
  EXPECT_EQ(costs.total().flops, 200);
  // The slice reads its part of q.
  EXPECT_EQ(costs.OperandBytes(Find(*module, "r"), 1), 400);
  EXPECT_EQ(costs.total().bytes_accessed, 3 * 400);
}

TEST(CostAnalysisTest, UpdateInPlaceWritesTheUpdateOnly) {
  const auto module = Parse(R"(
HloModule m
f {
  p = f32[100,10] parameter(0)
  u = f32[1,10] parameter(1)
  i = s32[] parameter(2)
  z = s32[] constant(0)
  ROOT d = f32[100,10] dynamic-update-slice(p, u, i, z)
}
ENTRY e {
  p = f32[100,10] parameter(0)
  u = f32[1,10] parameter(1)
  i = s32[] parameter(2)
  ROOT r = f32[100,10] fusion(p, u, i), kind=kLoop, calls=f
})");
  const CostAnalysis costs(*module);
  const HloInstruction& fusion = Find(*module, "r");
  EXPECT_EQ(costs.OutputBytes(fusion), 40);
  EXPECT_EQ(costs.OperandBytes(fusion, 0), 0);
  EXPECT_EQ(costs.OperandBytes(fusion, 1), 40);
  EXPECT_EQ(costs.OperandBytes(fusion, 2), 4);
}

TEST(CostAnalysisTest, LoopsCountOneIterationAndConditionalsTheDearestBranch) {
  const auto module = Parse(R"(
HloModule m
body { p = f32[8] parameter(0)  ROOT a = f32[8] add(p, p) }
condition { p = f32[8] parameter(0)  ROOT c = pred[] constant(true) }
cheap { p = f32[8] parameter(0)  ROOT n = f32[8] negate(p) }
dear { p = f32[8] parameter(0)  n = f32[8] negate(p)  ROOT t = f32[8] add(n, p) }
ENTRY e {
  x = f32[8] parameter(0)
  c = pred[] parameter(1)
  w = f32[8] while(x), condition=condition, body=body
  ROOT r = f32[8] conditional(c, w, w), true_computation=cheap, false_computation=dear
})");
  const CostAnalysis costs(*module);
  EXPECT_EQ(costs.Of(Find(*module, "w")).flops, 8);
  EXPECT_EQ(costs.Of(Find(*module, "r")).flops, 16);
}

TEST(CostAnalysisTest, ReductionAppliesItsFunctionOncePerElementMergedAway) {
  const auto module = Parse(R"(
HloModule m
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
ENTRY e {
  x = f32[10,20] parameter(0)
  z = f32[] constant(0)
  ROOT r = f32[10] reduce(x, z), dimensions={1}, to_apply=sum
})");
  EXPECT_EQ(CostAnalysis(*module).total().flops, 190);
}

TEST(CostAnalysisTest, CustomCallsAreUnknown) {
  const auto module = Parse(R"(
HloModule m
ENTRY e {
  x = f32[10] parameter(0)
  ROOT r = f32[10] custom-call(x), custom_call_target="mystery"
})");
  const CostAnalysis costs(*module);
  EXPECT_EQ(costs.total().unknown, 1);
  EXPECT_EQ(costs.total().flops, 0);
  EXPECT_EQ(costs.total().bytes_accessed, 0);
}

// The cost of the last instruction of a text's entry computation.
Cost CostOfRoot(const std::string& text) {
  const auto module = Parse(text);
  return CostAnalysis(*module).Of(module->entry_computation().root());
}

TEST(CostAnalysisTest, TriangularMatricesAreHalfRead) {
  const Cost cholesky = CostOfRoot("f32[4,4] cholesky(f32[4,4] a), lower=true");
  EXPECT_EQ(cholesky.flops, 21);
  EXPECT_EQ(cholesky.bytes_accessed, 64);
  const Cost solve = CostOfRoot("f32[4,4] triangular-solve(f32[4,4] a, f32[4,4] b)");
  EXPECT_EQ(solve.flops, 128);
  EXPECT_EQ(solve.bytes_accessed, 160);
}

TEST(CostAnalysisTest, DynamicArraysCarryTheirExtents) {
  EXPECT_EQ(CostOfRoot("f32[<=3,4] negate(f32[<=3,4] a)").bytes_accessed, 2 * (48 + 8));
}

TEST(CostAnalysisTest, OutfeedReadsTheArraysOfATuple) {
  EXPECT_EQ(CostOfRoot("token[] outfeed((f32[4], s32[2]) a, token[] b)").bytes_accessed, 24);
}

// A scatter in a custom fusion at the root of another fusion: XLA counts what the users of the
// inner fusion read of the outer one's parameters, and the root has none.
TEST(CostAnalysisTest, ANestedFusionAtTheRootReadsNothing) {
  EXPECT_EQ(CostOfRoot(R"(
HloModule m
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
inner {
  x = f32[100,8] parameter(0)
  i = s32[4,1] parameter(1)
  u = f32[4,8] parameter(2)
  ROOT s = f32[100,8] scatter(x, i, u), update_window_dims={1}, inserted_window_dims={0}, scatter_dims_to_operand_dims={0}, index_vector_dim=1, to_apply=sum
}
outer {
  x = f32[100,8] parameter(0)
  i = s32[4,1] parameter(1)
  u = f32[4,8] parameter(2)
  n = f32[4,8] negate(u)
  ROOT f = f32[100,8] fusion(x, i, n), kind=kCustom, calls=inner
}
ENTRY e {
  x = f32[100,8] parameter(0)
  i = s32[4,1] parameter(1)
  u = f32[4,8] parameter(2)
  ROOT f = f32[100,8] fusion(x, i, u), kind=kCustom, calls=outer
})")
                .bytes_accessed,
            3200 + 128);
}

}  // namespace
}  // namespace autotune
