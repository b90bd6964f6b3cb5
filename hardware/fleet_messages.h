#ifndef AUTOTUNE_HARDWARE_FLEET_MESSAGES_H_
#define AUTOTUNE_HARDWARE_FLEET_MESSAGES_H_

#include <cstddef>
#include <map>
#include <memory>
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

// The kernels of earlier requests: each request holds its kernels again, and reading and verifying
// a large one takes longer than everything else in a request. Keeps up to kMost. Not thread-safe.
class FleetKernelCache {
 public:
  static constexpr size_t kMost = 64;

  // The kernel that KernelToProto turned into these bytes; InvalidArgument for any others.
  absl::StatusOr<std::shared_ptr<const Kernel>> Get(const std::string& bytes);

 private:
  std::map<std::string, std::shared_ptr<const Kernel>> kernels_;  // by their bytes
};

// InvalidArgument for what FleetRequestBytes cannot have written. Kernels are verified, once where
// there is a cache.
struct FleetRequestContent {
  std::vector<std::shared_ptr<const Kernel>> kernels;
  std::vector<Candidate> candidates;  // point to what `kernels` holds
};
absl::StatusOr<FleetRequestContent> ParseFleetRequest(absl::string_view bytes,
                                                      FleetKernelCache* cache = nullptr);

std::string FleetReplyBytes(const FleetAnswer& answer, absl::Span<const Candidate> candidates);
std::string FleetErrorBytes(const std::string& error);

// Internal with the worker's words if its backend broke; DataLoss for bytes that are no reply to
// that many candidates.
absl::StatusOr<FleetAnswer> ParseFleetReply(absl::string_view bytes, size_t candidates);

// What matters of an error's text from Ray: its first line (a stack of Ray's own follows), and of
// an exception that a worker threw, its words alone.
std::string WordsOfRay(const std::string& text);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_FLEET_MESSAGES_H_
