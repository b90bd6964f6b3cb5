#include "hlo/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "absl/strings/str_cat.h"

namespace autotune {
namespace {

constexpr size_t kLargestDeviceBytes = size_t{1} << 20;

absl::Status TooLarge(const std::string& path) {
  return absl::InvalidArgumentError(absl::StrCat(path, ": more than ", kLargestFileBytes >> 30,
                                                 " GiB: neither a program nor a recording"));
}

absl::Status Endless(const std::string& path) {
  return absl::InvalidArgumentError(
      absl::StrCat(path, ": a device without an end: neither a program nor a recording"));
}

// The rest of an open file, up to `limit` bytes.
absl::StatusOr<std::string> ReadDescriptor(int file, const std::string& path, size_t limit) {
  struct stat info;
  if (fstat(file, &info) != 0) return ErrnoStatus(path, errno);
  if (S_ISDIR(info.st_mode)) return ErrnoStatus(path, EISDIR);
  // A device that is no terminal, like /dev/zero, has no end.
  const bool device = S_ISCHR(info.st_mode) && isatty(file) == 0;
  std::string content;
  if (S_ISREG(info.st_mode)) {
    const size_t size = std::min(static_cast<size_t>(info.st_size), limit);
    if (size > kLargestFileBytes) return TooLarge(path);
    content.reserve(size);
  }
  char buffer[1 << 16];
  while (content.size() < limit) {
    if (content.size() > kLargestFileBytes) return TooLarge(path);
    if (device && content.size() > kLargestDeviceBytes) return Endless(path);
    const ssize_t count = read(file, buffer, std::min(sizeof(buffer), limit - content.size()));
    if (count == 0) break;
    if (count > 0) {
      content.append(buffer, static_cast<size_t>(count));
    } else if (errno != EINTR) {
      return ErrnoStatus(path, errno);
    }
  }
  return content;
}

}  // namespace

absl::Status ErrnoStatus(absl::string_view what, int error) {
  const std::string message = absl::StrCat(what, ": ", std::strerror(error));
  switch (error) {
    case ENOENT:
    case ENOTDIR:
      return absl::NotFoundError(message);
    case EACCES:
    case EPERM:
    case EROFS:
      return absl::PermissionDeniedError(message);
    case ENOSPC:
    case EDQUOT:
    case EFBIG:
      return absl::ResourceExhaustedError(message);
    case EISDIR:
      return absl::InvalidArgumentError(message);
    default:
      return absl::UnavailableError(message);
  }
}

absl::StatusOr<std::string> ReadWholeFile(const std::string& path, size_t limit) {
  if (path == "-") return ReadDescriptor(STDIN_FILENO, "standard input", limit);
  const int file = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (file < 0) return ErrnoStatus(path, errno);
  absl::StatusOr<std::string> content = ReadDescriptor(file, path, limit);
  close(file);
  return content;
}

}  // namespace autotune
