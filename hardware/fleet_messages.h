#ifndef AUTOTUNE_HARDWARE_FLEET_MESSAGES_H_
#define AUTOTUNE_HARDWARE_FLEET_MESSAGES_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hardware/measurement_backend.h"

namespace autotune {

// What a worker said of itself, and its results.
struct FleetAnswer {
  std::string host;
  Capabilities capabilities;  // of the backend behind the worker
  std::vector<Measurement> results;
};

// Requests and replies as bytes (proto/fleet.proto). Each kernel is sent once.
std::string FleetRequestBytes(absl::Span<const Candidate> candidates);

// InvalidArgument for what FleetRequestBytes cannot have written. Kernels are verified.
struct FleetRequestContent {
  std::vector<Kernel> kernels;
  std::vector<Candidate> candidates;  // point into `kernels`
};
absl::StatusOr<FleetRequestContent> ParseFleetRequest(absl::string_view bytes);

std::string FleetReplyBytes(const FleetAnswer& answer, absl::Span<const Candidate> candidates);
std::string FleetErrorBytes(const std::string& error);

// Internal with the worker's words if its backend broke; DataLoss for bytes that are no reply to
// that many candidates.
absl::StatusOr<FleetAnswer> ParseFleetReply(absl::string_view bytes, size_t candidates);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_FLEET_MESSAGES_H_
