#include "tuner/tuning_report.h"

namespace autotune {

absl::string_view CandidateRoleName(CandidateRole role) {
  switch (role) {
    case CandidateRole::kDefault:
      return "default";
    case CandidateRole::kSearch:
      return "search";
    case CandidateRole::kConfirmation:
      return "confirmation";
  }
  return "unknown";
}

std::optional<CandidateRole> CandidateRoleFromName(absl::string_view name) {
  for (CandidateRole role :
       {CandidateRole::kDefault, CandidateRole::kSearch, CandidateRole::kConfirmation}) {
    if (name == CandidateRoleName(role)) return role;
  }
  return std::nullopt;
}

absl::string_view RunOutcomeName(RunOutcome outcome) {
  switch (outcome) {
    case RunOutcome::kDone:
      return "done";
    case RunOutcome::kNothingMeasured:
      return "nothing measured";
    case RunOutcome::kInterrupted:
      return "interrupted";
    case RunOutcome::kFailed:
      return "failed";
  }
  return "unknown";
}

std::optional<RunOutcome> RunOutcomeFromName(absl::string_view name) {
  for (RunOutcome outcome : {RunOutcome::kDone, RunOutcome::kNothingMeasured,
                             RunOutcome::kInterrupted, RunOutcome::kFailed}) {
    if (name == RunOutcomeName(outcome)) return outcome;
  }
  return std::nullopt;
}

std::optional<double> KernelReport::Speedup() const {
  if (!compiler_default || !best || !compiler_default->measurement.ok() ||
      !best->measurement.ok()) {
    return std::nullopt;
  }
  return compiler_default->measurement.MedianSeconds() / best->measurement.MedianSeconds();
}

std::optional<double> ProgramReport::Speedup() const {
  if (!default_seconds || !best_seconds || !(*best_seconds > 0)) return std::nullopt;
  return *default_seconds / *best_seconds;
}

const ProgramTotal* TuningReport::Total(absl::string_view name) const {
  for (const ProgramTotal& total : totals) {
    if (name == total.name) return &total;
  }
  return nullptr;
}

const RankingModel* TuningReport::Model(absl::string_view name) const {
  for (const RankingModel& ranking : models) {
    if (name == ranking.name) return &ranking;
  }
  return nullptr;
}

std::optional<double> TuningReport::Speedup() const {
  const ProgramTotal* before = Total("default");
  const ProgramTotal* after = Total("best found");
  if (before == nullptr || after == nullptr || !(after->seconds > 0)) return std::nullopt;
  return before->seconds / after->seconds;
}

std::optional<double> SecondsOf(const std::optional<ConfigResult>& result) {
  if (!result || !result->measurement.ok()) return std::nullopt;
  return result->measurement.MedianSeconds();
}

void FailureCounter::Add(const Measurement& measurement) {
  if (measurement.ok()) return;
  const Failure& failure = measurement.failure();
  const auto [it, added] = counts_.try_emplace(failure.kind, FailureCount{failure.kind});
  if (added) it->second.first_message = failure.message;
  ++it->second.count;
}

std::vector<FailureCount> FailureCounter::Counts() const {
  std::vector<FailureCount> list;
  for (const auto& [kind, count] : counts_) list.push_back(count);
  return list;
}

}  // namespace autotune
