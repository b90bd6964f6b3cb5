#include "hardware/atomic_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>

#include "absl/strings/str_cat.h"
#include "hlo/read_file.h"

namespace autotune {
namespace {

// A file descriptor that is closed at the end of its scope.
class Descriptor {
 public:
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  ~Descriptor() { Close(); }

  int get() const { return fd_; }
  // 0, or what close reported: on some file systems a full disk shows only here.
  int Close() {
    const int fd = fd_;
    fd_ = -1;
    return fd < 0 || close(fd) == 0 ? 0 : errno;
  }

 private:
  int fd_;
};

// 0 or an errno.
int WriteAll(int fd, absl::string_view content) {
  while (!content.empty()) {
    const ssize_t written = write(fd, content.data(), content.size());
    if (written < 0) {
      if (errno == EINTR) continue;
      return errno;
    }
    content.remove_prefix(static_cast<size_t>(written));
  }
  return 0;
}

int WriteAndSync(const std::string& path, absl::string_view content) {
  Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666));
  if (file.get() < 0) return errno;
  if (const int error = WriteAll(file.get(), content); error != 0) return error;
  if (fsync(file.get()) != 0) return errno;
  return file.Close();
}

absl::Status WriteInPlace(const std::string& path, absl::string_view content) {
  Descriptor file(open(path.c_str(), O_WRONLY | O_CLOEXEC));
  if (file.get() < 0) return ErrnoStatus(path, errno);
  const int error = WriteAll(file.get(), content);
  return error == 0 ? absl::OkStatus() : ErrnoStatus(path, error);
}

// The rename itself lasts through a crash once the folder is synced; not all file systems can.
void SyncFolderOf(const std::string& path) {
  const size_t slash = path.rfind('/');
  const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
  const Descriptor descriptor(open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (descriptor.get() >= 0) fsync(descriptor.get());
}

}  // namespace

absl::Status WriteFileAtomically(const std::string& path, absl::string_view content) {
  // Renaming over a device or a pipe (`--out /dev/stdout`) would replace it by a file.
  struct stat info;
  if (stat(path.c_str(), &info) == 0 && !S_ISREG(info.st_mode) && !S_ISDIR(info.st_mode)) {
    return WriteInPlace(path, content);
  }
  const std::string aside = absl::StrCat(path, ".tmp.", getpid());
  int error = WriteAndSync(aside, content);
  if (error == 0 && std::rename(aside.c_str(), path.c_str()) != 0) error = errno;
  if (error != 0) {
    unlink(aside.c_str());
    return ErrnoStatus(path, error);
  }
  SyncFolderOf(path);
  return absl::OkStatus();
}

}  // namespace autotune
