#include "tuner/output_files.h"

#include <unistd.h>

#include <cctype>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace autotune {
namespace {

namespace fs = std::filesystem;

// The letters, digits and dashes of a path that tell it from others, for use in a name.
std::string Slug(const std::string& program) {
  std::string stem = fs::path(program).filename().string();
  // "program.hlo" says nothing; the folder around it does.
  const std::string parent = fs::path(program).parent_path().filename().string();
  if (fs::path(program).stem() == "program" && !parent.empty()) stem = parent;
  stem = stem.substr(0, stem.find('.'));
  std::string slug;
  for (char c : stem.substr(0, 40)) {
    slug += std::isalnum(static_cast<unsigned char>(c)) || c == '_' ? c : '-';
  }
  return slug.empty() ? "run" : slug;
}

}  // namespace

absl::Status MakeOutputDirectory(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) {
    return absl::ErrnoToStatus(error.value(), absl::StrCat("cannot make the folder ", path));
  }
  if (!fs::is_directory(path, error)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is not a folder"));
  }
  if (access(path.c_str(), W_OK) != 0) {
    return absl::ErrnoToStatus(errno, absl::StrCat("cannot write to ", path));
  }
  return absl::OkStatus();
}

std::string NewRunDirectory(const std::string& program, int64_t unix_micros) {
  const std::string when =
      absl::FormatTime("%Y%m%d-%H%M%S", absl::FromUnixMicros(unix_micros), absl::LocalTimeZone());
  const std::string base = absl::StrCat("autotune-runs/", when, "-", Slug(program));
  std::string candidate = base;
  std::error_code error;
  for (int i = 2; fs::exists(candidate, error); ++i) candidate = absl::StrCat(base, "-", i);
  return candidate;
}

}  // namespace autotune
