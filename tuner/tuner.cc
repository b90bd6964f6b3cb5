#include "tuner/tuner.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "search/builtin.h"
#include "tuner/budget.h"
#include "tuner/report_builder.h"
#include "tuner/tuning_session.h"

namespace autotune {
namespace {

absl::Status CheckStrategy(const std::string& strategy, bool has_model) {
  const StrategyInfo* info = FindStrategy(strategy);
  if (info != nullptr && (!info->needs_scorer || has_model)) return absl::OkStatus();
  if (info != nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("the strategy ", strategy, " needs a model, but there is none"));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "there is no strategy \"", strategy, "\"; there are ",
      absl::StrJoin(BuiltinStrategies(), ", ", [](std::string* out, const StrategyInfo& known) {
        absl::StrAppend(out, known.name);
      })));
}

absl::Status CheckOptions(const TunerOptions& options) {
  if (options.top_k < 1) return absl::InvalidArgumentError("top-k must be at least 1");
  if (!(options.exploration >= 0 && options.exploration <= 1)) {
    return absl::InvalidArgumentError("the share of exploration must be between 0 and 1");
  }
  if (options.jobs < 1) return absl::InvalidArgumentError("jobs must be at least 1");
  if (options.clock.repeats < 1) return absl::InvalidArgumentError("repeats must be at least 1");
  if (!(options.clock.compile_seconds >= 0 && std::isfinite(options.clock.compile_seconds))) {
    return absl::InvalidArgumentError("compile-seconds must be a number of at least 0");
  }
  return Budget::Create(options.budget, options.budget_seconds).status();
}

bool HasTime(const KernelReport& kernel) {
  return SecondsOf(kernel.best) || SecondsOf(kernel.compiler_default);
}

}  // namespace

Tuner::Tuner(TunerParts parts, TunerOptions options)
    : parts_(std::move(parts)), options_(std::move(options)) {}

absl::StatusOr<std::unique_ptr<Tuner>> Tuner::Create(TunerParts parts, TunerOptions options) {
  if (parts.backend == nullptr || !parts.space_of) {
    return absl::InvalidArgumentError("a tuner needs a backend and spaces");
  }
  if (absl::Status status = CheckOptions(options); !status.ok()) return status;
  if (absl::Status status = CheckStrategy(options.strategy, parts.model != nullptr); !status.ok()) {
    return status;
  }
  return std::unique_ptr<Tuner>(new Tuner(std::move(parts), std::move(options)));
}

TuningReport Tuner::Tune(const TuningTask& task) {
  TuningSession session(parts_, options_, task);
  const absl::Status status = session.Run();
  TuningReport report = BuildReport(session, parts_, options_, task);
  if (!status.ok()) {
    report.outcome = RunOutcome::kFailed;
    report.error = std::string(status.message());
  } else if (session.interrupted()) {
    report.outcome = RunOutcome::kInterrupted;
  } else if (std::none_of(report.kernels.begin(), report.kernels.end(), HasTime)) {
    report.outcome = RunOutcome::kNothingMeasured;
  }
  return report;
}

}  // namespace autotune
