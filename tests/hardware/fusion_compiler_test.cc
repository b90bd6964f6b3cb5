// Whole programs through the real TPU compiler; skipped where libtpu is not installed
// (./autotune --with aot).

#include "hardware/fusion_compiler.h"

#include <filesystem>
#include <memory>
#include <string>
#include <variant>

#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hardware/fusion_recording.h"
#include "hardware/pjrt_backend.h"
#include "hardware/pjrt_discovery.h"
#include "hlo/fusion_apply.h"
#include "hlo/fusion_inline.h"
#include "hlo/parser.h"
#include "hlo/read_module.h"

namespace autotune {
namespace {

constexpr char kProgram[] = R"(HloModule small
sum { a = f32[] parameter(0)  b = f32[] parameter(1)  ROOT s = f32[] add(a, b) }
ENTRY main {
  x = f32[512,1024] parameter(0)
  w = f32[1024,512] parameter(1)
  z = f32[] constant(0)
  e = f32[512,1024] exponential(x)
  y = f32[512,512] dot(e, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  t = f32[512,512] tanh(y)
  r = f32[512] reduce(t, z), dimensions={1}, to_apply=sum
  ROOT u = f32[512] negate(r)
}
)";

FusionGraph Graph(const std::string& text) {
  auto module = ParseHloText(text);
  EXPECT_TRUE(module.ok()) << module.status();
  auto graph = FusionGraph::Create(*std::move(module));
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

class FusionCompilerTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasPjrtSupport() || !FindLibtpu().ok()) GTEST_SKIP() << "libtpu is not installed";
    auto compiler = FusionCompiler::Create({.target = "v3"});
    ASSERT_TRUE(compiler.ok()) << compiler.status();
    compiler_ = *std::move(compiler);
  }

  FusionCompilation Compile(const FusionGraph& graph, const FusionDecision& decision) {
    auto result = compiler_->Compile(graph, decision);
    EXPECT_TRUE(result.ok()) << result.status();
    if (!result.ok()) return {};
    if (const Failure* failure = std::get_if<Failure>(&*result)) {
      ADD_FAILURE() << failure->message;
      return {};
    }
    return std::get<FusionCompilation>(*std::move(result));
  }

  std::unique_ptr<FusionCompiler> compiler_;
};

TEST_F(FusionCompilerTest, CutsAreObeyedAndReadBack) {
  const FusionGraph graph = Graph(kProgram);
  const FusionCompilation free = Compile(graph, {});
  const FusionOutline outline = OutlineOf(graph, free.grouping);
  ASSERT_EQ(outline.fused.size(), 4);  // e->y, y->t, t->r, r->u
  int fused = 0;
  for (bool edge : outline.fused) fused += edge ? 1 : 0;
  EXPECT_GE(fused, 3);
  for (int32_t edge = 0; edge < graph.edge_count(); ++edge) {
    const FusionCompilation cut = Compile(graph, FusionDecision{{edge}});
    EXPECT_FALSE(OutlineOf(graph, cut.grouping).fused[edge]) << edge;
    EXPECT_EQ(cut.key == free.key, !outline.fused[edge]) << edge;
    EXPECT_GT(cut.total.schedule, 0);
    EXPECT_GT(cut.total.bundles, 0);
    EXPECT_GT(cut.total.compiler, 0);
  }
  EXPECT_FALSE(compiler_->version().empty());
}

TEST_F(FusionCompilerTest, EveryKernelHasASchedule) {
  const FusionGraph graph = Graph(kProgram);
  FusionDecision all;
  for (int64_t i = 0; i < graph.edge_count(); ++i) all.cuts.push_back(i);
  const FusionCompilation cut = Compile(graph, all);
  EXPECT_GE(cut.kernels.size(), 4);
  FusionTimes sum;
  for (const FusionKernel& kernel : cut.kernels) {
    // Without a schedule both are the roofline.
    EXPECT_NE(kernel.once.bundles, kernel.once.schedule) << kernel.realised.name;
    sum += kernel.once;
  }
  EXPECT_DOUBLE_EQ(sum.schedule, cut.total.schedule);
}

TEST_F(FusionCompilerTest, NoEstimateBeatsTheMatrixUnits) {
  // One product fused into another: the constants, fitted on single products, would say 119 us.
  auto read = ReadModuleFile(AUTOTUNE_SOURCE_DIR "/examples/mlp_block/mlp_block.hlo");
  ASSERT_TRUE(read.ok()) << read.status();
  auto graph = FusionGraph::Create(std::move(read->module));
  ASSERT_TRUE(graph.ok());
  const FusionCompilation compiled = Compile(*graph, {});
  const double flops = 2.0 * 2 * 512 * 1024 * 4096;
  EXPECT_GE(compiled.total.schedule, flops / compiler_->device().bf16_flops_per_second);
}

