#include "tuner/fusion_study.h"

#include <algorithm>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "hardware/device_spec.h"
#include "search/builtin.h"

namespace autotune {
namespace {

// The fastest of the first `budget` compilations of a run.
const FusionEntry& FastestOf(const FusionTuning& tuning, int64_t budget) {
  const std::vector<FusionEntry>& entries = tuning.recording.entries();
  const FusionEntry* fastest = &entries.front();
  const auto count = std::min(entries.size(), static_cast<size_t>(budget));
  for (size_t i = 0; i < count; ++i) {
    if (entries[i].failure.has_value()) continue;
    if (entries[i].total.schedule < fastest->total.schedule) fastest = &entries[i];
  }
  return *fastest;
}

// Of the runs of all seeds, what the median one reached with a budget.
FusionReached Reached(const std::vector<FusionTuning>& runs, int64_t budget, double best_gain) {
  std::vector<std::pair<double, const FusionTuning*>> order;
  for (const FusionTuning& run : runs) {
    const double seconds = FastestOf(run, budget).total.schedule;
    order.emplace_back(seconds / run.base.total.schedule - 1, &run);
  }
  std::stable_sort(order.begin(), order.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  // The slower one of two in the middle.
  const FusionTuning& median = *order[order.size() / 2].second;
  const FusionComparison comparison =
      CompareFusions(FastestOf(median, budget).total, median.base.total);
  FusionReached reached;
  reached.budget = budget;
  reached.change = comparison.change;
  reached.agree = comparison.agree;
  reached.worst = order.back().first;
  reached.best = order.front().first;
  reached.share = best_gain > 0 ? std::max(0.0, -comparison.change.schedule / best_gain) : 1;
  reached.compilations = std::min(median.compilations, budget);
  return reached;
}

absl::StatusOr<FusionTuning> RunOnce(const FusionGraph& graph, const FusionRecording& recording,
                                     const DeviceSpec& device, const FusionMethod& method,
                                     const FusionStudyOptions& options, uint64_t seed) {
  FusionTunerOptions tuner;
  tuner.budget = method.strategy.empty() ? 1 : options.budgets.back();
  if (!method.strategy.empty()) tuner.strategy = method.strategy;
  tuner.guide = method.guide;
  if (method.learned) tuner.prior = options.prior;
  tuner.seed = seed;
  tuner.confirm = false;
  for (const FusionEntry& entry : recording.entries()) tuner.only.push_back(entry.decision);
  return TuneFusion(graph, recording.origin().program, device, ReplayFusions(&recording), tuner);
}

absl::StatusOr<FusionStudyRow> RunMethod(const FusionGraph& graph, const FusionRecording& recording,
                                         const DeviceSpec& device, const FusionMethod& method,
                                         const FusionStudyOptions& options, double best_gain) {
  std::vector<FusionTuning> runs;
  for (int64_t i = 0; i < options.seeds; ++i) {
    absl::StatusOr<FusionTuning> run = RunOnce(graph, recording, device, method, options,
                                               options.first_seed + static_cast<uint64_t>(i));
    if (!run.ok()) return run.status();
    runs.push_back(*std::move(run));
  }
  FusionStudyRow row{method.name, {}};
  for (int64_t budget : options.budgets) row.reached.push_back(Reached(runs, budget, best_gain));
  return row;
}

}  // namespace

absl::StatusOr<FusionMethod> FusionMethod::Parse(const std::string& name) {
  if (name == "default") return FusionMethod{name, "", FusionGuide::kNone, false};
  const std::pair<std::string, std::string> parts = absl::StrSplit(name, absl::MaxSplits('+', 1));
  FusionMethod method{name, parts.first, FusionGuide::kNone, false};
  if (parts.second == "analytical") {
    method.guide = FusionGuide::kAnalytical;
  } else if (parts.second == "refit" || parts.second == "learned") {
    method.guide = FusionGuide::kLearned;
    method.learned = parts.second == "learned";
  } else if (!parts.second.empty()) {
    return absl::InvalidArgumentError(absl::StrCat(
        "the method ", name, " names no model of fusion; those are analytical, refit and learned"));
  }
  const StrategyInfo* strategy = FindStrategy(parts.first);
  if (strategy == nullptr) {
    return absl::InvalidArgumentError(
        absl::StrCat("unknown strategy \"", parts.first, "\" in the method ", name));
  }
  if (strategy->needs_scorer && method.guide == FusionGuide::kNone) {
    return absl::InvalidArgumentError(
        absl::StrCat("the method ", name, " needs a model, for instance ", name, "+refit"));
  }
  return method;
}

absl::StatusOr<std::vector<FusionMethod>> ParseFusionMethods(const std::string& names) {
  std::vector<FusionMethod> methods;
  for (const std::string& name : std::vector<std::string>(absl::StrSplit(names, ','))) {
    absl::StatusOr<FusionMethod> method = FusionMethod::Parse(name);
    if (!method.ok()) return method.status();
    methods.push_back(*std::move(method));
  }
  return methods;
}

absl::StatusOr<FusionStudy> RunFusionStudy(const FusionGraph& graph,
                                           const FusionRecording& recording,
                                           const FusionStudyOptions& options) {
  if (recording.origin().fingerprint != FusionFingerprint(graph)) {
    return absl::FailedPreconditionError(
        absl::StrCat("the recording is of ", recording.origin().program, ", another program"));
  }
  const FusionEntry* base = recording.Find({});
  if (base == nullptr || base->failure.has_value()) {
    return absl::FailedPreconditionError("the recording has no time of the default");
  }
  absl::StatusOr<DeviceSpec> device = FindDeviceSpec(recording.origin().device);
  if (!device.ok()) return device.status();
  FusionStudy study{
      recording.origin(), static_cast<int64_t>(recording.entries().size()), 0, 0, {}, {}};
  std::set<std::string> groupings;
  const FusionEntry* fastest = base;
  for (const FusionEntry& entry : recording.entries()) {
    if (entry.failure.has_value()) continue;
    groupings.insert(entry.key);
    if (entry.total.schedule < fastest->total.schedule) fastest = &entry;
  }
  study.groupings = static_cast<int64_t>(groupings.size());
  const FusionOutline outline = OutlineOf(graph, recording.GroupingOf(*base));
  study.fused_edges = std::count(outline.fused.begin(), outline.fused.end(), true);
  study.best = CompareFusions(fastest->total, base->total).change;
  for (const FusionMethod& method : options.methods) {
    if (method.learned && options.prior == nullptr) {
      return absl::FailedPreconditionError(
          absl::StrCat("there is no learned model for the method ", method.name));
    }
    absl::StatusOr<FusionStudyRow> row =
        RunMethod(graph, recording, *device, method, options, -study.best.schedule);
    if (!row.ok()) return row.status();
    study.rows.push_back(*std::move(row));
  }
  return study;
}

}  // namespace autotune
