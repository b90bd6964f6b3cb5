#ifndef AUTOTUNE_TESTS_FAULT_FAULT_FIXTURE_H_
#define AUTOTUNE_TESTS_FAULT_FAULT_FIXTURE_H_

#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "hardware/config.h"
#include "hardware/measurement.h"
#include "hardware/measurement_backend.h"
#include "hlo/kernel.h"
#include "hlo/parser.h"

namespace autotune {

inline constexpr char kFaultKernel[] = R"(HloModule NAME, is_scheduled=true

%fused (p: f32[32,1024]) -> f32[32,1024] {
  %p = f32[32,1024]{1,0:T(8,128)} parameter(0)
  ROOT %add = f32[32,1024]{1,0:T(8,128)} add(%p, %p)
}

ENTRY %main (p0: f32[32,1024]) -> f32[32,1024] {
  %p0 = f32[32,1024]{1,0:T(8,128)} parameter(0)
  ROOT %NAME = f32[32,1024]{1,0:T(8,128)} fusion(%p0), kind=kLoop, calls=%fused
}
)";

// A loop fusion of that name: the fake plugin does what the name asks for.
inline Kernel NamedKernel(const std::string& name) {
  std::string text = kFaultKernel;
  for (size_t at = text.find("NAME"); at != std::string::npos; at = text.find("NAME")) {
    text.replace(at, 4, name);
  }
  absl::StatusOr<std::unique_ptr<HloModule>> module = ParseHloText(text);
  EXPECT_TRUE(module.ok()) << module.status();
  absl::StatusOr<Kernel> kernel = KernelFromModule(*std::move(module));
  EXPECT_TRUE(kernel.ok()) << kernel.status();
  return *kernel;
}

inline Config FullTile() {
  TileBounds bounds;
  bounds.output = {4, 8};
  return Config(bounds);
}

// The only result for a kernel of that name.
inline Measurement MeasureNamed(MeasurementBackend& backend, const std::string& name) {
  const Kernel kernel = NamedKernel(name);
  absl::StatusOr<std::vector<Measurement>> results =
      backend.Measure({Candidate{&kernel, FullTile()}});
  EXPECT_TRUE(results.ok()) << results.status();
  return results.ok() ? results->at(0)
                      : Measurement::FromFailure(FailureKind::kRecordedFailure, "no result");
}

// How many live children a process has.
inline int ChildrenOf(pid_t parent) {
  int children = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream stat(entry.path() / "stat");
    std::string line;
    if (!std::getline(stat, line)) continue;
    const std::vector<std::string> fields =
        absl::StrSplit(line.substr(line.rfind(')') + 1), ' ', absl::SkipWhitespace());
    if (fields.size() > 1 && fields[0] != "Z" && fields[1] == absl::StrCat(parent)) ++children;
  }
  return children;
}

// Processes that run the fake plugin, wherever they hang in the tree.
inline int ProcessesWithPlugin() {
  int found = 0;
  for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
    std::ifstream maps(entry.path() / "maps");
    std::string line;
    while (std::getline(maps, line)) {
      if (!absl::StrContains(line, AUTOTUNE_FAKE_PLUGIN)) continue;
      ++found;
      break;
    }
  }
  return found;
}

// Looks every few milliseconds, for a minute at most.
template <typename Condition>
void WaitUntil(Condition condition) {
  for (int i = 0; i < 6000 && !condition(); ++i) usleep(10'000);
}

// A test after which no process and no temporary file is left.
class FaultTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const char* before = std::getenv("TMPDIR")) before_ = before;
    folder_ = absl::StrCat(testing::TempDir(), "/fault-", getpid());
    std::filesystem::create_directories(folder_);
    setenv("TMPDIR", folder_.c_str(), 1);
    unsetenv("FAKE_PJRT_API");
    unsetenv("FAKE_PJRT_PROFILER");
  }
  void TearDown() override {
    EXPECT_TRUE(std::filesystem::is_empty(folder_)) << "temporary files are left in " << folder_;
    EXPECT_EQ(ChildrenOf(getpid()), 0);
    EXPECT_EQ(ProcessesWithPlugin(), 0);
    std::filesystem::remove_all(folder_);
    // testing::TempDir() follows it.
    before_.empty() ? unsetenv("TMPDIR") : setenv("TMPDIR", before_.c_str(), 1);
    unsetenv("FAKE_PJRT_API");
    unsetenv("FAKE_PJRT_PROFILER");
  }

  std::string before_;  // TMPDIR outside of the test
  std::string folder_;
};

// `count` names of kernels, 30 % of them of the given faults, and the kernels. Waiting for
// time-outs and memory takes long: fewer of those.
inline std::pair<std::vector<std::string>, std::vector<Kernel>> MixedKernels(
    const std::vector<std::string>& faults, int count) {
  std::mt19937_64 random(7);
  std::pair<std::vector<std::string>, std::vector<Kernel>> mixed;
  for (int i = 0; i < count; ++i) {
    const bool fault = random() % 10 < 3;
    std::string kind = faults[random() % faults.size()];
    const bool slow = absl::StrContains(kind, "hang") || absl::StrContains(kind, "leak");
    if (slow && random() % 4 != 0) kind = "fault-crash";
    mixed.first.push_back(fault ? kind : "fine");
    mixed.second.push_back(NamedKernel(absl::StrCat(mixed.first.back(), ".", i)));
  }
  return mixed;
}

}  // namespace autotune

#endif  // AUTOTUNE_TESTS_FAULT_FAULT_FIXTURE_H_