TEST_F(FusionCompilerTest, ASweepGoesOnWhereItWas) {
  const FusionGraph graph = Graph(kProgram);
  const std::string path = testing::TempDir() + "/fusion_sweep.jsonl";
  std::filesystem::remove(path);
  const std::vector<FusionDecision> decisions = {{}, {{0}}, {{1}}};
  int asked = 0;
  auto once = [&asked](const FusionRecording&) { return ++asked < 2; };
  ASSERT_TRUE(RecordFusions(*compiler_, graph, "p", decisions, path, once).ok());
  auto part = FusionRecording::Load(path);
  ASSERT_TRUE(part.ok()) << part.status();
  EXPECT_EQ(part->entries().size(), 2);
  auto always = [](const FusionRecording&) { return true; };
  ASSERT_TRUE(RecordFusions(*compiler_, graph, "p", decisions, path, always).ok());
  auto whole = FusionRecording::Load(path);
  ASSERT_TRUE(whole.ok()) << whole.status();
  ASSERT_EQ(whole->entries().size(), 3);
  EXPECT_EQ(whole->entries()[0].key, whole->GroupingOf(whole->entries()[0]).Key());
  EXPECT_FALSE(RecordFusions(*compiler_,
                             Graph(std::string(kProgram).replace(std::string(kProgram).find("tanh"),
                                                                 4, "sine")),
                             "p", decisions, path, always)
                   .ok());
}

// With a default that ran out of time in it, a recording could never be used.
TEST_F(FusionCompilerTest, ADefaultThatFailsIsNotRecorded) {
  auto hurried = FusionCompiler::Create(
      {.target = "v3", .timeout = absl::Milliseconds(1), .program_timeout = absl::Milliseconds(1)});
  ASSERT_TRUE(hurried.ok()) << hurried.status();
  const FusionGraph graph = Graph(kProgram);
  const std::string path = testing::TempDir() + "/fusion_hurried.jsonl";
  std::filesystem::remove(path);
  const auto always = [](const FusionRecording&) { return true; };
  const absl::Status status = RecordFusions(**hurried, graph, "p", {{}}, path, always);
  EXPECT_TRUE(absl::IsFailedPrecondition(status)) << status;
  EXPECT_THAT(std::string(status.message()), testing::HasSubstr("(timeout)"));
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_TRUE(RecordFusions(*compiler_, graph, "p", {{}}, path, always).ok());
  EXPECT_EQ(FusionRecording::Load(path)->entries().size(), 1);
}

// Cut programs compute what the original computes, on a CPU, with the same inputs.
class FusionResultsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (!HasPjrtSupport() || !FindCpuPlugin().ok()) GTEST_SKIP() << "no CPU plugin";
    PjrtBackendOptions options;
    options.plugin = *FindCpuPlugin();
    options.timeout = absl::Minutes(10);
    auto backend = PjrtBackend::Create(options);
    ASSERT_TRUE(backend.ok()) << backend.status();
    backend_ = *std::move(backend);
  }
  std::unique_ptr<PjrtBackend> backend_;
};

TEST_F(FusionResultsTest, ACutProgramComputesTheSame) {
  const FusionGraph graph = Graph(kProgram);
  for (const FusionDecision& decision : {FusionDecision{{0}}, FusionDecision{{0, 1, 2, 3}}}) {
    auto cut = ApplyFusion(graph, decision);
    ASSERT_TRUE(cut.ok());
    const absl::Status same = backend_->CompareResults(**cut, graph.module());
    EXPECT_TRUE(same.ok()) << same;
  }
}

// A barrier that hands on another value of the same shape than the one it stands for: well-formed,
// and found by running both.
TEST_F(FusionResultsTest, ABrokenApplicationIsCaught) {
  const FusionGraph graph = Graph(kProgram);
  auto program = FusionProgram(graph, FusionDecision{{0}});
  ASSERT_TRUE(program.ok());
  int changed = 0;
  for (auto& computation : *program->mutable_computations()) {
    int64_t x = -1;
    for (auto& instruction : *computation.mutable_instructions()) {
      if (instruction.name() == "x") x = instruction.id();
      if (instruction.opcode() != "opt-barrier") continue;
      instruction.set_operand_ids(0, x);
      ++changed;
    }
  }
  ASSERT_EQ(changed, 1);
  auto broken = HloModule::FromProto(*program);
  ASSERT_TRUE(broken.ok()) << broken.status();
  EXPECT_FALSE(backend_->CompareResults(**broken, graph.module()).ok());
}

// The smaller recorded programs, inlined and cut at every third edge, against the originals.
TEST_F(FusionResultsTest, RecordedProgramsComputeTheSame) {
  const std::string directory = AUTOTUNE_SHARED_DIR "/data/programs/";
  if (!std::filesystem::exists(directory)) GTEST_SKIP() << "no recorded programs";
  for (const char* name : {"moe_top2", "int8_mixed_mlp"}) {
    SCOPED_TRACE(name);
    auto read = ReadModuleFile(directory + name + ".before.hlo");
    ASSERT_TRUE(read.ok()) << read.status();
    auto inlined = InlineCalls(*read->module);
    ASSERT_TRUE(inlined.ok());
    auto graph = FusionGraph::Create(*std::move(inlined));
    ASSERT_TRUE(graph.ok());
    FusionDecision decision;
    for (int64_t i = 0; i < graph->edge_count(); i += 3) decision.cuts.push_back(i);
    auto cut = ApplyFusion(*graph, decision);
    ASSERT_TRUE(cut.ok()) << cut.status();
    const absl::Status same = backend_->CompareResults(**cut, *read->module);
    EXPECT_TRUE(same.ok()) << same;
  }
}

}  // namespace
}  // namespace autotune
