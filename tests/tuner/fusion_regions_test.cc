#include "tuner/fusion_regions.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "hlo/fusion_inline.h"
#include "hlo/parser.h"
#include "tests/hardware/fusion_chain.h"

namespace autotune {
namespace {

constexpr double kUs = 1e-6;

// Operations 1 to 5, one after the other; edge i joins operations i + 1 and i + 2.
FusionGraph Graph() {
  auto graph = InlinedFusionGraph(**ParseHloText(kChain));
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

FusionCompilation Compiled(const std::vector<std::pair<std::vector<int32_t>, double>>& kernels) {
  FusionCompilation compiled;
  for (const auto& [nodes, us] : kernels) {
    FusionKernel kernel;
    kernel.realised.nodes = nodes;
    kernel.once = {us * kUs, us * kUs, us * kUs};
    compiled.total += kernel.once;
    compiled.grouping.kernels.push_back(kernel.realised);
    compiled.kernels.push_back(std::move(kernel));
  }
  compiled.key = compiled.grouping.Key();
  return compiled;
}

// By their first cut.
std::vector<FusionEffect> Effects(
    const FusionDecision& decision, const FusionCompilation& compiled,
    const FusionCompilation& base = Compiled({{{1, 2}, 10}, {{3, 4, 5}, 20}}),
    const std::vector<double>& weights = std::vector<double>(6, 1.0)) {
  const FusionGraph graph = Graph();
  EXPECT_EQ(graph.node_count(), 6);
  FusionRecording recording({"chain", FusionFingerprint(graph), 4, "tpu-v3", ""});
  recording.Add({}, base);
  recording.Add(decision, compiled);
  std::vector<FusionEffect> effects =
      EffectsOf(graph, recording, weights, recording.entries()[0], recording.entries()[1]);
  std::sort(effects.begin(), effects.end(), [](const FusionEffect& a, const FusionEffect& b) {
    return a.cuts.front() < b.cuts.front();
  });
  return effects;
}

TEST(FusionRegionsTest, KernelsTellTheirCutsApart) {
  const std::vector<FusionEffect> effects =
      Effects({{0, 2}}, Compiled({{{1}, 2}, {{2}, 3}, {{3}, 11}, {{4, 5}, 12}}));
  ASSERT_EQ(effects.size(), 2);
  EXPECT_EQ(effects[0].cuts, (std::vector<int64_t>{0}));
  EXPECT_NEAR(effects[0].seconds, -5 * kUs, 1e-12);
  EXPECT_EQ(effects[1].cuts, (std::vector<int64_t>{2}));
  EXPECT_NEAR(effects[1].seconds, 3 * kUs, 1e-12);
}

TEST(FusionRegionsTest, CutsOfOneKernelCountTogether) {
  const std::vector<FusionEffect> effects =
      Effects({{2, 3}}, Compiled({{{1, 2}, 10}, {{3}, 1}, {{4}, 2}, {{5}, 3}}));
  ASSERT_EQ(effects.size(), 1);
  EXPECT_EQ(effects[0].cuts, (std::vector<int64_t>{2, 3}));
  EXPECT_NEAR(effects[0].seconds, -14 * kUs, 1e-12);
}

TEST(FusionRegionsTest, WhatChangesNothingHasNoEffect) {
  const std::vector<FusionEffect> effects =
      Effects({{0, 1}}, Compiled({{{1}, 2}, {{2}, 3}, {{3, 4, 5}, 20}}));
  // The compiler does not fuse edge 1 anyway; its ends are in kernels that changed with edge 0.
  double sum = 0;
  for (const FusionEffect& effect : effects) sum += effect.seconds;
  EXPECT_NEAR(sum, -5 * kUs, 1e-12);
  const std::vector<FusionEffect> none = Effects({{1}}, Compiled({{{1, 2}, 10}, {{3, 4, 5}, 20}}));
  ASSERT_EQ(none.size(), 1);
  EXPECT_EQ(none[0].seconds, 0);
}

// Another layout of a value changes a kernel in which nothing is cut.
TEST(FusionRegionsTest, ChangesElsewhereCountForTheCutsNextToThem) {
  const std::vector<FusionEffect> one =
      Effects({{0}}, Compiled({{{1}, 2}, {{2}, 3}, {{3, 4, 5}, 24}}));
  ASSERT_EQ(one.size(), 1);
  EXPECT_NEAR(one[0].seconds, -1 * kUs, 1e-12);
  // Three kernels by default; the one in the middle reads the first.
  const std::vector<FusionEffect> two =
      Effects({{0, 3}}, Compiled({{{1}, 2}, {{2}, 3}, {{3}, 6}, {{4}, 7}, {{5}, 5}}),
              Compiled({{{1, 2}, 10}, {{3}, 5}, {{4, 5}, 20}}), {1, 1, 3, 1, 1, 1});
  ASSERT_EQ(two.size(), 2);
  EXPECT_NEAR(two[0].seconds, -4 * kUs, 1e-12);
  EXPECT_NEAR(two[1].seconds, -8 * kUs, 1e-12);
}

}  // namespace
}  // namespace autotune
