#ifndef AUTOTUNE_HARDWARE_FLEET_BACKEND_H_
#define AUTOTUNE_HARDWARE_FLEET_BACKEND_H_

#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "hardware/fleet_transport.h"
#include "hardware/measurement_backend.h"

namespace autotune {

// How a fleet works.
struct FleetOptions {
  int workers = 1;  // one for each device of the cluster
  // Candidates in one request at most. There are fewer in it towards the end of a batch, and where
  // they would take a worker longer than `request_time`: a driver that dies loses what is under
  // way.
  int batch = 16;
  absl::Duration request_time = absl::Milliseconds(100);
  absl::Duration timeout = absl::Seconds(120);       // of one candidate, on top of `start_timeout`
  absl::Duration start_timeout = absl::Seconds(60);  // of a worker, until it answers
  // A candidate over which so many workers died has failed.
  int attempts = 3;
  // A host on which so many requests in a row failed is left out while another one works.
  int host_failures = 3;
  // One candidate in so many is measured on a second host too; 0 for none. Times that differ by
  // more than the tolerance are told to `notify`, and Measurement::method says so.
  int check_every = 20;
  double check_tolerance = 0.2;
  // Told of hosts that are left out or disagree, and of workers that died. May be null.
  std::function<void(const std::string&)> notify;
};

// Measures on the workers of a cluster: every worker has a device to itself and measures one
// candidate after the other with the backend that its own configuration names. A worker that dies
// or hangs is replaced and its candidates go to another one, on another host where there is one;
// every candidate gets exactly one result. Not thread-safe.
class FleetBackend : public MeasurementBackend {
 public:
  // Starts the workers and waits until the first one says what it is. Unavailable if none does, or
  // if none of them works.
  static absl::StatusOr<std::unique_ptr<FleetBackend>> Create(
      std::unique_ptr<FleetTransport> transport, const FleetOptions& options);
  ~FleetBackend() override;

  // `name` is "fleet", everything else is that of the workers.
  const Capabilities& capabilities() const override;

  // Failures are the workers', and kCrash or kTimeout of a candidate over which `attempts` workers
  // died or hung.
  absl::StatusOr<std::vector<Measurement>> Measure(absl::Span<const Candidate> candidates) override;
  // A candidate that is looked at twice is told when both times are there.
  absl::StatusOr<std::vector<Measurement>> MeasureEach(absl::Span<const Candidate> candidates,
                                                       ResultSink sink) override;

 private:
  class Scheduler;
  explicit FleetBackend(std::unique_ptr<Scheduler> scheduler);
  std::unique_ptr<Scheduler> scheduler_;
};

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_FLEET_BACKEND_H_
