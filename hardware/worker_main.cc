// The worker process: it compiles and runs candidates for a parent that watches it.

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "hardware/worker_frames.h"
#include "hardware/worker_service.h"

int main() {
  // Started by hand there is no parent to talk to.
  if (fcntl(autotune::kWorkerSocket, F_GETFD) < 0) {
    std::fputs("autotune-worker is started by autotune\n", stderr);
    return 2;
  }
  const int code = autotune::ServeWorker();
  // Plugins' own clean-up at exit is not waited for.
  _exit(code);
}
