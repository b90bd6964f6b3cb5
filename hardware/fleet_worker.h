#ifndef AUTOTUNE_HARDWARE_FLEET_WORKER_H_
#define AUTOTUNE_HARDWARE_FLEET_WORKER_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hardware/fleet_messages.h"
#include "hardware/measurement_backend.h"

namespace autotune {

// The backend that a worker's own configuration names. JSON:
//   {"backend": "pjrt", "plugin": "/path/libtpu.so", "repeats": 10}
//   {"backend": "aot", "target": "v5e", "plugin": "..."}         estimates
//   {"backend": "sleep", "milliseconds": 100, "target": "v3"}    invented estimates, to try a fleet
// with "worker" (path of autotune-worker) and "timeout_seconds" where they are not the usual ones.
// InvalidArgument for anything else; what the backend says if it cannot start.
absl::StatusOr<std::unique_ptr<MeasurementBackend>> FleetWorkerBackend(
    const std::string& config_json);

// Answers one request (proto/fleet.proto) with a backend. Failures come back as a reply too. With a
// cache, kernels of earlier requests are not read and verified again.
std::string AnswerFleetRequest(MeasurementBackend& backend, const std::string& host,
                               absl::string_view request, FleetKernelCache* cache = nullptr);

// The program autotune-fleet-worker: reads the file that $AUTOTUNE_FLEET_CONFIG names, then answers
// requests on descriptor 3 (hardware/worker_frames.h) until the other side is gone. The exit code.
int ServeFleetWorker();

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_FLEET_WORKER_H_
