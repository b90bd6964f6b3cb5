#ifndef AUTOTUNE_TUNER_RUN_LOCK_H_
#define AUTOTUNE_TUNER_RUN_LOCK_H_

#include <string>

#include "absl/status/statusor.h"

namespace autotune {

// The right to write to a run's folder, held by one process at a time: two that went on with the
// same run would both spend its budget and overwrite each other's reports. The system gives it back
// when the process ends, however it ends; the file OUT/run.lock stays. Movable, not copyable.
class RunLock {
 public:
  // Unavailable, naming the other process, if the folder is locked. On a file system without locks
  // nothing is locked.
  static absl::StatusOr<RunLock> Acquire(const std::string& out);

  RunLock() = default;
  RunLock(RunLock&& other) noexcept;
  RunLock& operator=(RunLock&& other) noexcept;
  ~RunLock();

 private:
  explicit RunLock(int descriptor) : descriptor_(descriptor) {}

  int descriptor_ = -1;
};

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_RUN_LOCK_H_
