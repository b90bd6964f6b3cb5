#include "tuner/output_files.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "absl/cleanup/cleanup.h"
#include "absl/strings/str_cat.h"
#include "absl/time/time.h"

namespace autotune {
namespace {

namespace fs = std::filesystem;

absl::Status SystemError(int error, const std::string& what, const std::string& path) {
  const std::string message =
      absl::StrCat(what, " ", path, ": ", std::generic_category().message(error));
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return absl::ResourceExhaustedError(message);
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(message);
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(message);
    default:
      return absl::UnknownError(message);
  }
}

// Writes all of `content`; the number of the error, or 0.
int WriteAll(int fd, absl::string_view content) {
  while (!content.empty()) {
    const ssize_t written = write(fd, content.data(), content.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return errno;
    content.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

// Letters, digits, dots and dashes of a file name, for use in another one.
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

absl::Status WriteFileAtomically(const std::string& path, absl::string_view content) {
  const std::string aside = absl::StrCat(path, ".", getpid(), ".tmp");
  const int fd = open(aside.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (fd < 0) return SystemError(errno, "cannot write", path);
  absl::Cleanup remove = [&aside] { unlink(aside.c_str()); };
  int error = WriteAll(fd, content);
  if (error == 0 && fsync(fd) != 0 && errno != EINVAL) error = errno;
  if (close(fd) != 0 && error == 0) error = errno;
  if (error == 0 && rename(aside.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) return SystemError(error, "cannot write", path);
  std::move(remove).Cancel();
  return absl::OkStatus();
}

absl::StatusOr<std::string> ReadWholeFile(const std::string& path) {
  const int fd = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return SystemError(errno, "cannot read", path);
  absl::Cleanup closer = [fd] { close(fd); };
  std::string content;
  char buffer[1 << 16];
  while (true) {
    const ssize_t got = read(fd, buffer, sizeof(buffer));
    if (got == 0) return content;
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && errno == EISDIR) {
      return absl::InvalidArgumentError(absl::StrCat("cannot read ", path, ": it is a folder"));
    }
    if (got < 0) return SystemError(errno, "cannot read", path);
    content.append(buffer, static_cast<size_t>(got));
  }
}

absl::Status MakeOutputDirectory(const std::string& path) {
  std::error_code error;
  fs::create_directories(path, error);
  if (error) return SystemError(error.value(), "cannot make the folder", path);
  if (!fs::is_directory(path, error)) {
    return absl::InvalidArgumentError(absl::StrCat(path, " is not a folder"));
  }
  if (access(path.c_str(), W_OK) != 0) return SystemError(errno, "cannot write to", path);
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
