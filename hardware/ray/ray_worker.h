#ifndef AUTOTUNE_HARDWARE_RAY_RAY_WORKER_H_
#define AUTOTUNE_HARDWARE_RAY_RAY_WORKER_H_

#include <sys/types.h>

#include <string>

namespace autotune_ray {

// An actor of the cluster, one for each device. It hands requests to a child process, the program
// that $AUTOTUNE_FLEET_WORKER names in the environment of the host's own Ray (never in a request),
// and gives its answers back. A child that dies is replaced at the next request. Throws
// std::runtime_error, which Ray carries to the driver. Old string ABI.
class FleetWorker {
 public:
  static FleetWorker* Create();
  FleetWorker() = default;
  ~FleetWorker();
  FleetWorker(const FleetWorker&) = delete;
  FleetWorker& operator=(const FleetWorker&) = delete;

  // Bytes of a proto::FleetRequest in, of a proto::FleetReply out.
  std::string Handle(std::string request);

 private:
  void StartChild();
  void EndChild();

  pid_t child_ = -1;
  int socket_ = -1;
};

}  // namespace autotune_ray

#endif  // AUTOTUNE_HARDWARE_RAY_RAY_WORKER_H_
