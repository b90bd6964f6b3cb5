#include "hlo/kernel.h"

#include <ctime>
#include <filesystem>
#include <fstream>
#include <memory>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo/module.h"
#include "hlo/parser.h"

namespace autotune {
namespace {

using ::testing::HasSubstr;

std::unique_ptr<HloModule> Parse(const std::string& text) {
  absl::StatusOr<std::unique_ptr<HloModule>> module = ParseHloText(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? *std::move(module) : nullptr;
}

std::vector<Kernel> Extract(const std::string& text) {
  const std::unique_ptr<HloModule> module = Parse(text);
  if (module == nullptr) return {};
  absl::StatusOr<std::vector<Kernel>> kernels = ExtractKernels(*module);
  EXPECT_TRUE(kernels.ok()) << kernels.status();
  return kernels.ok() ? *std::move(kernels) : std::vector<Kernel>();
}

std::string ReadText(const std::string& path) {
  std::ifstream file(path);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// Two equal fusions with different names, one with a choice of the compiler, and a different one.
constexpr char kProgram[] = R"(HloModule program, is_scheduled=true

%body (p0: f32[64,128], p1: f32[64,128]) -> f32[64,128] {
  %p0 = f32[64,128]{1,0:T(8,128)} parameter(0)
  %p1 = f32[64,128]{1,0:T(8,128)} parameter(1)
  ROOT %sum = f32[64,128]{1,0:T(8,128)} add(%p0, %p1), metadata={op_name="a"}
}

%body.clone (q0: f32[64,128], q1: f32[64,128]) -> f32[64,128] {
  %q1 = f32[64,128]{1,0:T(8,128)} parameter(1)
  %q0 = f32[64,128]{1,0:T(8,128)} parameter(0)
  ROOT %other = f32[64,128]{1,0:T(8,128)} add(%q0, %q1)
}

%body.2 (r0: f32[64,128]) -> f32[64,128] {
  %r0 = f32[64,128]{1,0:T(8,128)} parameter(0)
  ROOT %negate = f32[64,128]{1,0:T(8,128)} negate(%r0)
}

ENTRY %main (a: f32[64,128], b: f32[64,128]) -> f32[64,128] {
  %a = f32[64,128]{1,0:T(8,128)} parameter(0)
  %b = f32[64,128]{1,0:T(8,128)} parameter(1)
  %first = f32[64,128]{1,0:T(8,128)} fusion(%a, %b), kind=kLoop, calls=%body, backend_config={"flag_configs":[],"window_config":{"kernel_window_bounds":[],"output_window_bounds":["8","1"],"input_window_bounds":["4"],"estimated_cycles":"1234","iteration_bounds":["1","1"]}}
  %second = f32[64,128]{1,0:T(8,128)} fusion(%first, %first), kind=kLoop, calls=%body.clone
  ROOT %third = f32[64,128]{1,0:T(8,128)} fusion(%second), kind=kLoop, calls=%body.2, backend_config={"window_config":{"output_window_bounds":["2","1"],"estimated_cycles":"0"}}
}
)";

TEST(ExtractKernels, EqualKernelsAreOneWithACount) {
  const std::vector<Kernel> kernels = Extract(kProgram);
  ASSERT_EQ(kernels.size(), 2u);
  EXPECT_EQ(kernels[0].name, "first");
  EXPECT_EQ(kernels[0].count, 2);
  EXPECT_EQ(kernels[0].kind, "loop fusion");
  ASSERT_TRUE(kernels[0].compiler_choice.has_value());
  EXPECT_EQ(kernels[0].compiler_choice->bounds.Key(), "o=8,1");
  EXPECT_EQ(kernels[0].compiler_choice->bounds.input, (WindowBounds{4}));
  EXPECT_EQ(kernels[0].compiler_choice->bounds.iteration, (WindowBounds{1, 1}));
  EXPECT_EQ(kernels[0].compiler_choice->estimated_cycles, 1234);
  EXPECT_EQ(kernels[1].name, "third");
  EXPECT_EQ(kernels[1].count, 1);
  ASSERT_TRUE(kernels[1].compiler_choice.has_value());
  EXPECT_EQ(kernels[1].compiler_choice->estimated_cycles, std::nullopt) << "0 means not known";
}

TEST(ExtractKernels, AKernelIsAModuleOfItsOwn) {
  for (const Kernel& kernel : Extract(kProgram)) {
    const HloComputation& entry = kernel.module->entry_computation();
    EXPECT_EQ(kernel.module->name(), kernel.name);
    EXPECT_EQ(entry.root().opcode(), HloOpcode::kFusion);
    EXPECT_EQ(entry.root().name(), kernel.name);
    // As text and as protobuf it is read back as the same kernel.
    const std::shared_ptr<const HloModule> from_text = Parse(kernel.module->ToString());
    ASSERT_NE(from_text, nullptr);
    EXPECT_EQ(KernelFingerprint(*from_text), kernel.fingerprint);
    absl::StatusOr<std::unique_ptr<HloModule>> from_proto =
        HloModule::FromProto(kernel.module->ToProto());
    ASSERT_TRUE(from_proto.ok()) << from_proto.status();
    const absl::StatusOr<Kernel> again = KernelFromModule(*std::move(from_proto));
    ASSERT_TRUE(again.ok()) << again.status();
    EXPECT_EQ(again->fingerprint, kernel.fingerprint);
    EXPECT_EQ(again->kind, kernel.kind);
    EXPECT_EQ(again->name, kernel.name);
  }
}

TEST(ExtractKernels, NoneBeforeOptimization) {
  EXPECT_TRUE(Extract(R"(HloModule before
ENTRY main {
  a = f32[64,64]{1,0} parameter(0)
  ROOT d = f32[64,64]{1,0} dot(a, a), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}
)")
                  .empty());
}

// One loop with the given condition and step around a fusion.
std::string Loop(const std::string& init, const std::string& step, const std::string& limit,
                 const std::string& direction, const std::string& config = "") {
  return absl::StrReplaceAll(R"(HloModule loop, is_scheduled=true

%double (p0: f32[1024]) -> f32[1024] {
  %p0 = f32[1024]{0:T(1024)} parameter(0)
  ROOT %sum = f32[1024]{0:T(1024)} add(%p0, %p0)
}

%loop_body (s: (s32[], f32[1024])) -> (s32[], f32[1024]) {
  %s = (s32[], f32[1024]{0:T(1024)}) parameter(0)
  %i = s32[] get-tuple-element(%s), index=0
  %i.copy = s32[]{:S(6)} copy(%i)
  %step = s32[] constant(STEP)
  %next = s32[] add(%i.copy, %step)
  %x = f32[1024]{0:T(1024)} get-tuple-element(%s), index=1
  %y = f32[1024]{0:T(1024)} fusion(%x), kind=kLoop, calls=%double
  ROOT %t = (s32[], f32[1024]{0:T(1024)}) tuple(%next, %y)
}

%loop_condition (c: (s32[], f32[1024])) -> pred[] {
  %c = (s32[], f32[1024]{0:T(1024)}) parameter(0)
  %j = s32[] get-tuple-element(%c), index=0
  %limit = s32[] constant(LIMIT)
  ROOT %less = pred[] compare(%j, %limit), direction=DIRECTION
}

ENTRY %main (a: f32[1024]) -> f32[1024] {
  %a = f32[1024]{0:T(1024)} parameter(0)
  %start = s32[] constant(INIT)
  %init = (s32[], f32[1024]{0:T(1024)}) tuple(%start, %a)
  %w = (s32[], f32[1024]{0:T(1024)}) while(%init), condition=%loop_condition, body=%loop_bodyCONFIG
  %z = f32[1024]{0:T(1024)} get-tuple-element(%w), index=1
  ROOT %last = f32[1024]{0:T(1024)} fusion(%z), kind=kLoop, calls=%double
}
)",
                             {{"STEP", step},
                              {"LIMIT", limit},
                              {"INIT", init},
                              {"DIRECTION", direction},
                              {"CONFIG", config}});
}

int64_t LoopCount(const std::string& text) {
  const std::vector<Kernel> kernels = Extract(text);
  EXPECT_EQ(kernels.size(), 1u) << "scalar work is no kernel";
  return kernels.empty() ? 0 : kernels[0].count - 1;  // one more after the loop
}

TEST(ExtractKernels, LoopsCountWithTheirTrips) {
  EXPECT_EQ(LoopCount(Loop("0", "1", "24", "LT")), 24);
  EXPECT_EQ(LoopCount(Loop("0", "1", "24", "LE")), 25);
  EXPECT_EQ(LoopCount(Loop("0", "5", "24", "LT")), 5);
  EXPECT_EQ(LoopCount(Loop("10", "-1", "0", "GT")), 10);
  EXPECT_EQ(LoopCount(Loop("10", "-3", "0", "GE")), 4);
  EXPECT_EQ(LoopCount(Loop("0", "2", "6", "NE")), 3);
  EXPECT_EQ(LoopCount(Loop("7", "1", "7", "LT")), 0);
  EXPECT_EQ(LoopCount(Loop("0", "0", "24", "LT")), 1) << "not known: counted once";
  EXPECT_EQ(LoopCount(Loop("0", "2", "5", "NE")), 1) << "not known: counted once";
  EXPECT_EQ(
      LoopCount(Loop("0", "0", "1", "LT", R"(, backend_config={"known_trip_count":{"n":"17"}})")),
      17);
}

TEST(ExtractKernels, CallsBranchesAndAsyncComputationsAreSearched) {
  const std::vector<Kernel> kernels = Extract(R"(HloModule calls, is_scheduled=true

%f1 (p: f32[1024]) -> f32[1024] {
  %p = f32[1024]{0} parameter(0)
  ROOT %r = f32[1024]{0} negate(%p)
}
%f2 (p.1: f32[1024]) -> f32[1024] {
  %p.1 = f32[1024]{0} parameter(0)
  ROOT %r.1 = f32[1024]{0} exponential(%p.1)
}
%called (c: f32[1024]) -> f32[1024] {
  %c = f32[1024]{0} parameter(0)
  ROOT %in_call = f32[1024]{0} fusion(%c), kind=kLoop, calls=%f1
}
%branch0 (b0: f32[1024]) -> f32[1024] {
  %b0 = f32[1024]{0} parameter(0)
  ROOT %in_branch = f32[1024]{0} fusion(%b0), kind=kLoop, calls=%f2
}
%branch1 (b1: f32[1024]) -> f32[1024] {
  %b1 = f32[1024]{0} parameter(0)
  ROOT %reversed = f32[1024]{0} reverse(%b1), dimensions={0}
}
%wrapped (w: f32[1024]) -> f32[512] {
  %w = f32[1024]{0} parameter(0)
  ROOT %moved = f32[512]{0} slice(%w), slice={[0:512]}
}
ENTRY %main (a: f32[1024], which: s32[]) -> f32[512] {
  %a = f32[1024]{0} parameter(0)
  %which = s32[] parameter(1)
  %x = f32[1024]{0} call(%a), to_apply=%called
  %y = f32[1024]{0} call(%x), to_apply=%called
  %z = f32[1024]{0} conditional(%which, %y, %y), branch_computations={%branch0, %branch1}
  %start = ((f32[1024]{0}), f32[512]{0}, s32[]) async-start(%z), calls=%wrapped
  ROOT %done = f32[512]{0} async-done(%start)
}
)");
  ASSERT_EQ(kernels.size(), 3u);
  EXPECT_EQ(kernels[0].name, "in_call");
  EXPECT_EQ(kernels[0].count, 2);
  EXPECT_EQ(kernels[1].name, "in_branch");
  EXPECT_EQ(kernels[2].name, "reversed");
  EXPECT_EQ(kernels[2].kind, "reverse");
}

// Calls nested so that computations multiply: 2^40 visits if each path were walked.
TEST(ExtractKernels, SharedCallsAreNotWalkedPathByPath) {
  std::string text = R"(HloModule deep, is_scheduled=true
%f (p: f32[1024]) -> f32[1024] {
  %p = f32[1024]{0} parameter(0)
  ROOT %r = f32[1024]{0} negate(%p)
}
%c0 (p0: f32[1024]) -> f32[1024] {
  %p0 = f32[1024]{0} parameter(0)
  ROOT %k = f32[1024]{0} fusion(%p0), kind=kLoop, calls=%f
}
)";
  for (int i = 1; i <= 40; ++i) {
    absl::StrAppend(&text, "%c", i, " (q", i, ": f32[1024]) -> f32[1024] {\n  %q", i,
                    " = f32[1024]{0} parameter(0)\n  %x", i, " = f32[1024]{0} call(%q", i,
                    "), to_apply=%c", i - 1, "\n  ROOT %y", i, " = f32[1024]{0} call(%x", i,
                    "), to_apply=%c", i - 1, "\n}\n");
  }
  absl::StrAppend(&text,
                  "ENTRY %main (a: f32[1024]) -> f32[1024] {\n  %a = f32[1024]{0} parameter(0)\n  "
                  "ROOT %z = f32[1024]{0} call(%a), to_apply=%c40\n}\n");
  const std::vector<Kernel> kernels = Extract(text);
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].count, int64_t{1} << 40);
}

