#include "tuner/run_lock.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "hardware/atomic_file.h"

namespace autotune {

RunLock::RunLock(RunLock&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}

RunLock& RunLock::operator=(RunLock&& other) noexcept {
  std::swap(descriptor_, other.descriptor_);
  return *this;
}

RunLock::~RunLock() {
  if (descriptor_ >= 0) close(descriptor_);  // which unlocks
}

absl::StatusOr<RunLock> RunLock::Acquire(const std::string& out) {
  const std::string path = absl::StrCat(out, "/run.lock");
  RunLock lock(open(path.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0666));
  if (lock.descriptor_ < 0) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  if (flock(lock.descriptor_, LOCK_EX | LOCK_NB) != 0) {
    if (errno != EWOULDBLOCK) return lock;
    absl::StatusOr<std::string> holder = ReadWholeFile(path);
    absl::string_view who = holder.ok() ? absl::StripAsciiWhitespace(*holder) : "";
    return absl::UnavailableError(
        absl::StrCat("another autotune works in ", out, who.empty() ? "" : " (process ", who,
                     who.empty() ? "" : ")", ": wait for it, or give another folder with --out"));
  }
  // Only for the message above: a failure changes nothing.
  const std::string self = absl::StrCat(getpid(), "\n");
  if (ftruncate(lock.descriptor_, 0) == 0) {
    [[maybe_unused]] const ssize_t written = write(lock.descriptor_, self.data(), self.size());
  }
  return lock;
}

}  // namespace autotune
