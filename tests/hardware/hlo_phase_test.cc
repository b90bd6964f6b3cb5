#include "hardware/hlo_phase.h"

#include <memory>
#include <string>
#include <variant>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hardware/fusion_compiler.h"
#include "hardware/pjrt_discovery.h"
#include "hlo/parser.h"

namespace autotune {
namespace {

TEST(HloPhaseTest, KnowsAWholeDump) {
  const std::string text =
      "HloModule m, is_scheduled=true\n\nf {\n  ROOT c = f32[] constant(1)\n}\n\nENTRY e {\n"
      "  p = f32[2]{0} parameter(0), metadata={op_name=\"x\"}\n  ROOT r = f32[2]{0} negate(p)\n}\n";
  EXPECT_TRUE(IsWholeHloDump(text));
  EXPECT_TRUE(IsWholeHloDump(text + "\n"));
  for (size_t size = 0; size < text.size(); ++size) {
    EXPECT_FALSE(IsWholeHloDump(text.substr(0, size))) << size;
  }
}

TEST(HloPhaseTest, SaysWhatIsWrong) {
  auto phase = HloPhase::Create({.plugin = "/nowhere.so", .worker = "/nowhere"});
  ASSERT_TRUE(phase.ok()) << phase.status();
  EXPECT_FALSE((*phase)->Run(PjrtProgram{"", "hlo"}).ok());
}

// Ten kernels: products with an activation each, which the compiler fuses into them.
std::string Layers() {
  std::string text =
      "HloModule layers\nENTRY e {\n  w = f32[128,128] parameter(0)\n"
      "  l0 = f32[128,128] parameter(1)\n";
  constexpr int kLayers = 10;
  for (int i = 1; i <= kLayers; ++i) {
    absl::StrAppend(&text, "  d", i, " = f32[128,128] dot(l", i - 1,
                    ", w), lhs_contracting_dims={1}, rhs_contracting_dims={0}\n", "  ",
                    i == kLayers ? "ROOT " : "", "l", i, " = f32[128,128] ",
                    i % 2 == 0 ? "tanh" : "negate", "(d", i, ")\n");
  }
  return text + "}\n";
}

int64_t EdgeOf(const FusionGraph& graph, const std::string& producer, const std::string& consumer) {
  for (int32_t i = 0; i < graph.edge_count(); ++i) {
    const FusionEdge& edge = graph.edges()[static_cast<size_t>(i)];
    if (graph.nodes()[static_cast<size_t>(edge.producer)].instruction->name() == producer &&
        graph.nodes()[static_cast<size_t>(edge.consumer)].instruction->name() == consumer) {
      return i;
    }
  }
  ADD_FAILURE() << "no edge from " << producer << " to " << consumer;
  return 0;
}

// What is new is emitted alone, and the sum is what compiling the whole program gives.
TEST(HloPhaseTest, KernelsAloneTakeTheTimesOfTheWhole) {
  if (!HasPjrtSupport() || !FindLibtpu().ok()) GTEST_SKIP() << "libtpu is not installed";
  auto compiler = FusionCompiler::Create({.target = "v3"});
  ASSERT_TRUE(compiler.ok()) << compiler.status();
  auto module = ParseHloText(Layers());
  ASSERT_TRUE(module.ok()) << module.status();
  auto graph = FusionGraph::Create(*std::move(module));
  ASSERT_TRUE(graph.ok()) << graph.status();
  auto base = (*compiler)->Compile(*graph, {});
  ASSERT_TRUE(base.ok()) << base.status();
  ASSERT_TRUE(std::holds_alternative<FusionCompilation>(*base));
  const int64_t known = (*compiler)->programs_emitted();
  const FusionDecision cuts{{EdgeOf(*graph, "d2", "l2"), EdgeOf(*graph, "d3", "l3")}};
  auto alone = (*compiler)->Compile(*graph, cuts);
  auto whole = (*compiler)->CompileWhole(*graph, cuts);
  ASSERT_TRUE(alone.ok() && whole.ok());
  ASSERT_TRUE(std::holds_alternative<FusionCompilation>(*alone));
  ASSERT_TRUE(std::holds_alternative<FusionCompilation>(*whole));
  const auto& a = std::get<FusionCompilation>(*alone);
  const auto& b = std::get<FusionCompilation>(*whole);
  EXPECT_EQ(a.key, b.key);
  EXPECT_NE(a.key, std::get<FusionCompilation>(*base).key);
  EXPECT_EQ(a.kernels.size(), b.kernels.size());
  EXPECT_DOUBLE_EQ(a.total.schedule, b.total.schedule);
  EXPECT_DOUBLE_EQ(a.total.bundles, b.total.bundles);
  EXPECT_DOUBLE_EQ(a.total.compiler, b.total.compiler);
  if (std::get<FusionCompilation>(*base).kernels.size() >= 8) {
    EXPECT_EQ((*compiler)->programs_emitted(), known + 1);  // CompileWhole alone
    EXPECT_GT((*compiler)->kernels_emitted(), 0);
  }
}

}  // namespace
}  // namespace autotune