std::string FusionModule(const std::string& shape, const std::string& operation,
                         const std::string& rest = "") {
  return absl::StrCat(
      "HloModule m, is_scheduled=true\n\n%f (p: f32[64,128]) -> f32[64,128] {\n  %p = ", shape,
      " parameter(0)\n  ROOT %r = ", shape, " ", operation,
      "\n}\n\nENTRY %e (a: f32[64,128]) -> f32[64,128] {\n  %a = ", shape,
      " parameter(0)\n  ROOT %k = ", shape, " fusion(%a), kind=kLoop, calls=%f", rest, "\n}\n");
}

uint64_t FingerprintOf(const std::string& text) {
  const std::unique_ptr<HloModule> module = Parse(text);
  return module == nullptr ? 0 : KernelFingerprint(*module);
}

TEST(KernelFingerprint, ChangesWithWhatMattersAlone) {
  const std::string base = FusionModule("f32[64,128]{1,0:T(8,128)}", "negate(%p)");
  const uint64_t fingerprint = FingerprintOf(base);
  EXPECT_EQ(fingerprint, FingerprintOf(absl::StrReplaceAll(
                             base, {{"%p", "%x.1"}, {"%r", "%y"}, {"%f", "%z"}, {"%k", "%k.7"}})));
  EXPECT_EQ(
      fingerprint,
      FingerprintOf(FusionModule(
          "f32[64,128]{1,0:T(8,128)}", "negate(%p), metadata={op_name=\"x\"}",
          R"(, metadata={op_name="y"}, backend_config={"window_config":{"output_window_bounds":["4","1"]}})")));
  std::set<uint64_t> all = {fingerprint};
  const std::string others[] = {
      FusionModule("f32[64,128]{1,0:T(8,128)}", "abs(%p)"),
      FusionModule("f32[64,128]{0,1:T(8,128)}", "negate(%p)"),
      FusionModule("f32[64,128]{1,0}", "negate(%p)"),
      FusionModule("f32[64,128]{1,0:T(8,128)S(1)}", "negate(%p)"),
      FusionModule("bf16[64,128]{1,0:T(8,128)(2,1)}", "negate(%p)"),
      FusionModule("bf16[64,128]{1,0:T(8,128)}", "negate(%p)"),
      FusionModule("f32[64,128]{1,0:T(8,128)}", "add(%p, %p)"),
      FusionModule("f32[64,64]{1,0:T(8,128)}", "negate(%p)"),
  };
  for (const std::string& text : others) {
    EXPECT_TRUE(all.insert(FingerprintOf(absl::StrReplaceAll(text, {{"(p: f32[64,128])", ""},
                                                                    {"(a: f32[64,128])", ""},
                                                                    {"-> f32[64,128] ", ""}})))
                    .second)
        << text;
  }
}

