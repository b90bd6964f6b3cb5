#include "hlo/fusion_graph.h"

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo/cost_analysis.h"
#include "hlo/fusion_apply.h"
#include "hlo/fusion_inline.h"
#include "hlo/fusion_realised.h"
#include "hlo/parser.h"
#include "hlo/printer.h"
#include "hlo/read_module.h"
#include "hlo/verifier.h"

namespace autotune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

constexpr char kProgram[] = R"(HloModule m
less { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT l = pred[] compare(a, b), direction=LT }
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
ENTRY e {
  x = f32[8,16]{0,1} parameter(0)
  w = f32[16,4] parameter(1)
  c = f32[] constant(2)
  spread = f32[8,16] broadcast(c), dimensions={}
  twice = f32[8,16]{0,1} multiply(x, spread), metadata={op_name="twice" source_line=7}, sharding={replicated}
  squared = f32[8,16] multiply(twice, twice)
  product = f32[8,4] dot(twice, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  total = f32[8] reduce(squared, c), dimensions={1}, to_apply=sum
  back = f32[8,4] broadcast(total), dimensions={0}
  out = f32[8,4] add(product, back)
  sorted = f32[8,4] sort(out), dimensions={1}, to_apply=less
  ROOT t = (f32[8,4], f32[8,4]) tuple(sorted, product)
}
)";

