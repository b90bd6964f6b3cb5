// Cut programs compute what the originals compute: every program of ../shared/data/programs that a
// CPU plugin takes, cut at every third edge, on the same inputs. Where a program with bfloat16
// differs, it is compared with float32 in its place: what then agrees is rounding.

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <memory>
#include <string>
#include <system_error>
#include <vector>

#include "absl/status/status.h"
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
absl::Status CompareCut(const HloModule& module) {
  PjrtBackendOptions options;
  options.plugin = *FindCpuPlugin();
  options.timeout = absl::Minutes(30);
  auto backend = PjrtBackend::Create(options);
  if (!backend.ok()) return backend.status();
  // Text leaves large constants out: both programs get the same ones.
  proto::HloModuleProto filled = module.ToProto();
  FillElidedConstants(&filled);
  auto original = HloModule::FromProto(filled);
  if (!original.ok()) return original.status();
  auto graph = InlinedFusionGraph(**original);
  if (!graph.ok()) return graph.status();
  FusionDecision decision;
  for (int64_t i = 0; i < graph->edge_count(); i += 3) decision.cuts.push_back(i);
  auto cut = ApplyFusion(*graph, decision);
  if (!cut.ok()) return cut.status();
  return (*backend)->CompareResults(**cut, **original);
}

TEST_P(FusionResultsSoak, ACutProgramComputesTheSame) {
  if (!HasPjrtSupport() || !FindCpuPlugin().ok()) GTEST_SKIP() << "no CPU plugin";
  const std::string name = kDirectory + GetParam() + std::string(kSuffix);
  std::ifstream file(name);
  const std::string text((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  auto read = ReadModule(text, name);
  ASSERT_TRUE(read.ok()) << read.status();
  absl::Status same = CompareCut(*read->module);
  if (absl::IsFailedPrecondition(same) && absl::StrContains(text, "bf16[")) {
    std::cout << "in bfloat16: " << same.message() << std::endl;
    read = ReadModule(absl::StrReplaceAll(text, {{"bf16[", "f32["}}), name);
    ASSERT_TRUE(read.ok()) << read.status();
    same = CompareCut(*read->module);
  }
  EXPECT_TRUE(same.ok()) << same;
}

INSTANTIATE_TEST_SUITE_P(Programs, FusionResultsSoak, testing::ValuesIn(Programs()),
                         [](const auto& program) { return program.param; });

}  // namespace
}  // namespace autotune
