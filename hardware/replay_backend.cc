#include "hardware/replay_backend.h"

#include <utility>

#include "absl/strings/str_cat.h"

namespace autotune {

ReplayBackend::ReplayBackend(Recording recording) : recording_(std::move(recording)) {
  const RecordingOrigin& origin = recording_.origin();
  capabilities_.name = "replay";
  capabilities_.device = origin.device;
  capabilities_.versions = origin.versions;
  capabilities_.time_source = origin.source;
  capabilities_.compiles = false;
}

absl::StatusOr<std::unique_ptr<ReplayBackend>> ReplayBackend::Create(
    std::vector<Recording> recordings) {
  if (recordings.empty()) return absl::InvalidArgumentError("replay needs a recording");
  Recording all = std::move(recordings[0]);
  for (size_t i = 1; i < recordings.size(); ++i) {
    if (absl::Status status = all.Merge(recordings[i]); !status.ok()) return status;
  }
  return std::unique_ptr<ReplayBackend>(new ReplayBackend(std::move(all)));
}

Measurement ReplayBackend::MeasureOne(const Candidate& candidate) const {
  const RecordedKernel* kernel = recording_.Find(candidate.kernel->fingerprint);
  if (kernel == nullptr) {
    return Measurement::FromFailure(
        FailureKind::kKernelNotRecorded,
        absl::StrCat("the recording holds no kernel equal to ", candidate.kernel->name));
  }
  const RecordedConfig* recorded = kernel->Find(candidate.config.Key());
  if (recorded == nullptr) {
    return Measurement::FromFailure(
        FailureKind::kConfigNotRecorded,
        absl::StrCat("the recording of ", candidate.kernel->name, " holds ",
                     kernel->configs().size(), " configurations, not ", candidate.config.Key()));
  }
  return recorded->ToMeasurement(recording_.origin().source);
}

absl::StatusOr<std::vector<Measurement>> ReplayBackend::Measure(
    absl::Span<const Candidate> candidates) {
  std::vector<Measurement> results;
  results.reserve(candidates.size());
  for (const Candidate& candidate : candidates) results.push_back(MeasureOne(candidate));
  return results;
}

}  // namespace autotune
