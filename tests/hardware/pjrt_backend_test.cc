// The `pjrt` backend on CPU plugins; skipped where they are not installed (./autotune --with aot).

#include "hardware/pjrt_backend.h"

#include <memory>
#include <string>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/strip.h"
#include "gtest/gtest.h"
#include "hardware/pjrt_discovery.h"
#include "hardware/pjrt_plugin.h"
#include "hlo/dot_convolution.h"
#include "hlo/parser.h"

namespace autotune {
namespace {

constexpr char kProgram[] = R"(HloModule small
ENTRY main {
  x = f32[64,64] parameter(0)
  w = f32[64,64] parameter(1)
  y = f32[64,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  ROOT z = f32[64,64] tanh(y)
}
)";

// The same with operations kept apart.
constexpr char kCut[] = R"(HloModule cut
ENTRY main {
  x = f32[64,64] parameter(0)
  w = f32[64,64] parameter(1)
  y = f32[64,64] dot(x, w), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  b = f32[64,64] opt-barrier(y)
  ROOT z = f32[64,64] tanh(b)
}
)";

constexpr char kWrong[] = R"(HloModule wrong
ENTRY main {
  x = f32[64,64] parameter(0)
  w = f32[64,64] parameter(1)
  y = f32[64,64] dot(x, w), lhs_contracting_dims={0}, rhs_contracting_dims={0}
  ROOT z = f32[64,64] tanh(y)
}
)";

std::shared_ptr<const HloModule> Parse(const std::string& text) {
  absl::StatusOr<std::unique_ptr<HloModule>> module = ParseHloText(text);
  EXPECT_TRUE(module.ok()) << module.status();
  return module.ok() ? *std::move(module) : nullptr;
}

class PjrtBackendTest : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    const absl::StatusOr<std::string> plugin = FindInPythonPackages(GetParam());
    if (!HasPjrtSupport() || !plugin.ok()) GTEST_SKIP() << "no CPU plugin is installed";
    plugin_ = *plugin;
    backend_ = Backend(1);
  }

  std::unique_ptr<PjrtBackend> Backend(int jobs) const {
    absl::StatusOr<std::unique_ptr<PjrtBackend>> backend = PjrtBackend::Create(
        {.plugin = plugin_, .jobs = jobs, .repeats = 3, .significant_seconds = 0.005});
    EXPECT_TRUE(backend.ok()) << backend.status();
    return backend.ok() ? *std::move(backend) : nullptr;
  }

  std::string plugin_;
  std::unique_ptr<PjrtBackend> backend_;
};

TEST_P(PjrtBackendTest, SaysWhatItIs) {
  const Capabilities& capabilities = backend_->capabilities();
  EXPECT_EQ(capabilities.name, "pjrt");
  EXPECT_EQ(capabilities.device, "cpu");
  EXPECT_EQ(capabilities.time_source, TimeSource::kHardware);
  EXPECT_FALSE(capabilities.tiles);
  EXPECT_TRUE(absl::StrContains(capabilities.versions, "PJRT API 0.")) << capabilities.versions;
  EXPECT_GT(backend_->description().device_kinds_size(), 0);
}

TEST_P(PjrtBackendTest, AProgramIsTimedInALoopThatIsNotHollow) {
  // On a machine whose load comes and goes a slope may not be significant; then single calls are
  // timed.
  absl::StatusOr<Measurement> result = absl::UnknownError("not measured");
  for (int tries = 0; tries < 10; ++tries) {
    result = backend_->MeasureProgram(*Parse(kProgram), nullptr);
    ASSERT_TRUE(result.ok()) << result.status();
    ASSERT_TRUE(result->ok()) << result->failure().message;
    if (absl::StartsWith(result->method, "device loop")) break;
  }
  EXPECT_EQ(result->samples().size(), 3u);
  EXPECT_EQ(result->source(), TimeSource::kHardware);
  EXPECT_TRUE(absl::StartsWith(result->method, "device loop")) << result->method;
  // 2 * 64^3 operations take more than 1 us and, whatever else runs here, less than 100 ms.
  EXPECT_GT(result->MedianSeconds(), 1e-6);
  EXPECT_LT(result->MedianSeconds(), 0.1);
}

