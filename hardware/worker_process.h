#ifndef AUTOTUNE_HARDWARE_WORKER_PROCESS_H_
#define AUTOTUNE_HARDWARE_WORKER_PROCESS_H_

#include <sys/types.h>

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hardware/measurement.h"

namespace autotune {

// How to start a worker process.
struct WorkerOptions {
  // The program; it must speak the frames of hardware/worker_frames.h on file descriptor 3, as
  // `autotune-worker` does.
  std::string program;
  std::vector<std::string> arguments;
  // Set beside the parent's own environment, which they override.
  std::vector<std::pair<std::string, std::string>> environment;
  // Resident memory at which it is killed; 0 for no limit.
  int64_t memory_limit_bytes = 0;
};

// A child process that answers requests one at a time and is watched: it may crash, hang or eat
// memory without harm to its parent. It leads a process group, all of which is killed with it, and
// ends by itself when its parent dies. Not thread-safe; may be used from any one thread at a time.
class WorkerProcess {
 public:
  // NotFound if the program cannot be started.
  static absl::StatusOr<std::unique_ptr<WorkerProcess>> Start(const WorkerOptions& options);

  // Kills the process group and reaps the child.
  ~WorkerProcess();
  WorkerProcess(const WorkerProcess&) = delete;
  WorkerProcess& operator=(const WorkerProcess&) = delete;

  // Sends a request and waits for its reply. A Failure (kCrash, kTimeout, kOutOfMemory) if the
  // child died or was killed over it; the worker is then dead and has to be replaced.
  std::variant<std::string, Failure> Call(absl::string_view request, absl::Duration timeout);

  bool alive() const { return pid_ > 0; }
  pid_t pid() const { return pid_; }

 private:
  WorkerProcess(pid_t pid, int socket, int log, int64_t memory_limit_bytes);

  Failure Died(absl::string_view while_doing);
  Failure KillFor(FailureKind kind, std::string message);
  // Kills what is left of the group, reaps the child and returns its wait status.
  int Reap();
  std::string LogTail() const;

  pid_t pid_;
  int socket_;
  int log_;  // an anonymous file that takes the child's output
  int64_t memory_limit_bytes_;
};

// The path of `autotune-worker`: $AUTOTUNE_WORKER, else beside this program or where the
// installation puts it. NotFound, saying where it looked.
absl::StatusOr<std::string> FindWorkerProgram();

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_WORKER_PROCESS_H_
