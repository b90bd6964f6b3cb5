#include "hardware/compiler_version.h"

#include <algorithm>
#include <filesystem>
#include <set>
#include <system_error>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/strings/strip.h"

namespace autotune {
namespace {

namespace fs = std::filesystem;

constexpr char kBetween[] = "; ";

// "libtpu 0.0.52" for .../libtpu/libtpu.so beside .../libtpu-0.0.52.dist-info; empty without one.
std::string PackageRelease(const fs::path& plugin) {
  std::error_code error;
  const fs::path folder = fs::weakly_canonical(plugin, error).parent_path();
  const std::string package = folder.filename().string();
  std::vector<std::string> releases;
  // A package may lie one folder deeper: xla_plugins/xla_cpu_pjrt.
  for (const fs::path& place : {folder.parent_path(), folder.parent_path().parent_path()}) {
    for (const fs::directory_entry& entry : fs::directory_iterator(place, error)) {
      const std::string name = entry.path().filename().string();
      absl::string_view release = name;
      if (absl::ConsumePrefix(&release, absl::StrCat(package, "-")) &&
          absl::ConsumeSuffix(&release, ".dist-info")) {
        releases.push_back(absl::StrCat(package, " ", release));
      }
    }
  }
  // With the remains of another installation there, nobody knows which one it is.
  return releases.size() == 1 ? releases.front() : "";
}

}  // namespace

std::string CompilerVersion(const std::string& reported, const std::string& plugin) {
  std::vector<std::string> parts = absl::StrSplit(reported, '\n', absl::SkipWhitespace());
  if (std::string release = PackageRelease(plugin); !release.empty()) parts.push_back(release);
  return absl::StrJoin(parts, kBetween);
}

bool MayBeSameCompiler(const std::string& a, const std::string& b) {
  const std::set<std::string> in_a = absl::StrSplit(a, kBetween);
  const std::set<std::string> in_b = absl::StrSplit(b, kBetween);
  return std::includes(in_a.begin(), in_a.end(), in_b.begin(), in_b.end()) ||
         std::includes(in_b.begin(), in_b.end(), in_a.begin(), in_a.end());
}

}  // namespace autotune
