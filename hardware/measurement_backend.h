#ifndef AUTOTUNE_HARDWARE_MEASUREMENT_BACKEND_H_
#define AUTOTUNE_HARDWARE_MEASUREMENT_BACKEND_H_

#include <string>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hardware/config.h"
#include "hardware/measurement.h"
#include "hlo/kernel.h"

namespace autotune {

// One configuration of one kernel to be measured. Does not own the kernel.
struct Candidate {
  const Kernel* kernel;
  Config config;
};

// What a backend is and can do. Data only.
struct Capabilities {
  std::string name;      // "replay", "aot", "pjrt", "fleet"
  std::string device;    // "tpu-v3"
  std::string versions;  // compiler and library versions that make results comparable; may be empty
  TimeSource time_source = TimeSource::kHardware;
  bool tiles = true;  // tile bounds mean something to it; not so on a CPU
};

// Told of a result as soon as it is there: the candidate's position in the batch, and the result.
using ResultSink = absl::FunctionRef<void(size_t position, const Measurement& result)>;

// Measures candidates. Implementations say whether Measure may be called from several threads; by
// default it may not.
class MeasurementBackend {
 public:
  virtual ~MeasurementBackend() = default;

  virtual const Capabilities& capabilities() const = 0;

  // One result per candidate, in order. A candidate that fails is a result (Measurement::failure);
  // a non-OK status means that the backend itself broke and nothing of the batch is known.
  virtual absl::StatusOr<std::vector<Measurement>> Measure(
      absl::Span<const Candidate> candidates) = 0;

  // The same, and `sink` is told of each result as soon as it is there, so that it can be kept
  // before the batch is over: once for each candidate, in any order, one call at a time, maybe on
  // another thread, always before MeasureEach returns. Where it returns a non-OK status, what the
  // sink was told stands. By default candidates are measured one after the other; backends that
  // work on several at once override it.
  virtual absl::StatusOr<std::vector<Measurement>> MeasureEach(
      absl::Span<const Candidate> candidates, ResultSink sink);
};

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_MEASUREMENT_BACKEND_H_