// Files hold fingerprints: a change of this number orphans every record.
TEST(KernelFingerprint, IsTheSameInEveryRelease) {
  EXPECT_EQ(FingerprintOf(FusionModule("f32[64,128]{1,0:T(8,128)}", "negate(%p)")),
            8081953174060649389u);
}

TEST(KernelFingerprint, OrderOfIndependentInstructionsDoesNotMatter) {
  const std::string a = R"(HloModule m, is_scheduled=true
%f (p: f32[8], q: f32[8]) -> f32[8] {
  %p = f32[8]{0} parameter(0)
  %q = f32[8]{0} parameter(1)
  %x = f32[8]{0} negate(%p)
  %y = f32[8]{0} abs(%q)
  ROOT %r = f32[8]{0} add(%x, %y)
}
ENTRY %e (a: f32[8], b: f32[8]) -> f32[8] {
  %a = f32[8]{0} parameter(0)
  %b = f32[8]{0} parameter(1)
  ROOT %k = f32[8]{0} fusion(%a, %b), kind=kLoop, calls=%f
}
)";
  const std::string swapped =
      absl::StrReplaceAll(a, {{"  %x = f32[8]{0} negate(%p)\n  %y = f32[8]{0} abs(%q)\n",
                               "  %y = f32[8]{0} abs(%q)\n  %x = f32[8]{0} negate(%p)\n"}});
  const std::string crossed = absl::StrReplaceAll(a, {{"add(%x, %y)", "add(%y, %x)"}});
  EXPECT_EQ(FingerprintOf(a), FingerprintOf(swapped));
  EXPECT_NE(FingerprintOf(a), FingerprintOf(crossed));
}

