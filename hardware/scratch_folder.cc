#include "hardware/scratch_folder.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <system_error>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "hlo/read_file.h"

namespace autotune {
namespace {

namespace fs = std::filesystem;

constexpr absl::string_view kPrefix = "autotune-scratch-";
constexpr char kLock[] = "lock";
constexpr char kWork[] = "work";
constexpr char kTemporary[] = "tmp";
// Names the folder to a worker.
constexpr char kVariable[] = "AUTOTUNE_SCRATCH";
// An empty folder without a lock is one in the making, or its maker died at just that point.
constexpr std::chrono::seconds kMaking{60};
// A folder that another process took for a dead one while it was made.
constexpr int kTries = 3;
// A hundredth of a second each.
constexpr int kTriesToLock = 100;

// Whether the descriptor is still the folder's lock, and not that of one that was removed.
bool IsLockOf(int lock, const fs::path& folder) {
  struct stat opened = {};
  struct stat named = {};
  return fstat(lock, &opened) == 0 && stat((folder / kLock).c_str(), &named) == 0 &&
         opened.st_ino == named.st_ino && opened.st_dev == named.st_dev;
}

// The lock of a folder, or -1 with errno: EWOULDBLOCK where a living process has it, ENOENT where
// there is none.
int Lock(const fs::path& folder, int flags) {
  const int lock = open((folder / kLock).c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW | flags, 0600);
  if (lock < 0) return -1;
  const bool taken = flock(lock, LOCK_EX | LOCK_NB) == 0;
  if (taken && IsLockOf(lock, folder)) return lock;
  const int error = taken ? ENOENT : errno;
  close(lock);
  errno = error;
  return -1;
}

// The lock goes last: what is left before that can still be told from a live folder.
void RemoveLocked(const fs::path& folder) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder, error)) {
    if (entry.path().filename() == kLock) continue;
    std::error_code failed;
    fs::remove_all(entry.path(), failed);
    if (failed) return;
  }
  if (error) return;
  fs::remove(folder / kLock, error);
  fs::remove(folder, error);
}

// False if its owner lives.
bool RemoveIfDead(const fs::path& folder) {
  const int lock = Lock(folder, 0);
  if (lock < 0) return errno != EWOULDBLOCK;
  RemoveLocked(folder);
  close(lock);
  return true;
}

// Removes an empty folder, whose maker died before it had the lock.
void RemoveUnfinished(const fs::path& folder) {
  std::error_code error;
  const auto age = fs::file_time_type::clock::now() - fs::last_write_time(folder, error);
  if (!error && age > kMaking) rmdir(folder.c_str());
}

void RemoveDeadFolders(const fs::path& parent) {
  std::error_code error;
  for (fs::directory_iterator at(parent, error), end; !error && at != end; at.increment(error)) {
    std::error_code unknown;
    if (absl::StartsWith(at->path().filename().string(), kPrefix) &&
        fs::is_directory(at->symlink_status(unknown))) {
      RemoveIfDead(at->path());
      RemoveUnfinished(at->path());
    }
  }
}

absl::Status CannotMake(const fs::path& folder, int error) {
  return ErrnoStatus(absl::StrCat("cannot make the temporary folder ", folder.string(),
                                  " (TMPDIR may name another place)"),
                     error);
}

}  // namespace

absl::StatusOr<std::unique_ptr<ScratchFolder>> ScratchFolder::Create(absl::string_view purpose) {
  std::error_code no_folder;
  const fs::path parent = fs::temp_directory_path(no_folder);
  if (no_folder) {
    const char* wanted = std::getenv("TMPDIR");
    return CannotMake(wanted == nullptr ? "/tmp" : wanted, no_folder.value());
  }
  RemoveDeadFolders(parent);
  for (int i = 0; i < kTries; ++i) {
    std::string path = parent / absl::StrCat(kPrefix, purpose, "-XXXXXX");
    if (mkdtemp(path.data()) == nullptr) return CannotMake(path, errno);
    const int lock = Lock(path, O_CREAT);
    if (lock < 0 && (errno == ENOENT || errno == EWOULDBLOCK)) continue;
    int error = lock < 0 ? errno : 0;
    for (const char* part : {kWork, kTemporary}) {
      if (error == 0 && mkdir((fs::path(path) / part).c_str(), 0700) != 0) error = errno;
    }
    if (error == 0) return std::unique_ptr<ScratchFolder>(new ScratchFolder(path, lock));
    RemoveLocked(path);
    if (lock >= 0) close(lock);
    return CannotMake(path, error);
  }
  return CannotMake(parent, EBUSY);
}

ScratchFolder::ScratchFolder(std::string path, int lock)
    : path_(std::move(path)), work_(fs::path(path_) / kWork), lock_(lock) {}

ScratchFolder::~ScratchFolder() {
  RemoveLocked(path_);
  close(lock_);
}

void ScratchFolder::Empty() const {
  for (const char* part : {kWork, kTemporary}) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(fs::path(path_) / part, error)) {
      std::error_code failed;
      fs::remove_all(entry.path(), failed);
    }
  }
}

std::vector<std::pair<std::string, std::string>> ScratchFolder::WorkerEnvironment() const {
  return {{"TMPDIR", fs::path(path_) / kTemporary}, {kVariable, path_}};
}

void RemoveScratchOfDeadParent() {
  static std::mutex& one_at_a_time = *new std::mutex;
  const std::lock_guard<std::mutex> guard(one_at_a_time);
  const char* folder = std::getenv(kVariable);
  if (folder == nullptr) return;
  if (!absl::StartsWith(fs::path(folder).filename().string(), kPrefix)) return;
  // The system closes the descriptors of a dying process one by one.
  for (int i = 0; i < kTriesToLock && !RemoveIfDead(folder); ++i) usleep(10'000);
}

}  // namespace autotune