std::shared_ptr<const HloModule> Parse(const std::string& text) {
  absl::StatusOr<std::unique_ptr<HloModule>> module = ParseHloText(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? *std::move(module) : nullptr;
}

FusionGraph Graph(const std::string& text) {
  absl::StatusOr<FusionGraph> graph = FusionGraph::Create(Parse(text));
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

std::vector<std::string> EdgeNames(const FusionGraph& graph) {
  std::vector<std::string> names;
  for (const FusionEdge& edge : graph.edges()) {
    names.push_back(absl::StrCat(graph.nodes()[edge.producer].instruction->name(), "->",
                                 graph.nodes()[edge.consumer].instruction->name()));
  }
  return names;
}

// The edges that go through a barrier in `program`, a result of ApplyFusion.
FusionDecision CutsOf(const FusionGraph& graph, const HloModule& program) {
  absl::flat_hash_map<absl::string_view, const HloInstruction*> by_name;
  for (const HloComputation* computation : program.computations()) {
    for (const HloInstruction* instruction : computation->instructions()) {
      by_name.emplace(instruction->name(), instruction);
    }
  }
  FusionDecision decision;
  for (int32_t i = 0; i < graph.edge_count(); ++i) {
    const FusionEdge& edge = graph.edges()[i];
    const absl::string_view producer = graph.nodes()[edge.producer].instruction->name();
    const HloInstruction& consumer = *by_name.at(graph.nodes()[edge.consumer].instruction->name());
    bool known = false;
    for (const HloInstruction* operand : consumer.operands()) {
      const bool barrier =
          operand->opcode() == HloOpcode::kOptBarrier && operand->operand(0).name() == producer;
      known = barrier || operand->name() == producer;
      if (barrier) decision.cuts.push_back(i);
      if (known) break;
    }
    EXPECT_TRUE(known) << "edge " << i << " is gone";
  }
  return decision;
}

TEST(FusionGraphTest, EdgesAreWhatCanBeFused) {
  // Not: parameters, the constant and what is spread from it, the sort, the tuple.
  EXPECT_THAT(EdgeNames(Graph(kProgram)),
              ElementsAre("twice->product", "twice->squared", "squared->total", "total->back",
                          "product->out", "back->out"));
}

TEST(FusionGraphTest, TextAndProtobufHaveTheSameNumbers) {
  const FusionGraph text = Graph(kProgram);
  auto module = HloModule::FromProto(text.module().ToProto());
  ASSERT_TRUE(module.ok());
  auto binary = FusionGraph::Create(*std::move(module));
  ASSERT_TRUE(binary.ok());
  EXPECT_EQ(EdgeNames(*binary), EdgeNames(text));
}

TEST(FusionGraphTest, KnowsWhatEscapesAndWhatIsHeavy) {
  const FusionGraph graph = Graph(kProgram);
  std::vector<std::string> escaping, heavy;
  for (const FusionNode& node : graph.nodes()) {
    if (node.free) continue;
    if (node.escapes) escaping.emplace_back(node.instruction->name());
    if (node.heavy) heavy.emplace_back(node.instruction->name());
  }
  // `product` is read by the tuple too.
  EXPECT_THAT(escaping, ElementsAre("product", "out", "sorted"));
  EXPECT_THAT(heavy, ElementsAre("product", "total"));
}

TEST(FusionGraphTest, LoopBodiesCountTheirTrips) {
  const FusionGraph graph = Graph(R"(HloModule m
body { p = (s32[], f32[8]) parameter(0)  i = s32[] get-tuple-element(p), index=0
  one = s32[] constant(1)  next = s32[] add(i, one)  v = f32[8] get-tuple-element(p), index=1
  n = f32[8] negate(v)  e = f32[8] exponential(n)  ROOT t = (s32[], f32[8]) tuple(next, e) }
cond { p = (s32[], f32[8]) parameter(0)  i = s32[] get-tuple-element(p), index=0
  ten = s32[] constant(10)  ROOT l = pred[] compare(i, ten), direction=LT }
ENTRY e { x = f32[8] parameter(0)  zero = s32[] constant(0)  t = (s32[], f32[8]) tuple(zero, x)
  ROOT w = (s32[], f32[8]) while(t), condition=cond, body=body }
)");
  ASSERT_THAT(EdgeNames(graph), ElementsAre("n->e"));
  EXPECT_EQ(graph.nodes()[graph.edges()[0].producer].executions, 10);
}

TEST(FusionGraphTest, OptimisedProgramsAreRefused) {
  EXPECT_FALSE(FusionGraph::Create(Parse(R"(HloModule m
f { p = f32[8] parameter(0)  ROOT n = f32[8] negate(p) }
ENTRY e { x = f32[8] parameter(0)  ROOT y = f32[8] fusion(x), kind=kLoop, calls=f }
)"))
                   .ok());
}

TEST(FusionApplyTest, OneBarrierForAValueAndItsAttributesKept) {
  const FusionGraph graph = Graph(kProgram);
  auto applied = ApplyFusion(graph, FusionDecision{{0, 1, 5}});
  ASSERT_TRUE(applied.ok()) << applied.status();
  const std::string text = PrintHlo(**applied);
  EXPECT_THAT(text, HasSubstr("%opt-barrier = f32[8,16]{0,1} opt-barrier(%twice), "
                              "sharding={replicated}, metadata={op_name=\"twice\" source_line=7}"));
  EXPECT_THAT(text, HasSubstr("%squared = f32[8,16]{1,0} multiply(%opt-barrier, %opt-barrier)"));
  EXPECT_THAT(text, HasSubstr("dot(%opt-barrier, %w)"));
  EXPECT_THAT(text, HasSubstr("add(%product, %opt-barrier.1)"));
  EXPECT_EQ((*applied)->instruction_count(), graph.module().instruction_count() + 2);
}

TEST(FusionApplyTest, OtherConsumersReadTheValueItself) {
  const FusionGraph graph = Graph(kProgram);
  auto applied = ApplyFusion(graph, FusionDecision{{0}});
  ASSERT_TRUE(applied.ok()) << applied.status();
  const std::string text = PrintHlo(**applied);
  EXPECT_THAT(text, HasSubstr("multiply(%twice, %twice)"));
  EXPECT_THAT(text, HasSubstr("dot(%opt-barrier, %w)"));
}

TEST(FusionApplyTest, NoCutsIsTheProgramItself) {
  const FusionGraph graph = Graph(kProgram);
  auto applied = ApplyFusion(graph, FusionDecision{});
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_EQ(PrintHlo(**applied), PrintHlo(**HloModule::FromProto(graph.module().ToProto())));
}

TEST(FusionApplyTest, UnknownEdgesAreRefused) {
  const FusionGraph graph = Graph(kProgram);
  EXPECT_FALSE(ApplyFusion(graph, FusionDecision{{6}}).ok());
  EXPECT_FALSE(ApplyFusion(graph, FusionDecision{{-1}}).ok());
}

TEST(FusionApplyTest, BarriersStandWhereTheCutsAre) {
  const FusionGraph graph = Graph(kProgram);
  for (int64_t mask = 0; mask < 64; ++mask) {
    FusionDecision decision;
    for (int64_t edge = 0; edge < 6; ++edge) {
      if ((mask >> edge & 1) != 0) decision.cuts.push_back(edge);
    }
    auto applied = ApplyFusion(graph, decision);
    ASSERT_TRUE(applied.ok()) << applied.status();
    EXPECT_EQ(CutsOf(graph, **applied), decision);
  }
}

TEST(FusionInlineTest, BodiesTakeTheCallsPlace) {
  auto inlined = InlineCalls(*Parse(R"(HloModule m
inner { p = f32[8] parameter(0)  q = f32[8] parameter(1)  ROOT d = f32[8] subtract(p, q) }
outer { a = f32[8] parameter(0)  b = f32[8] negate(a)  ROOT c = f32[8] call(a, b), to_apply=inner }
same { ROOT a = f32[8] parameter(0) }
ENTRY e { x = f32[8] parameter(0)  y = f32[8] call(x), to_apply=outer
  z = f32[8] call(y), to_apply=outer, metadata={op_name="here"}
  ROOT r = f32[8] call(z), to_apply=same }
)"));
  ASSERT_TRUE(inlined.ok()) << inlined.status();
  EXPECT_EQ(VerifyModule(**inlined).size(), 0);
  EXPECT_EQ((*inlined)->computations().size(), 1);
  const std::string text = PrintHlo(**inlined, PrintOptions::Canonical());
  EXPECT_THAT(text, Not(HasSubstr("call(")));
  EXPECT_EQ(text, PrintHlo(*Parse(R"(HloModule m
ENTRY e { x = f32[8] parameter(0)  n = f32[8] negate(x)  d = f32[8] subtract(x, n)
  n2 = f32[8] negate(d)  ROOT d2 = f32[8] subtract(d, n2) }
)"),
                           PrintOptions::Canonical()));
  EXPECT_THAT(PrintHlo(**inlined), HasSubstr("op_name=\"here\""));
}

TEST(FusionInlineTest, CompositesStay) {
  auto inlined = InlineCalls(*Parse(R"(HloModule m
inner { p = f32[8] parameter(0)  ROOT d = f32[8] negate(p) }
ENTRY e { x = f32[8] parameter(0)  ROOT y = f32[8] call(x), to_apply=inner, is_composite=true }
)"));
  ASSERT_TRUE(inlined.ok()) << inlined.status();
  EXPECT_THAT(PrintHlo(**inlined), HasSubstr("call("));
}

// What a compiler might make of kProgram, stamped: `total` with `squared` and `twice` in one
// kernel; `out` with `product`, `back` and `twice` in another.
constexpr char kOptimised[] = R"(HloModule m, is_scheduled=true
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
one { x = f32[8,16] parameter(0)
  t = f32[8,16] negate(x), metadata={op_name="fusion-node=TWICE;"}
  q = f32[8,16] multiply(t, t), metadata={op_name="fusion-node=SQUARED;"}
  z = f32[] constant(0)
  ROOT r = f32[8] reduce(q, z), dimensions={1}, to_apply=sum, metadata={op_name="fusion-node=TOTAL;"} }
two { x = f32[8,16] parameter(0)  w = f32[16,4] parameter(1)  r = f32[8] parameter(2)
  t = f32[8,16] negate(x), metadata={op_name="fusion-node=TWICE;"}
  p = f32[8,4] dot(t, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}, metadata={op_name="fusion-node=PRODUCT;"}
  b = f32[8,4] broadcast(r), dimensions={0}
  ROOT o = f32[8,4] add(p, b), metadata={op_name="fusion-node=OUT;"} }
ENTRY e { x = f32[8,16] parameter(0)  w = f32[16,4] parameter(1)
  f1 = f32[8] fusion(x), kind=kLoop, calls=one
  ROOT f2 = f32[8,4] fusion(x, w, f1), kind=kOutput, calls=two }
)";

std::string Stamped(const FusionGraph& graph, std::string text) {
  for (const FusionNode& node : graph.nodes()) {
    std::string upper(node.instruction->name());
    for (char& c : upper) c = static_cast<char>(std::toupper(c));
    for (size_t at; (at = text.find(upper + ";")) != std::string::npos;) {
      text.replace(at, upper.size(), absl::StrCat(graph.NodeOf(node.instruction)));
    }
  }
  return text;
}

TEST(FusionRealisedTest, ReadsWhichOperationsShareAKernel) {
  const FusionGraph graph = Graph(kProgram);
  const RealisedGrouping grouping = ReadRealisedGrouping(*Parse(Stamped(graph, kOptimised)));
  ASSERT_EQ(grouping.kernels.size(), 2);
  EXPECT_EQ(grouping.kernels[0].name, "f1");
  EXPECT_EQ(grouping.kernels[0].nodes.size(), 3);
  EXPECT_EQ(grouping.kernels[1].nodes.size(), 3);
  const FusionOutline outline = OutlineOf(graph, grouping);
  // twice->product, twice->squared, squared->total fused; total->back ends at what is in no kernel
  // and whose reader is in the other one; product->out and back->out: the latter's producer is
  // reached from total's kernel only.
  EXPECT_THAT(outline.fused, ElementsAre(true, true, true, false, true, false));
  EXPECT_TRUE(outline.absent[graph.NodeOf(graph.module().FindInstruction("back"))]);
  EXPECT_FALSE(outline.absent[graph.NodeOf(graph.module().FindInstruction("out"))]);
}

TEST(FusionRealisedTest, TheKeyIsTheGrouping) {
  const FusionGraph graph = Graph(kProgram);
  const std::string text = Stamped(graph, kOptimised);
  const std::string key = ReadRealisedGrouping(*Parse(text)).Key();
  // Names of kernels do not matter, what is in them does.
  std::string renamed = text;
  for (size_t at; (at = renamed.find("f1")) != std::string::npos;) renamed.replace(at, 2, "kk");
  EXPECT_EQ(ReadRealisedGrouping(*Parse(renamed)).Key(), key);
  std::string other = text;
  const std::string squared =
      absl::StrCat("=", graph.NodeOf(graph.module().FindInstruction("squared")), ";");
  other.replace(other.find(squared), squared.size(), "=0;");
  EXPECT_NE(ReadRealisedGrouping(*Parse(other)).Key(), key);
}

TEST(FusionRealisedTest, StampsEveryOperationAndNothingElse) {
  const FusionGraph graph = Graph(kProgram);
  auto program = FusionProgram(graph, FusionDecision{{0}});
  ASSERT_TRUE(program.ok());
  StampNodes(graph, &*program);
  const std::string text = program->DebugString();
  EXPECT_THAT(text, HasSubstr(absl::StrCat(
                        "fusion-node=", graph.NodeOf(graph.module().FindInstruction("out")), ";")));
  EXPECT_THAT(text, Not(HasSubstr("op_name: \"twice\"")));
}

// Every program before optimisation at hand: inlined, cut everywhere, nowhere and in between, the
// result verified, and its arithmetic the same.
TEST(FusionProgramsTest, AllProgramsCanBeCutAnywhere) {
  const std::string directory = AUTOTUNE_SHARED_DIR "/data/programs";
  if (!std::filesystem::exists(directory)) GTEST_SKIP() << "no recorded programs";
  int programs = 0;
  for (const auto& file : std::filesystem::directory_iterator(directory)) {
    if (!absl::EndsWith(file.path().string(), ".before.hlo")) continue;
    SCOPED_TRACE(file.path().filename());
    auto read = ReadModuleFile(file.path().string());
    ASSERT_TRUE(read.ok()) << read.status();
    auto inlined = InlineCalls(*read->module);
    ASSERT_TRUE(inlined.ok()) << inlined.status();
    ASSERT_TRUE(VerifyStatus(**inlined).ok()) << VerifyStatus(**inlined);
    const Cost cost = CostAnalysis(*read->module).total();
    EXPECT_NEAR(CostAnalysis(**inlined).total().flops, cost.flops, cost.flops * 1e-9);
    auto graph = FusionGraph::Create(*std::move(inlined));
    ASSERT_TRUE(graph.ok()) << graph.status();
    EXPECT_GT(graph->edge_count(), graph->node_count() / 10);
    EXPECT_EQ(EdgeNames(*FusionGraph::Create(*HloModule::FromProto(graph->module().ToProto()))),
              EdgeNames(*graph));
    for (int stride : {1, 3}) {
      FusionDecision decision;
      for (int64_t i = 0; i < graph->edge_count(); i += stride) decision.cuts.push_back(i);
      auto applied = ApplyFusion(*graph, decision);
      ASSERT_TRUE(applied.ok()) << applied.status();
      EXPECT_EQ(CostAnalysis(**applied).total().flops, CostAnalysis(graph->module()).total().flops);
      EXPECT_EQ(CutsOf(*graph, **applied), decision);
    }
    ++programs;
  }
  EXPECT_GE(programs, 18);
}

TEST(FusionProgramsTest, FiveThousandOperations) {
  std::string text = "HloModule m\nENTRY e {\n  v0 = f32[256,128] parameter(0)\n";
  for (int i = 1; i < 5000; ++i) {
    absl::StrAppend(&text, i == 4999 ? "  ROOT v" : "  v", i, " = f32[256,128] add(v", i - 1, ", v",
                    i / 2, ")\n");
  }
  const FusionGraph graph = Graph(text + "}\n");
  EXPECT_GT(graph.edge_count(), 9000);
  FusionDecision all;
  for (int64_t i = 0; i < graph.edge_count(); ++i) all.cuts.push_back(i);
  auto applied = ApplyFusion(graph, all);
  ASSERT_TRUE(applied.ok()) << applied.status();
  EXPECT_EQ((*applied)->instruction_count(), 5000 + 4998);
}

}  // namespace
}  // namespace autotune
