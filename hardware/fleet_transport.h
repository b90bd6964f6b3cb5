#ifndef AUTOTUNE_HARDWARE_FLEET_TRANSPORT_H_
#define AUTOTUNE_HARDWARE_FLEET_TRANSPORT_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace autotune {

// Carries bytes to the workers of a fleet and back. Not thread-safe.
class FleetTransport {
 public:
  // The answer to a request; Unavailable if the worker died before it answered.
  struct Event {
    int64_t ticket = 0;
    absl::StatusOr<std::string> reply;
  };

  virtual ~FleetTransport() = default;

  // Asks the cluster for one more worker, on any host that has room for it. It may be a while until
  // it runs; requests wait for it. Its number is never used again.
  virtual absl::StatusOr<int> StartWorker() = 0;

  // Kills a worker; nothing is heard of its requests any more.
  virtual void StopWorker(int worker) = 0;

  // Sends a request; the ticket tells its event. A worker works on one request after the other, in
  // the order in which they reach it.
  virtual absl::StatusOr<int64_t> Submit(int worker, const std::string& request) = 0;

  // What has been answered. Waits up to `timeout` for the first event.
  virtual std::vector<Event> Wait(absl::Duration timeout) = 0;
};

// Where a Ray cluster is and how to enter it.
struct RayClusterOptions {
  std::string address;     // "127.0.0.1:6399"
  std::string token_path;  // of the file with the cluster's token; empty: no token
  std::string bridge;      // path of libautotune_ray.so; empty: FindRayBridge()
  // What one worker takes of a host: "TPU" where Ray found TPUs.
  std::string resource = "TPU";
};

// Workers as actors of a Ray cluster, through Ray's C++ API in libautotune_ray.so, which is loaded
// when this is called. One cluster for each process. NotFound, saying how to get it, if the library
// is missing; Unavailable if the cluster cannot be entered.
absl::StatusOr<std::unique_ptr<FleetTransport>> ConnectRayCluster(const RayClusterOptions& options);

// The path of libautotune_ray.so: $AUTOTUNE_RAY_BRIDGE, else beside this program or where the
// installation puts it. NotFound, saying how to get it.
absl::StatusOr<std::string> FindRayBridge();

// The command `ray` that came with it. NotFound as above.
absl::StatusOr<std::string> FindRayCommand();

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_FLEET_TRANSPORT_H_
