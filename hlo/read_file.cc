#include <glob.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "hlo/read_module.h"

namespace autotune {
namespace {

constexpr size_t kSniffedBytes = 1 << 16;

absl::Status ErrnoStatus(int error, absl::string_view what) {
  const std::string message = absl::StrCat(what, ": ", std::strerror(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(message);
    case EACCES:
    case EPERM:
      return absl::PermissionDeniedError(message);
    case EISDIR:
      return absl::FailedPreconditionError(message);
    default:
      return absl::UnknownError(message);
  }
}

absl::StatusOr<std::string> ReadUpTo(const std::string& path, size_t limit) {
  struct Close {
    void operator()(std::FILE* file) const {
      if (file != stdin) std::fclose(file);
    }
  };
  const bool standard_input = path == "-";
  std::unique_ptr<std::FILE, Close> file(standard_input ? stdin : std::fopen(path.c_str(), "rb"));
  if (file == nullptr) return ErrnoStatus(errno, path);
  std::string content;
  struct stat info;
  if (!standard_input && ::fstat(::fileno(file.get()), &info) == 0 && info.st_size > 0) {
    content.reserve(std::min(static_cast<size_t>(info.st_size), limit));
  }
  char buffer[1 << 16];
  while (content.size() < limit) {
    const size_t wanted = std::min(sizeof(buffer), limit - content.size());
    const size_t got = std::fread(buffer, 1, wanted, file.get());
    content.append(buffer, got);
    if (got == wanted) continue;
    if (std::ferror(file.get()) != 0) return ErrnoStatus(errno, path);
    break;
  }
  return content;
}

// Whether a file of a directory is a program; a prefix is enough to tell.
bool HoldsModule(const std::string& path) {
  const absl::StatusOr<std::string> start = ReadUpTo(path, kSniffedBytes);
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
  std::vector<std::string> files;
  std::error_code error;
  std::filesystem::recursive_directory_iterator it(
      directory, std::filesystem::directory_options::skip_permission_denied, error);
  for (; !error && it != std::filesystem::recursive_directory_iterator(); it.increment(error)) {
    std::error_code ignored;
    if (it->is_regular_file(ignored) && HoldsModule(it->path())) files.push_back(it->path());
  }
  if (error) return ErrnoStatus(error.value(), directory);
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
  const int result = ::glob(pattern.c_str(), 0, nullptr, &matches);
  std::vector<std::string> files;
  for (size_t i = 0; i < matches.gl_pathc; ++i) files.emplace_back(matches.gl_pathv[i]);
  ::globfree(&matches);
  if (result != 0 || files.empty()) {
    return absl::NotFoundError(absl::StrCat(pattern, ": no file matches"));
  }
  return files;
}

}  // namespace

absl::StatusOr<std::string> ReadFileContent(const std::string& path) {
  std::error_code ignored;
  if (path != "-" && std::filesystem::is_directory(path, ignored)) {
    return ErrnoStatus(EISDIR, path);
  }
  return ReadUpTo(path, std::string::npos);
}

absl::StatusOr<std::vector<std::string>> FindModuleFiles(const std::string& argument) {
  if (argument == "-") return std::vector<std::string>{argument};
  std::error_code error;
  const std::filesystem::file_status status = std::filesystem::status(argument, error);
  if (std::filesystem::is_directory(status)) return FilesInDirectory(argument);
  if (std::filesystem::exists(status)) return std::vector<std::string>{argument};
  if (argument.find_first_of("*?[") != std::string::npos) return FilesOfPattern(argument);
  return ErrnoStatus(error ? error.value() : ENOENT, argument);
}

}  // namespace autotune