TEST(KernelFromModule, RefusesWhatIsNoSingleKernel) {
  const std::shared_ptr<const HloModule> program = Parse(kProgram);
  const absl::StatusOr<Kernel> kernel = KernelFromModule(program);
  ASSERT_FALSE(kernel.ok());
  EXPECT_EQ(kernel.status().code(), absl::StatusCode::kInvalidArgument);
  EXPECT_THAT(std::string(kernel.status().message()), HasSubstr("program is not a single kernel"));
  EXPECT_FALSE(
      KernelFromModule(Parse("HloModule m\nENTRY e {\n  ROOT p = f32[8]{0} parameter(0)\n}\n"))
          .ok());
}

TEST(ExtractKernels, ScalarConstantsComeAlongUnlessAFusionTakesThem) {
  const std::vector<Kernel> kernels = Extract(R"(HloModule m, is_scheduled=true
%add (x: f32[], y: f32[]) -> f32[] {
  %x = f32[] parameter(0)
  %y = f32[] parameter(1)
  ROOT %s = f32[] add(%x, %y)
}
ENTRY %e (a: f32[64,128]) -> f32[64] {
  %a = f32[64,128]{1,0} parameter(0)
  %zero = f32[] constant(0)
  ROOT %r = f32[64]{0} reduce(%a, %zero), dimensions={1}, to_apply=%add, backend_config={"window_config":{"output_window_bounds":["8","1"]}}
}
)");
  ASSERT_EQ(kernels.size(), 1u);
  EXPECT_EQ(kernels[0].kind, "reduce");
  const HloComputation& entry = kernels[0].module->entry_computation();
  EXPECT_EQ(entry.parameters().size(), 1u);
  EXPECT_EQ(entry.root().operand(1).opcode(), HloOpcode::kConstant);
}

