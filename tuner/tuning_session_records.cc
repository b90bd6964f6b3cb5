// What a session takes from records and leaves in them: results of other runs, an interrupted run's
// history, and candidates that were never measured.

#include <algorithm>
#include <utility>

#include "tuner/tuning_session.h"

namespace autotune {

absl::Status TuningSession::TakeReusedResults() {
  std::vector<CandidateOutcome> outcomes;
  for (size_t i = 0; i < kernels_.size(); ++i) {
    absl::StatusOr<std::vector<ReusedResult>> reusable = log_.Reusable(task_.kernels[i]);
    if (!reusable.ok()) return reusable.status();
    std::vector<Observation> observations;
    for (ReusedResult& result : *reusable) {
      CandidateOutcome outcome = {.sequence = result.sequence, .kernel = i};
      outcome.config = result.config;
      outcome.fate = Fate::kReused;
      outcome.measurement = result.measurement;
      outcome.wall_seconds = WallSeconds();
      if (kernels_[i].compiler_default() == result.config) outcome.role = CandidateRole::kDefault;
      outcomes.push_back(std::move(outcome));
      kernels_[i].CountReused();
      observations.push_back({std::move(result.config), std::move(result.measurement)});
    }
    kernels_[i].AddResults(observations);
  }
  absl::Status status = log_.Append(std::move(outcomes), task_.kernels);
  if (status.ok()) Refit();
  return status;
}

absl::Status TuningSession::TakeLeftBehind(const std::vector<Pending>& next) {
  std::vector<CandidateKey> keys;
  keys.reserve(next.size());
  for (const Pending& pending : next) {
    keys.emplace_back(task_.kernels[pending.kernel].fingerprint, pending.candidate.config.Key());
  }
  std::vector<CandidateOutcome> outcomes;
  for (CandidateRecord& record : log_.TakeLeftBehind(keys)) {
    budget_.CountSpent(1);
    const auto kernel =
        std::find_if(task_.kernels.begin(), task_.kernels.end(),
                     [&](const Kernel& k) { return k.fingerprint == record.kernel_fingerprint; });
    if (kernel == task_.kernels.end()) continue;
    ChargeDevice(*record.measurement, resumed_seconds_);
    CandidateOutcome outcome = {.sequence = record.sequence};
    outcome.kernel = static_cast<size_t>(kernel - task_.kernels.begin());
    outcome.config = std::move(record.config);
    outcome.fate = Fate::kMeasured;
    outcome.predictions = std::move(record.predictions);
    outcome.measurement = std::move(record.measurement);
    outcome.wall_seconds = WallSeconds();
    outcome.device_seconds = budget_.seconds_spent();
    outcome.measurements = budget_.spent();
    outcomes.push_back(std::move(outcome));
  }
  if (outcomes.empty()) return absl::OkStatus();
  TellKernels(outcomes);
  return log_.Append(std::move(outcomes), task_.kernels);
}

absl::Status TuningSession::RecordWaiting() {
  // What a report can show of a kernel; the rest of a large pool says nothing more.
  constexpr size_t kShown = 100;
  std::vector<CandidateOutcome> outcomes;
  for (size_t i = 0; i < kernels_.size(); ++i) {
    if (kernels_[i].search() == nullptr) continue;
    std::vector<RankedCandidate> waiting = kernels_[i].search()->Waiting();
    if (waiting.size() > kShown) waiting.erase(waiting.begin() + kShown, waiting.end());
    for (RankedCandidate& candidate : waiting) {
      if (!candidate.prediction) continue;
      CandidateOutcome outcome = {.sequence = -1, .kernel = i};
      outcome.config = std::move(candidate.config);
      outcome.predictions = {*candidate.prediction};
      outcome.wall_seconds = WallSeconds();
      outcome.device_seconds = budget_.seconds_spent();
      outcome.measurements = budget_.spent();
      outcomes.push_back(std::move(outcome));
    }
  }
  return log_.Append(std::move(outcomes), task_.kernels);
}

}  // namespace autotune