TEST_P(PjrtBackendTest, ResultsAreComparedWithTheUnmodifiedProgram) {
  const auto program = Parse(kProgram);
  const auto cut = Parse(kCut);
  const auto wrong = Parse(kWrong);
  EXPECT_TRUE(backend_->CompareResults(*cut, *program).ok());
  const absl::Status status = backend_->CompareResults(*wrong, *program);
  EXPECT_TRUE(absl::StrContains(status.message(), "numbers differ")) << status;
  const absl::StatusOr<Measurement> fine = backend_->MeasureProgram(*cut, program.get());
  ASSERT_TRUE(fine.ok()) << fine.status();
  EXPECT_TRUE(fine->ok()) << fine->failure().message;
  const absl::StatusOr<Measurement> failed = backend_->MeasureProgram(*wrong, program.get());
  ASSERT_TRUE(failed.ok()) << failed.status();
  ASSERT_FALSE(failed->ok());
  EXPECT_EQ(failed->failure().kind, FailureKind::kWrongResult);
}

// Regression: the outputs of a program that had just been measured itself were taken for none, so
// that every cut after the default was a wrong result.
TEST_P(PjrtBackendTest, TheDefaultIsAReferenceAfterItWasMeasured) {
  const auto program = Parse(kProgram);
  const auto first = backend_->MeasureProgram(*program, nullptr);
  ASSERT_TRUE(first.ok()) << first.status();
  EXPECT_TRUE(first->ok()) << first->failure().message;
  const auto cut = backend_->MeasureProgram(*Parse(kCut), program.get());
  ASSERT_TRUE(cut.ok()) << cut.status();
  EXPECT_TRUE(cut->ok()) << cut->failure().message;
  const auto wrong = backend_->MeasureProgram(*Parse(kWrong), program.get());
  ASSERT_TRUE(wrong.ok()) << wrong.status();
  ASSERT_FALSE(wrong->ok());
  EXPECT_EQ(wrong->failure().kind, FailureKind::kWrongResult);
}