TEST(ExtractKernels, EveryProgramOfTheSharedData) {
  const std::string folder = absl::StrCat(AUTOTUNE_SHARED_DIR, "/data/programs");
  if (!std::filesystem::exists(folder)) GTEST_SKIP() << "needs " << folder;
  std::set<std::filesystem::path> paths;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    if (file.path().extension() == ".hlo") paths.insert(file.path());
  }
  ASSERT_GT(paths.size(), 50u);
  for (const auto& path : paths) {
    SCOPED_TRACE(path);
    const std::string text = ReadText(path);
    const std::unique_ptr<HloModule> module = Parse(text);
    ASSERT_NE(module, nullptr);
    // CPU time: other work on the machine does not count.
    const std::clock_t start = std::clock();
    const absl::StatusOr<std::vector<Kernel>> kernels = ExtractKernels(*module);
    const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
    ASSERT_TRUE(kernels.ok()) << kernels.status();
    // Generous: 0.5 s is the bar on an idle machine for the largest of them (1.8 MB). Sanitizers
    // make it several times as much.
#if defined(NDEBUG) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    EXPECT_LT(seconds, 2.0);
#else
    EXPECT_LT(seconds, 20.0);
#endif
    if (path.stem().extension() == ".before") {
      EXPECT_TRUE(kernels->empty());
      continue;
    }
    int64_t with_choice = 0;
    std::set<uint64_t> fingerprints;
    for (const Kernel& kernel : *kernels) {
      EXPECT_TRUE(fingerprints.insert(kernel.fingerprint).second);
      EXPECT_GE(kernel.count, 1);
      with_choice += kernel.compiler_choice.has_value();
      EXPECT_EQ(KernelFingerprint(*kernel.module), kernel.fingerprint) << kernel.name;
    }
    EXPECT_GT(with_choice, 0);
  }
}

}  // namespace
}  // namespace autotune
