// Cut programs compute what the originals compute: every program of ../shared/data/programs that a
// CPU plugin takes, cut at every third edge, on the same inputs. Also with float32 in the place of
// bfloat16: where only the latter differs, it is rounding.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"
#include "absl/time/time.h"
#include "gtest/gtest.h"
#include "hardware/elided_constants.h"
#include "hardware/pjrt_backend.h"
#include "hardware/pjrt_discovery.h"
#include "hardware/pjrt_plugin.h"
#include "hlo/fusion_apply.h"
#include "hlo/fusion_inline.h"
#include "hlo/module.h"
#include "hlo/read_module.h"
#include "proto/hlo.pb.h"

namespace autotune {
namespace {

constexpr char kDirectory[] = AUTOTUNE_SHARED_DIR "/data/programs/";
constexpr absl::string_view kSuffix = ".before.hlo";

std::vector<std::string> Programs() {
  std::vector<std::string> names;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(kDirectory, error)) {
    const std::string name = entry.path().filename().string();
    if (absl::EndsWith(name, kSuffix)) names.emplace_back(absl::StripSuffix(name, kSuffix));
  }
  std::sort(names.begin(), names.end());
  return names;
}

class FusionResultsSoak : public testing::TestWithParam<std::string> {};
GTEST_ALLOW_UNINSTANTIATED_PARAMETERIZED_TEST(FusionResultsSoak);

// The program cut at every third edge against the program.
void ExpectSameResults(const HloModule& module) {
  PjrtBackendOptions options;
  options.plugin = *FindCpuPlugin();
  options.timeout = absl::Minutes(30);
  auto backend = PjrtBackend::Create(options);
  ASSERT_TRUE(backend.ok()) << backend.status();
  // Text leaves large constants out: both programs get the same ones.
  proto::HloModuleProto filled = module.ToProto();
  FillElidedConstants(&filled);
  auto original = HloModule::FromProto(filled);
  ASSERT_TRUE(original.ok()) << original.status();
  auto graph = InlinedFusionGraph(**original);
  ASSERT_TRUE(graph.ok()) << graph.status();
  FusionDecision decision;
  for (int64_t i = 0; i < graph->edge_count(); i += 3) decision.cuts.push_back(i);
  auto cut = ApplyFusion(*graph, decision);
  ASSERT_TRUE(cut.ok()) << cut.status();
  const absl::Status same = (*backend)->CompareResults(**cut, **original);
  EXPECT_TRUE(same.ok()) << same;
}

TEST_P(FusionResultsSoak, ACutProgramComputesTheSame) {
  if (!HasPjrtSupport() || !FindCpuPlugin().ok()) GTEST_SKIP() << "no CPU plugin";
  auto read = ReadModuleFile(kDirectory + GetParam() + std::string(kSuffix));
  ASSERT_TRUE(read.ok()) << read.status();
  ExpectSameResults(*read->module);
}

TEST_P(FusionResultsSoak, ACutProgramComputesTheSameInFloat32) {
  if (!HasPjrtSupport() || !FindCpuPlugin().ok()) GTEST_SKIP() << "no CPU plugin";
  const std::string name = kDirectory + GetParam() + std::string(kSuffix);
  std::ifstream file(name);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  if (!absl::StrContains(text, "bf16[")) GTEST_SKIP() << "no bfloat16";
  auto read = ReadModule(absl::StrReplaceAll(text, {{"bf16[", "f32["}}), name);
  ASSERT_TRUE(read.ok()) << read.status();
  ExpectSameResults(*read->module);
}

INSTANTIATE_TEST_SUITE_P(Programs, FusionResultsSoak, testing::ValuesIn(Programs()),
                         [](const auto& program) { return program.param; });

}  // namespace
}  // namespace autotune
