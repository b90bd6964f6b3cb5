#ifndef AUTOTUNE_HARDWARE_REPLAY_BACKEND_H_
#define AUTOTUNE_HARDWARE_REPLAY_BACKEND_H_

#include <memory>
#include <vector>

#include "absl/status/statusor.h"
#include "hardware/measurement_backend.h"
#include "hardware/recording.h"

namespace autotune {

// Answers measurements from recordings: every recorded sample of a configuration, in recorded
// order; kKernelNotRecorded, kConfigNotRecorded or kRecordedFailure where there is none. Immutable
// after creation: Measure may be called from several threads.
//
// Measurement::compile_seconds is what was recorded, else absent: the tuner then charges its
// simulated clock with `--compile-seconds`.
class ReplayBackend : public MeasurementBackend {
 public:
  // Merges the recordings; one that is given twice counts once. InvalidArgument without any;
  // FailedPrecondition if they are of different devices, or mix hardware times with estimates.
  static absl::StatusOr<std::unique_ptr<ReplayBackend>> Create(std::vector<Recording> recordings);

  const Capabilities& capabilities() const override { return capabilities_; }

  // Never fails as a whole.
  absl::StatusOr<std::vector<Measurement>> Measure(absl::Span<const Candidate> candidates) override;

  // All that can be replayed.
  const Recording& recording() const { return recording_; }

 private:
  explicit ReplayBackend(Recording recording);

  Measurement MeasureOne(const Candidate& candidate) const;

  Recording recording_;
  Capabilities capabilities_;
};

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_REPLAY_BACKEND_H_
