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

std::optional<double> KernelReport::Speedup() const {
  if (!compiler_default || !best || !compiler_default->measurement.ok() ||
      !best->measurement.ok()) {
    return std::nullopt;
  }
  return compiler_default->measurement.MedianSeconds() / best->measurement.MedianSeconds();
}

const ProgramTotal* TuningReport::Total(absl::string_view name) const {
  for (const ProgramTotal& total : totals) {
    if (name == total.name) return &total;
  }
  return nullptr;
}

std::optional<double> TuningReport::Speedup() const {
  const ProgramTotal* before = Total("default");
  const ProgramTotal* after = Total("best found");
  if (before == nullptr || after == nullptr || !(after->seconds > 0)) return std::nullopt;
  return before->seconds / after->seconds;
}

}  // namespace autotune
