#ifndef AUTOTUNE_TUNER_FLEET_CLUSTER_H_
#define AUTOTUNE_TUNER_FLEET_CLUSTER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "tuner/fleet_state.h"

namespace autotune {

// How to start a fleet on this machine.
struct FleetUpOptions {
  std::string address = "127.0.0.1";  // that the head listens on
  int64_t port = 6399;
  int64_t workers = 1;
  std::string resource = "autotune";
  std::string worker_config;  // path; see FleetWorkerBackend
};

// Starts Ray's servers with a token of their own, which only this user can read, and stores where
// they are. A loopback address is reachable from this machine only. AlreadyExists if the fleet is
// up; NotFound if Ray is not installed; what Ray says if it does not start.
absl::StatusOr<FleetState> StartFleet(const FleetUpOptions& options);

// The processes of the fleet, by id; empty if none runs.
std::vector<int> FleetProcesses(const FleetState& state);

// Ends them, first asking, and forgets the fleet. Touches no other Ray. NotFound if there is none.
absl::Status StopFleet();

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_FLEET_CLUSTER_H_