TEST_P(PjrtBackendTest, CandidatesOfABatchAreCompiledTogether) {
  const std::unique_ptr<PjrtBackend> backend = Backend(2);
  const absl::StatusOr<Kernel> kernel = ProgramAsKernel(Parse(kProgram));
  const absl::StatusOr<Kernel> broken = ProgramAsKernel(Parse(R"(HloModule broken
ENTRY main {
  x = f32[4] parameter(0)
  ROOT y = f32[4] custom-call(x), custom_call_target="there_is_no_such_function"
}
)"));
  ASSERT_TRUE(kernel.ok() && broken.ok());
  TileBounds bounds;
  bounds.output = {1, 1};
  const Config as_it_is{FusionDecision()};
  const absl::StatusOr<std::vector<Measurement>> results =
      backend->Measure({{&*kernel, as_it_is}, {&*broken, as_it_is}, {&*kernel, Config(bounds)}});
  ASSERT_TRUE(results.ok()) << results.status();
  ASSERT_EQ(results->size(), 3u);
  EXPECT_TRUE(results->at(0).ok()) << results->at(0).failure().message;
  EXPECT_FALSE(results->at(1).ok());
  ASSERT_FALSE(results->at(2).ok());
  EXPECT_EQ(results->at(2).failure().kind, FailureKind::kNotFaithful);
  EXPECT_TRUE(absl::StrContains(results->at(2).failure().message, "cpu"));
  EXPECT_GT(backend->times().prepare, 0);
}

TEST_P(PjrtBackendTest, EveryCommonElementTypeRuns) {
  for (const char* type : {"pred", "s8", "s16", "s32", "s64", "u8", "u16", "u32", "u64", "f16",
                           "bf16", "f32", "f64", "c64", "c128"}) {
    const std::string same = absl::StrCat("HloModule same\nENTRY e {\n  a = ", type,
                                          "[8,16] parameter(0)\n  ROOT b = ", type,
                                          "[16,8] transpose(a), dimensions={1,0}\n}\n");
    const auto program = Parse(same);
    const absl::Status status = backend_->CompareResults(*program, *program);
    EXPECT_TRUE(status.ok()) << type << ": " << status;
  }
}

TEST_P(PjrtBackendTest, CompilesAndSerializes) {
  const absl::StatusOr<PjrtCompiled> compiled = backend_->CompileProgram(*Parse(kProgram), false);
  ASSERT_TRUE(compiled.ok()) << compiled.status();
  ASSERT_NE(compiled->optimized, nullptr);
  EXPECT_GT(compiled->compile_seconds, 0);
  const absl::StatusOr<PjrtCompiled> serialized = backend_->CompileProgram(*Parse(kProgram), true);
  if (serialized.ok()) {
    EXPECT_GT(serialized->executable.size(), 100u);
  } else {
    EXPECT_FALSE(serialized.status().message().empty());
  }
}

// hlo/dot_convolution.h writes dots as convolutions: they have to be the same.
TEST_P(PjrtBackendTest, ADotAsAConvolutionGivesTheSame) {
  for (const char* dot :
       {"f32[8,4] dot(f32[8,16] parameter(0), f32[16,4] parameter(1)), lhs_contracting_dims={1}, "
        "rhs_contracting_dims={0}",
        "f32[8,4] dot(f32[16,8] parameter(0), f32[4,16] parameter(1)), lhs_contracting_dims={0}, "
        "rhs_contracting_dims={1}",
        "f32[3,8,4] dot(f32[3,8,16] parameter(0), f32[16,4] parameter(1)), "
        "lhs_contracting_dims={2}, rhs_contracting_dims={0}",
        "f32[2,5,8,9] dot(f32[2,8,5,16] parameter(0), f32[2,9,5,16] parameter(1)), "
        "lhs_batch_dims={0,2}, lhs_contracting_dims={3}, rhs_batch_dims={0,2}, "
        "rhs_contracting_dims={3}",
        "f32[1,6,3,7,4] dot(f32[6,3,7,16,1] parameter(0), f32[1,16,6,4] parameter(1)), "
        "lhs_batch_dims={4,0}, lhs_contracting_dims={3}, rhs_batch_dims={0,2}, "
        "rhs_contracting_dims={1}"}) {
    const std::vector<std::string> parts = absl::StrSplit(dot, absl::ByAnyChar("()"));
    const std::string text =
        absl::StrCat("HloModule m\nENTRY e {\n  a = ", parts[1],
                     "(0)\n  b = ", absl::StripPrefix(parts[3], ", "), "(1)\n  ROOT d = ", parts[0],
                     "(a, b)", parts[6], "\n}\n");
    const auto program = Parse(text);
    ASSERT_NE(program, nullptr);
    proto::HloModuleProto changed = program->ToProto();
    ASSERT_TRUE(MakeDotConvolution("d", &changed).ok()) << dot;
    const absl::StatusOr<std::unique_ptr<HloModule>> convolution = HloModule::FromProto(changed);
    ASSERT_TRUE(convolution.ok()) << convolution.status();
    const absl::Status same = backend_->CompareResults(**convolution, *program);
    EXPECT_TRUE(same.ok()) << dot << ": " << same;
  }
}

INSTANTIATE_TEST_SUITE_P(Plugins, PjrtBackendTest,
                         testing::Values("xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so",
                                         "lammps_jax_pjrt_cpu/pjrt_c_api_cpu_plugin.so"),
                         [](const auto& plugin) {
                           return absl::StartsWith(plugin.param, "lammps") ? "Lammps" : "Xla";
                         });

TEST(DeviceName, KindsOfTpus) {
  EXPECT_EQ(DeviceNameOf("tpu", "TPU v5 lite"), "tpu-v5e");
  EXPECT_EQ(DeviceNameOf("tpu", "TPU v5p"), "tpu-v5p");
  EXPECT_EQ(DeviceNameOf("tpu", "TPU v4"), "tpu-v4");
  EXPECT_EQ(DeviceNameOf("tpu", "TPU v6 lite"), "tpu-v6e");
  EXPECT_EQ(DeviceNameOf("tpu", "TPU7x"), "tpu-v7x");
  EXPECT_EQ(DeviceNameOf("cpu", "cpu"), "cpu");
}

}  // namespace
}  // namespace autotune
