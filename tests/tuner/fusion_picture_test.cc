// The picture of a program's groups, and what Graphviz makes of it.

#include "tuner/fusion_picture.h"

#include <cstdlib>
#include <filesystem>
#include <string>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo/fusion_inline.h"
#include "hlo/parser.h"
#include "search/fusion_groups.h"
#include "tuner/graphviz.h"

namespace autotune {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// c is read by two kernels, which both compute a and b.
constexpr char kProgram[] = R"(HloModule two
sum { p = f32[] parameter(0)  q = f32[] parameter(1)  ROOT s = f32[] add(p, q) }
ENTRY e {
  x = f32[1024,1024] parameter(0)
  z = f32[] constant(0)
  a = f32[1024,1024] negate(x)
  b = f32[1024,1024] abs(a)
  r = f32[1024] reduce(b, z), dimensions={1}, to_apply=sum
  c = f32[1024,1024] exponential(b)
  ROOT t = (f32[1024], f32[1024,1024]) tuple(r, c)
})";

class FusionPictureTest : public ::testing::Test {
 protected:
  FusionPictureTest()
      : graph_(InlinedFusionGraph(**ParseHloText(kProgram)).value()),
        scorer_(&graph_, PredictOutline(graph_), *FindDeviceSpec("v3")) {}

  std::string Dot(const FusionDecision& decision) const {
    return FusionGroupsDot(graph_, scorer_, decision, "tpu-v3");
  }

  FusionGraph graph_;
  FusionScorer scorer_;
};

TEST_F(FusionPictureTest, SaysWhatItShows) {
  const std::string dot = Dot({});
  EXPECT_THAT(dot, HasSubstr("ESTIMATE for tpu-v3, no time was measured<"));
  EXPECT_THAT(dot, HasSubstr(">two: 2 groups, "));
  EXPECT_THAT(dot, HasSubstr(" by the analytical model: expected, not compiled<"));
  EXPECT_THAT(dot, HasSubstr("time of a group"));
  EXPECT_THAT(dot, HasSubstr("label=\"b\\nf32[1024,1024]\\nin 2 groups\""));
  EXPECT_THAT(dot, HasSubstr("label=\"r\\nf32[1024]\""));
  EXPECT_THAT(dot, HasSubstr("label=\" 0: ~+"));  // expected, not compiled
  EXPECT_THAT(dot, HasSubstr("edgetooltip=\"cut 0, a -> b: analytical +"));
  EXPECT_THAT(dot, Not(HasSubstr("dashed\"")));
}

TEST_F(FusionPictureTest, EdgesBetweenGroupsSayWhatMergingChanges) {
  FusionOutline outline = PredictOutline(graph_);
  outline.fused[0] = false;
  const FusionScorer scorer(&graph_, outline, *FindDeviceSpec("v3"));
  // b is computed by both of its users, so only a joins the one kernel to the other.
  const std::string dot = FusionGroupsDot(graph_, scorer, FusionDecision{{1, 2}}, "tpu-v3");
  EXPECT_THAT(dot, HasSubstr("fontcolor=grey50, edgetooltip=\"merge, a -> b: analytical -"));
}

TEST_F(FusionPictureTest, ShowsTheDearestGroups) {
  const std::string dot = FusionGroupsDot(graph_, scorer_, {}, "tpu-v3", 1);
  EXPECT_THAT(dot, HasSubstr("; the 1 dearest shown<"));
  EXPECT_THAT(dot, HasSubstr("label=\"c\\n"));  // it writes an array, the other a vector
  EXPECT_THAT(dot, HasSubstr("label=\"b\\n"));
  EXPECT_THAT(dot, Not(HasSubstr("label=\"r\\n")));
  EXPECT_THAT(dot, Not(HasSubstr("b -> r")));
}

TEST_F(FusionPictureTest, CutEdgesAreDashedAndSayWhatJoiningChanges) {
  const std::string dot = Dot(FusionDecision{{0}});
  EXPECT_THAT(dot, HasSubstr("style=dashed, edgetooltip=\"join 0, a -> b: analytical -"));
}

// Names from a protobuf may hold anything.
TEST_F(FusionPictureTest, NamesAreQuoted) {
  proto::HloModuleProto proto = (*ParseHloText(kProgram))->ToProto();
  proto.set_name("say \"a\\b\" <B>");
  auto module = HloModule::FromProto(proto);
  ASSERT_TRUE(module.ok()) << module.status();
  const FusionGraph graph = InlinedFusionGraph(**module).value();
  const FusionScorer scorer(&graph, PredictOutline(graph), *FindDeviceSpec("v3"));
  EXPECT_THAT(FusionGroupsDot(graph, scorer, {}, "tpu-v3"),
              HasSubstr(R"(<TD>say &quot;a\b&quot; &lt;B&gt;: 2 groups, )"));
}

TEST_F(FusionPictureTest, GraphvizDrawsIt) {
  const auto svg = DrawSvg(Dot(FusionDecision{{0}}));
  if (absl::IsUnavailable(svg.status())) GTEST_SKIP() << svg.status();
  ASSERT_TRUE(svg.ok()) << svg.status();
  for (const char* part : {"<svg", "ESTIMATE for tpu", "time of a group", "f32[1024,1024]"}) {
    EXPECT_THAT(*svg, HasSubstr(part));
  }
}

TEST_F(FusionPictureTest, WhatGraphvizCannotDrawIsSaid) {
  const auto svg = DrawSvg("digraph {");
  if (absl::IsUnavailable(svg.status())) GTEST_SKIP() << svg.status();
  EXPECT_EQ(svg.status().code(), absl::StatusCode::kInternal);
  EXPECT_THAT(std::string(svg.status().message()), HasSubstr("syntax error"));
}

}  // namespace
}  // namespace autotune
