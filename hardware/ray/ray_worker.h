#ifndef AUTOTUNE_HARDWARE_RAY_RAY_WORKER_H_
#define AUTOTUNE_HARDWARE_RAY_RAY_WORKER_H_

#include <memory>
#include <mutex>
#include <string>

namespace autotune_ray {

// Calls of Handle that Ray makes at a time: as many as hardware/fleet_backend.cc sends ahead.
constexpr int kRequestsAtOnce = 3;

// An actor of the cluster, one for each device. It hands requests to a child process, the program
// that $AUTOTUNE_FLEET_WORKER names in the environment of the host's own Ray (never in a request),
// and gives its answers back. A child that dies is replaced at the next request. Several
// requests may be under way: the next one is at the child when it is done with the last, which
// works on one after the other. Throws std::runtime_error, which Ray carries to the driver.
// Thread-safe. Old string ABI.
class FleetWorker {
 public:
  static FleetWorker* Create();
  FleetWorker() = default;
  FleetWorker(const FleetWorker&) = delete;
  FleetWorker& operator=(const FleetWorker&) = delete;

  // Bytes of a proto::FleetRequest in, of a proto::FleetReply out.
  std::string Handle(std::string request);

 private:
  class Child;

  std::mutex mutex_;  // for sending: whole requests, and one child
  std::shared_ptr<Child> child_;
};

}  // namespace autotune_ray

#endif  // AUTOTUNE_HARDWARE_RAY_RAY_WORKER_H_
