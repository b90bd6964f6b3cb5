// From an argument of a command to the files that it stands for.

#include <glob.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "hlo/read_file.h"
#include "hlo/read_module.h"

namespace autotune {
namespace {

constexpr size_t kSniffedBytes = 1 << 16;

// Whether a file of a directory is a program; a prefix is enough to tell.
bool HoldsModule(const std::string& path) {
  const absl::StatusOr<std::string> start = ReadWholeFile(path, kSniffedBytes);
  if (!start.ok() || start->empty()) return false;
  const std::optional<HloFormat> format = DetectHloFormat(*start);
  if (format == HloFormat::kTuningData || format == HloFormat::kStableHlo) return false;
  // Dump folders hold texts of many kinds: only a module line makes one a program there.
  if (format == HloFormat::kText) return start->find("HloModule") != std::string::npos;
  if (format.has_value()) return true;
  // The outline of a large protobuf shows only in the whole of it.
  const std::string extension = std::filesystem::path(path).extension();
  return extension == ".pb" && start->size() == kSniffedBytes;
}

absl::StatusOr<std::vector<std::string>> FilesInDirectory(const std::string& directory) {
  // Folders inside that may not be read are passed over, this one is not.
  if (access(directory.c_str(), R_OK | X_OK) != 0) return ErrnoStatus(directory, errno);
  std::vector<std::string> files;
  std::error_code error;
  std::filesystem::recursive_directory_iterator it(
      directory, std::filesystem::directory_options::skip_permission_denied, error);
  for (; !error && it != std::filesystem::recursive_directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    if (it->is_regular_file(ignored) && HoldsModule(it->path())) files.push_back(it->path());
  }
  if (error) return ErrnoStatus(directory, error.value());
  if (files.empty()) {
    return absl::NotFoundError(
        absl::StrCat(directory,
                     ": no file in this directory holds a program in HLO (an XLA dump is made with "
                     "XLA_FLAGS=--xla_dump_to=DIR, on a TPU with "
                     "LIBTPU_INIT_ARGS=--xla_dump_to=DIR)"));
  }
  std::sort(files.begin(), files.end());
  return files;
}

absl::StatusOr<std::vector<std::string>> FilesOfPattern(const std::string& pattern) {
  glob_t matches = {};
  const int result = ::glob(pattern.c_str(), GLOB_ERR, nullptr, &matches);
  std::vector<std::string> files;
  for (size_t i = 0; i < matches.gl_pathc; ++i) files.emplace_back(matches.gl_pathv[i]);
  ::globfree(&matches);
  if (result == GLOB_ABORTED) return ErrnoStatus(pattern, EACCES);
  if (result != 0 || files.empty()) {
    return absl::NotFoundError(absl::StrCat(pattern, ": no file matches"));
  }
  return files;
}

}  // namespace

absl::StatusOr<std::vector<std::string>> FindModuleFiles(const std::string& argument) {
  if (argument == "-") return std::vector<std::string>{argument};
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(argument, error);
  if (std::filesystem::is_directory(status)) return FilesInDirectory(argument);
  if (std::filesystem::exists(status)) return std::vector<std::string>{argument};
  if (argument.find_first_of("*?[") != std::string::npos) return FilesOfPattern(argument);
  return ErrnoStatus(argument, error ? error.value() : ENOENT);
}

}  // namespace autotune
