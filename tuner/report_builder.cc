#include "tuner/report_builder.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

#include "absl/container/btree_map.h"
#include "absl/strings/str_cat.h"
#include "tuner/metrics.h"
#include "tuner/model_scorer.h"
#include "tuner/program_sum.h"
#include "tuner/speedup_interval.h"

namespace autotune {
namespace {

// Spaces are scored whole up to this size to find a model's choice; of larger ones the first so
// many configurations are.
constexpr int64_t kScoredConfigs = int64_t{1} << 17;

std::optional<ConfigResult> ToResult(const Observation* observation) {
  if (observation == nullptr) return std::nullopt;
  return ConfigResult{observation->config, observation->measurement};
}

std::optional<ConfigResult> ToResult(const RecordedConfig* recorded, TimeSource source) {
  if (recorded == nullptr) return std::nullopt;
  return ConfigResult{recorded->config, recorded->ToMeasurement(source)};
}

// What is known of the time of a configuration: from this run, else from the recording.
std::optional<double> KnownSeconds(const KernelState& kernel, const RecordedKernel* recorded,
                                   const Config& config) {
  if (const Observation* result = kernel.Find(config)) {
    if (result->measurement.ok()) return result->measurement.MedianSeconds();
  }
  const RecordedConfig* known = recorded != nullptr ? recorded->Find(config.Key()) : nullptr;
  return known != nullptr ? known->MedianSeconds() : std::nullopt;
}

std::optional<ModelChoice> ChoiceOf(const CostModel& model, const KernelState& kernel,
                                    const RecordedKernel* recorded) {
  if (!model.fitted() || kernel.space().opaque || kernel.space().space == nullptr) {
    return std::nullopt;
  }
  const std::vector<Config> configs = kernel.space().space->Enumerate(kScoredConfigs);
  const std::vector<double> scores = ModelScorer(model, kernel.kernel()).Score(configs);
  const auto best = std::min_element(scores.begin(), scores.end());
  if (best == scores.end() || !std::isfinite(*best)) return std::nullopt;
  const Config& config = configs[static_cast<size_t>(best - scores.begin())];
  return ModelChoice{std::string(model.name()), config, *best,
                     KnownSeconds(kernel, recorded, config)};
}

std::vector<FailureCount> CountFailures(const KernelState& kernel) {
  FailureCounter counter;
  for (const Observation& result : kernel.results()) counter.Add(result.measurement);
  return counter.Counts();
}

// Rank correlation of the predictions that candidates were measured under with their times.
std::optional<double> ModelTau(const KernelState& kernel, size_t index, const RunLog& log) {
  std::vector<double> scores;
  std::vector<double> seconds;
  for (const CandidateOutcome& outcome : log.outcomes()) {
    if (outcome.kernel != index || outcome.predictions.empty()) continue;
    if (!outcome.measurement || !outcome.measurement->ok()) continue;
    scores.push_back(outcome.predictions.front().score);
    seconds.push_back(outcome.measurement->MedianSeconds());
  }
  if (kernel.scorer() == nullptr || scores.size() < 3) return std::nullopt;
  return KendallTau(scores, seconds);
}

KernelReport ReportKernel(const KernelState& state, size_t index, const TuningSession& session,
                          const TunerParts& parts) {
  const Kernel& kernel = state.kernel();
  KernelReport report;
  report.name = kernel.name;
  report.kind = kernel.kind;
  report.count = kernel.count;
  report.fingerprint = kernel.fingerprint;
  report.opaque = state.space().opaque;
  report.space = state.space().description;
  report.not_tuned = state.space().not_tuned;
  if (state.space().space != nullptr) report.space_size = state.space().space->Size();

  const TimeSource source = parts.backend->capabilities().time_source;
  const RecordedKernel* recorded =
      parts.known != nullptr ? parts.known->Find(kernel.fingerprint) : nullptr;
  report.compiler_default = ToResult(state.Default());
  // What the recording says of the default needs no measurement.
  if (!report.compiler_default && recorded != nullptr && state.compiler_default()) {
    report.compiler_default = ToResult(recorded->Find(state.compiler_default()->Key()), source);
  }
  report.best = ToResult(state.Best());
  if (recorded != nullptr) report.best_known = ToResult(recorded->Best(), source);
  std::vector<const CostModel*> models = {parts.baseline.get()};
  if (session.model() != parts.baseline.get()) models.push_back(session.model());
  for (const CostModel* model : models) {
    if (model == nullptr) continue;
    if (std::optional<ModelChoice> choice = ChoiceOf(*model, state, recorded)) {
      report.model_choices.push_back(*std::move(choice));
    }
  }
  report.measurements = state.measurements();
  report.reused = state.reused();
  report.failures = CountFailures(state);
  report.model_tau = ModelTau(state, index, session.log());
  report.speedup_interval = KernelSpeedupInterval(report);
  return report;
}

// `own` is the time that the total's own choice gives a kernel.
template <typename Own>
ProgramTotal Sum(const std::vector<KernelReport>& kernels, std::string name, Own own) {
  ProgramSum sum;
  for (const KernelReport& kernel : kernels) {
    sum.Add(kernel.count, own(kernel), SecondsOf(kernel.compiler_default), SecondsOf(kernel.best));
  }
  return {.name = std::move(name), .seconds = sum.seconds, .kernels = sum.kernels};
}

std::optional<double> ChoiceSeconds(const KernelReport& kernel, const std::string& model) {
  for (const ModelChoice& choice : kernel.model_choices) {
    if (choice.model == model) return choice.seconds;
  }
  return std::nullopt;
}

void AddTotals(TuningReport& report) {
  std::vector<ProgramTotal> totals;
  totals.push_back(Sum(report.kernels, "default",
                       [](const KernelReport& k) { return SecondsOf(k.compiler_default); }));
  totals.push_back(
      Sum(report.kernels, "best found", [](const KernelReport& k) { return SecondsOf(k.best); }));
  std::vector<std::string> models;
  for (const KernelReport& kernel : report.kernels) {
    for (const ModelChoice& choice : kernel.model_choices) {
      if (std::find(models.begin(), models.end(), choice.model) == models.end()) {
        models.push_back(choice.model);
      }
    }
  }
  for (const std::string& model : models) {
    totals.push_back(
        Sum(report.kernels, model, [&](const KernelReport& k) { return ChoiceSeconds(k, model); }));
  }
  totals.push_back(Sum(report.kernels, "best known",
                       [](const KernelReport& k) { return SecondsOf(k.best_known); }));
  std::erase_if(totals, [](const ProgramTotal& total) { return total.kernels == 0; });
  report.totals = std::move(totals);
}

std::vector<RankingModel> RankingModels(const TuningSession& session, const TunerParts& parts) {
  std::vector<RankingModel> models;
  for (const CostModel* model :
       std::initializer_list<const CostModel*>{parts.baseline.get(), session.model()}) {
    if (model == nullptr) continue;
    RankingModel one = {std::string(model->name()), model->unit() == PredictionUnit::kLogSeconds};
    if (models.empty() || models.front().name != one.name) models.push_back(std::move(one));
  }
  return models;
}

}  // namespace

TuningReport BuildReport(const TuningSession& session, const TunerParts& parts,
                         const TunerOptions& options, const TuningTask& task) {
  TuningReport report;
  const Capabilities& capabilities = parts.backend->capabilities();
  report.run_id = task.run.id;
  report.program = task.run.program;
  report.autotune_version = AUTOTUNE_VERSION;
  report.backend = capabilities.name;
  report.device = capabilities.device;
  report.versions = capabilities.versions;
  report.time_source = capabilities.time_source;
  report.strategy = options.strategy;
  report.model = session.model() != nullptr ? std::string(session.model()->name()) : "none";
  report.seed = options.seed;
  report.budget = options.budget;
  report.budget_seconds = options.budget_seconds;
  report.started_unix_micros = task.run.started_unix_micros;
  report.warnings = session.warnings();
  if (parts.store != nullptr) report.store = parts.store->url();
  report.store_hits = session.log().hits();
  report.store_misses = session.log().misses();
  for (size_t i = 0; i < session.kernels().size(); ++i) {
    report.kernels.push_back(ReportKernel(session.kernels()[i], i, session, parts));
  }
  AddTotals(report);
  report.models = RankingModels(session, parts);
  report.speedup_interval = ProgramSpeedupInterval(report.kernels);
  report.candidates = session.log().outcomes();
  report.progress = session.progress();
  report.measurements = session.budget().spent();
  report.time = session.time();
  report.time.store = session.log().store_seconds();
  report.wall_seconds = session.WallSeconds();
  return report;
}

}  // namespace autotune
