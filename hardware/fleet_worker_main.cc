// A worker of a fleet: measures for the Ray actor that started it (hardware/ray/ray_worker.h).

#include <fcntl.h>
#include <unistd.h>

#include <cstdio>

#include "hardware/fleet_worker.h"
#include "hardware/worker_frames.h"

int main() {
  if (fcntl(autotune::kWorkerSocket, F_GETFD) < 0) {
    std::fputs("autotune-fleet-worker is started by the workers of a fleet (docs/fleet.md)\n",
               stderr);
    return 2;
  }
  const int code = autotune::ServeFleetWorker();
  _exit(code);
}
