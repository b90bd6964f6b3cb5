#include "hlo/fusion_group.h"

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo/parser.h"

namespace autotune {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

FusionGraph Parse(const std::string& text) {
  absl::StatusOr<std::unique_ptr<HloModule>> module = ParseHloText(text);
  EXPECT_TRUE(module.ok()) << module.status();
  absl::StatusOr<FusionGraph> graph = FusionGraph::Create(*std::move(module));
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

// Nodes 0 to 4: x, a, b, c, d.
constexpr char kDiamond[] = R"(HloModule m
ENTRY e {
  x = f32[1024,1024] parameter(0)
  a = f32[1024,1024] negate(x)
  b = f32[1024,1024] abs(a)
  c = f32[1024,1024] tanh(a)
  ROOT d = f32[1024,1024] add(b, c)
})";

RealisedGrouping Grouping(const std::vector<std::vector<int32_t>>& kernels) {
  RealisedGrouping grouping;
  for (const std::vector<int32_t>& nodes : kernels) {
    grouping.kernels.push_back({"k", 1, nodes});
  }
  return grouping;
}

TEST(FusionGroupTest, OneKernelReadsTheParameterAndWritesTheResult) {
  const FusionGraph graph = Parse(kDiamond);
  const std::vector<FusionGroup> groups = GroupsOf(graph, Grouping({{1, 2, 3, 4}}));
  ASSERT_EQ(groups.size(), 1);
  EXPECT_THAT(groups[0].nodes, ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(groups[0].read, ElementsAre(0));
  EXPECT_THAT(groups[0].written, ElementsAre(4));
}

TEST(FusionGroupTest, WhatEveryReaderComputesAgainIsNotWritten) {
  const FusionGraph graph = Parse(kDiamond);
  const std::vector<FusionGroup> groups = GroupsOf(graph, Grouping({{1, 2}, {1, 3, 4}}));
  EXPECT_THAT(groups[0].written, ElementsAre(2));
  EXPECT_THAT(groups[0].read, ElementsAre(0));
  EXPECT_THAT(groups[1].written, ElementsAre(4));
  EXPECT_THAT(groups[1].read, ElementsAre(0, 2));
}

TEST(FusionGroupTest, AValueIsWrittenByTheKernelThatItEnds) {
  const FusionGraph graph = Parse(kDiamond);
  // a is computed twice and read by the last kernel.
  const std::vector<FusionGroup> groups = GroupsOf(graph, Grouping({{1, 2}, {1}, {3, 4}}));
  EXPECT_THAT(groups[0].written, ElementsAre(2));
  EXPECT_THAT(groups[1].written, ElementsAre(1));
  EXPECT_THAT(groups[2].read, ElementsAre(1, 2));
}

TEST(FusionGroupTest, ValuesAreReadThroughWhatIsInNoKernel) {
  const FusionGraph graph = Parse(R"(HloModule m
ENTRY e {
  x = f32[1024,1024] parameter(0)
  a = f32[1024,1024] negate(x)
  r = f32[1048576] reshape(a)
  ROOT b = f32[1048576] abs(r)
})");
  EXPECT_THAT(ValueSources(graph, {false, false, true, false}), ElementsAre(0, 1, 1, 3));
  const std::vector<FusionGroup> apart = GroupsOf(graph, Grouping({{1}, {3}}));
  EXPECT_THAT(apart[0].written, ElementsAre(1));
  EXPECT_THAT(apart[1].read, ElementsAre(1));
  const std::vector<FusionGroup> together = GroupsOf(graph, Grouping({{1, 3}}));
  EXPECT_THAT(together[0].read, ElementsAre(0));
  EXPECT_THAT(together[0].written, ElementsAre(3));
}

TEST(FusionGroupTest, KernelsOfNoOperationAreEmpty) {
  const FusionGraph graph = Parse(kDiamond);
  const std::vector<FusionGroup> groups = GroupsOf(graph, Grouping({{}, {1, 2, 3, 4}}));
  ASSERT_EQ(groups.size(), 2);
  EXPECT_THAT(groups[0].nodes, IsEmpty());
  EXPECT_THAT(groups[0].written, IsEmpty());
}

}  // namespace
}  // namespace autotune
