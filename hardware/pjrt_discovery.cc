#include "hardware/pjrt_discovery.h"

#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace autotune {
namespace {

namespace fs = std::filesystem;

// site-packages of the Python installation under `prefix`, newest version first.
void AppendSitePackages(const fs::path& prefix, std::vector<fs::path>* places) {
  std::error_code error;
  std::vector<fs::path> versions;
  for (const auto& entry : fs::directory_iterator(prefix / "lib", error)) {
    if (absl::StartsWith(entry.path().filename().string(), "python3")) {
      versions.push_back(entry.path());
    }
  }
  std::sort(versions.rbegin(), versions.rend());
  for (const fs::path& version : versions) {
    places->push_back(version / "site-packages");
    places->push_back(version / "dist-packages");
  }
}

// Where Python packages may lie unpacked or installed, in the order of preference.
std::vector<fs::path> PackagePlaces() {
  std::vector<fs::path> places;
  std::error_code error;
  const fs::path here = fs::read_symlink("/proc/self/exe", error).parent_path();
  // From build/NAME/bin or build/bin to the project's folder; from a prefix' bin to its share.
  for (const char* up : {"../../..", "../..", ".."}) places.push_back(here / up / ".deps" / "aot");
  places.push_back(here / "../share/autotune/.deps/aot");
  if (const char* environment = std::getenv("VIRTUAL_ENV"))
    AppendSitePackages(environment, &places);
  const char* path = std::getenv("PATH");
  for (absl::string_view directory : absl::StrSplit(path == nullptr ? "" : path, ':')) {
    const fs::path bin{std::string(directory)};
    if (access((bin / "python3").c_str(), X_OK) == 0)
      AppendSitePackages(bin.parent_path(), &places);
  }
  if (const char* home = std::getenv("HOME"))
    AppendSitePackages(fs::path(home) / ".local", &places);
  return places;
}

absl::StatusOr<std::string> FromEnvironment(const char* variable) {
  const char* path = std::getenv(variable);
  if (path == nullptr || *path == '\0') return std::string();
  if (access(path, R_OK) == 0) return std::string(path);
  return absl::NotFoundError(absl::StrCat(variable, " names ", path, ", which cannot be read"));
}

absl::StatusOr<std::string> Find(std::initializer_list<const char*> variables,
                                 absl::string_view relative) {
  for (const char* variable : variables) {
    absl::StatusOr<std::string> path = FromEnvironment(variable);
    if (!path.ok() || !path->empty()) return path;
  }
  return FindInPythonPackages(relative);
}

}  // namespace

absl::StatusOr<std::string> FindInPythonPackages(absl::string_view relative) {
  for (const fs::path& place : PackagePlaces()) {
    const fs::path candidate = (place / std::string(relative)).lexically_normal();
    if (access(candidate.c_str(), R_OK) == 0) return candidate.string();
  }
  return absl::NotFoundError(absl::StrCat(
      "no ", relative, " in .deps or in a Python environment: run ./autotune --with aot"));
}

bool HasTpuDevice() { return access("/dev/accel0", F_OK) == 0 || access("/dev/vfio/0", F_OK) == 0; }

absl::StatusOr<std::string> FindLibtpu() {
  return Find({"AUTOTUNE_LIBTPU", "TPU_LIBRARY_PATH"}, "libtpu/libtpu.so");
}

absl::StatusOr<std::string> FindCpuPlugin() {
  return Find({"AUTOTUNE_CPU_PLUGIN"}, "xla_plugins/xla_cpu_pjrt/xla_cpu_pjrt.so");
}

}  // namespace autotune
