#ifndef AUTOTUNE_HARDWARE_SCRATCH_FOLDER_H_
#define AUTOTUNE_HARDWARE_SCRATCH_FOLDER_H_

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace autotune {

// A folder below TMPDIR for what a worker and the compiler in it write, gone with its owner:
//
//   autotune-scratch-PURPOSE-XXXXXX/lock   held with flock as long as the owner lives
//                                   work/  what the owner asked for: dumps, say
//                                   tmp/   the worker's own TMPDIR, which libraries leave logs in
//
// An owner that is killed cannot clean up. Then its worker does (RemoveScratchOfDeadParent), and
// what is left all the same goes when the next folder is made: who can lock a folder knows its
// owner dead. Not thread-safe.
class ScratchFolder {
 public:
  // Also removes the folders of dead owners. PermissionDenied, ResourceExhausted and so on if the
  // folder cannot be made, saying that TMPDIR may name another place.
  static absl::StatusOr<std::unique_ptr<ScratchFolder>> Create(absl::string_view purpose);
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const std::string& path() const { return path_; }
  const std::string& work() const { return work_; }

  // Removes what lies in work/ and tmp/: what a worker that died left behind would count as the
  // next one's.
  void Empty() const;

  // What a worker's environment needs to write here and nowhere else, and to remove all when its
  // parent is gone.
  std::vector<std::pair<std::string, std::string>> WorkerEnvironment() const;

 private:
  ScratchFolder(std::string path, int lock);

  const std::string path_;
  const std::string work_;
  const int lock_;  // the descriptor that holds the lock
};

// In a worker whose parent is gone: removes the folder that its environment names, if any. What
// cannot be removed now stays with its lock, for the next owner of a folder. Thread-safe.
void RemoveScratchOfDeadParent();

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_SCRATCH_FOLDER_H_
