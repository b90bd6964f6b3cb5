#include "hardware/replay_backend.h"

#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"

namespace autotune {
namespace {

bool HoldTheSame(const RecordedConfig& a, const RecordedConfig& b) {
  return a.config == b.config && a.seconds == b.seconds && a.failures.size() == b.failures.size();
}

bool HoldTheSame(const RecordedKernel& a, const RecordedKernel& b) {
  return a.kernel().fingerprint == b.kernel().fingerprint &&
         std::equal(
             a.configs().begin(), a.configs().end(), b.configs().begin(), b.configs().end(),
             [](const RecordedConfig& x, const RecordedConfig& y) { return HoldTheSame(x, y); });
}

// Whether two recordings are one that was given twice: its runs are not to count as repeats.
bool HoldTheSame(const Recording& a, const Recording& b) {
  return a.origin() == b.origin() &&
         std::equal(
             a.kernels().begin(), a.kernels().end(), b.kernels().begin(), b.kernels().end(),
             [](const RecordedKernel& x, const RecordedKernel& y) { return HoldTheSame(x, y); });
}

}  // namespace

ReplayBackend::ReplayBackend(Recording recording) : recording_(std::move(recording)) {
  const RecordingOrigin& origin = recording_.origin();
  capabilities_.name = "replay";
  capabilities_.device = origin.device;
  capabilities_.versions = origin.versions;
  capabilities_.time_source = origin.source;
}

absl::StatusOr<std::unique_ptr<ReplayBackend>> ReplayBackend::Create(
    std::vector<Recording> recordings) {
  if (recordings.empty()) return absl::InvalidArgumentError("replay needs a recording");
  std::vector<Recording> distinct;
  for (Recording& recording : recordings) {
    const bool known = std::any_of(distinct.begin(), distinct.end(), [&](const Recording& other) {
      return HoldTheSame(recording, other);
    });
    if (!known) distinct.push_back(std::move(recording));
  }
  Recording all = std::move(distinct[0]);
  for (size_t i = 1; i < distinct.size(); ++i) {
    if (absl::Status status = all.Merge(distinct[i]); !status.ok()) return status;
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
