// What a session takes from records and leaves in them: results of other runs, an interrupted run's
// history, and candidates that were never measured.

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
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
  if (log_.loosely_reused() > 0) {
    Warn(absl::StrCat(log_.loosely_reused(),
                      " results of the store were measured with another backend, versions or flags "
                      "(--match loose): times beside them need not be comparable"));
  }
  absl::Status status = log_.Append(std::move(outcomes), task_.kernels);
  if (status.ok()) status = LoadOtherKernels();
  if (status.ok()) Refit();
  return status;
}

absl::Status TuningSession::LoadOtherKernels() {
  // The analytical model learns nothing.
  if (!Learns() || model_ == parts_.baseline.get()) return absl::OkStatus();
  std::set<std::string> kinds;
  for (const KernelState& kernel : kernels_) {
    if (kernel.scorer() != nullptr) kinds.insert(kernel.kernel().kind);
  }
  absl::StatusOr<std::vector<RunLog::OtherKernel>> others = log_.OtherKernels(kinds, task_.kernels);
  if (!others.ok()) return others.status();
  others_ = *std::move(others);
  if (!others_.empty() && parts_.progress != nullptr) {
    parts_.progress->OnMessage(absl::StrCat("the ", std::string(model_->name()),
                                            " model also learns from ", others_.size(),
                                            " similar kernels of the store"));
  }
  return absl::OkStatus();
}

void TuningSession::AddOtherSamples(std::vector<TrainingSample>& samples) const {
  const auto kernels = static_cast<int64_t>(others_.size());
  if (kernels == 0) return;
  const int64_t each = std::max<int64_t>(1, options_.other_samples / kernels);
  for (const RunLog::OtherKernel& other : others_) {
    const auto known = static_cast<int64_t>(other.results.size());
    const int64_t taken = std::min(each, known);
    for (int64_t i = 0; i < taken; ++i) {
      const StoredResult& result = other.results[static_cast<size_t>(i * known / taken)];
      if (!result.measurement.ok() || result.config.opaque() != nullptr) continue;
      samples.push_back({&other.kernel, result.config, result.measurement.MedianSeconds()});
    }
  }
}

void TuningSession::Refit() {
  if (!Learns()) return;
  std::vector<TrainingSample> samples;
  for (const KernelState& kernel : kernels_) {
    if (kernel.space().opaque) continue;
    for (const Observation& result : kernel.results()) {
      if (!result.measurement.ok()) continue;
      samples.push_back({&kernel.kernel(), result.config, result.measurement.MedianSeconds()});
    }
  }
  AddOtherSamples(samples);
  if (samples.empty()) return;
  const absl::Status status = parts_.model->Fit(samples);
  refit_ = status.ok();
  if (status.ok()) {
    for (KernelState& kernel : kernels_) kernel.ModelChanged();
  } else if (!absl::IsUnimplemented(status)) {
    Warn(absl::StrCat("the ", std::string(model_->name()),
                      " model is not refitted: ", std::string(status.message())));
  }
}

absl::Status TuningSession::TakeLeftBehind(const std::vector<Pending>& next) {
  std::vector<CandidateKey> keys;
  keys.reserve(next.size());
  for (const Pending& pending : next) {
    keys.emplace_back(task_.kernels[pending.kernel].fingerprint, pending.candidate.config.Key());
  }
  std::vector<CandidateOutcome> outcomes;
  for (const CandidateRecord& record : log_.TakeLeftBehind(keys)) {
    budget_.CountSpent(1);
    const auto kernel =
        std::find_if(task_.kernels.begin(), task_.kernels.end(),
                     [&](const Kernel& k) { return k.fingerprint == record.kernel_fingerprint; });
    if (kernel == task_.kernels.end()) continue;
    ChargeDevice(*record.measurement, resumed_seconds_);
    CandidateOutcome outcome =
        ToOutcome(record, static_cast<size_t>(kernel - task_.kernels.begin()));
    outcome.wall_seconds = WallSeconds();
    outcome.device_seconds = budget_.seconds_spent();
    outcome.measurements = budget_.spent();
    outcomes.push_back(std::move(outcome));
  }
  if (outcomes.empty()) return absl::OkStatus();
  TellKernels(outcomes);
  ReportProgress();
  return log_.Append(std::move(outcomes), task_.kernels);
}

absl::Status TuningSession::RecordWaiting() {
  // What a report can show of a kernel; the rest of a large pool says nothing more.
  constexpr size_t kShown = 100;
  std::vector<CandidateOutcome> outcomes;
  for (size_t i = 0; i < kernels_.size(); ++i) {
    if (kernels_[i].search() == nullptr) continue;
    for (RankedCandidate& candidate : kernels_[i].search()->Waiting(kShown)) {
      if (candidate.predictions.empty()) continue;
      CandidateOutcome outcome = {.sequence = -1, .kernel = i};
      outcome.config = std::move(candidate.config);
      outcome.predictions = std::move(candidate.predictions);
      outcome.wall_seconds = WallSeconds();
      outcome.device_seconds = budget_.seconds_spent();
      outcome.measurements = budget_.spent();
      outcomes.push_back(std::move(outcome));
    }
  }
  return log_.Append(std::move(outcomes), task_.kernels);
}

}  // namespace autotune
