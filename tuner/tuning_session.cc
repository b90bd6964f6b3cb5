#include "tuner/tuning_session.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "hardware/sweep_coverage.h"
#include "tuner/models.h"
#include "tuner/program_sum.h"

namespace autotune {
namespace {

double SecondsSince(absl::Time start) { return absl::ToDoubleSeconds(absl::Now() - start); }

MeasurementContext ContextOf(const TunerParts& parts) {
  const Capabilities& capabilities = parts.backend->capabilities();
  MeasurementContext context;
  context.flags = parts.flags;
  context.device = capabilities.device;
  context.backend = capabilities.name;
  context.versions = capabilities.versions;
  context.source = capabilities.time_source;
  return context;
}

std::optional<double> SecondsOf(const Observation* observation) {
  if (observation == nullptr || !observation->measurement.ok()) return std::nullopt;
  return observation->measurement.MedianSeconds();
}

bool Available(const CostModel* model) { return model != nullptr && model->fitted(); }

}  // namespace

TuningSession::TuningSession(TunerParts& parts, const TunerOptions& options, const TuningTask& task)
    : parts_(parts),
      options_(options),
      task_(task),
      start_(absl::Now()),
      log_(parts.store.get(), ContextOf(parts), options.match, task.resume),
      budget_(*Budget::Create(options.budget, options.budget_seconds)) {
  if (task.resume && task.resume->Measured() > 0) {
    resumed_seconds_ = task.resume->device_seconds / static_cast<double>(task.resume->Measured());
  }
  model_ = parts_.model.get();
  if (model_ != nullptr && !model_->fitted() && Available(parts_.baseline.get())) {
    Warn(absl::StrCat("the ", std::string(model_->name()), " model is not fitted: the ",
                      std::string(parts_.baseline->name()), " model guides the search instead"));
    model_ = parts_.baseline.get();
  }
  kernels_.reserve(task_.kernels.size());
}

double TuningSession::WallSeconds() const { return SecondsSince(start_); }

void TuningSession::Warn(std::string warning) {
  if (parts_.progress != nullptr) parts_.progress->OnMessage(absl::StrCat("warning: ", warning));
  warnings_.push_back(std::move(warning));
}

bool TuningSession::Stop() {
  if (parts_.interrupted && parts_.interrupted()) interrupted_ = true;
  return interrupted_;
}

absl::Status TuningSession::Run() {
  absl::Status status = log_.Begin(task_.run, task_.kernels);
  for (auto step :
       {&TuningSession::Prepare, &TuningSession::TakeReusedResults, &TuningSession::MeasureDefaults,
        &TuningSession::RuleOutHopeless, &TuningSession::Search, &TuningSession::Confirm,
        &TuningSession::RecordWaiting}) {
    if (status.ok() && !Stop()) status = (this->*step)();
  }
  if (parts_.progress != nullptr) parts_.progress->OnFinish();
  const std::string outcome = !status.ok() ? absl::StrCat("failed: ", std::string(status.message()))
                                           : std::string(interrupted_ ? "interrupted" : "done");
  status.Update(log_.Finish(absl::ToUnixMicros(absl::Now()), outcome));
  return status;
}

absl::Status TuningSession::Prepare() {
  for (size_t i = 0; i < task_.kernels.size(); ++i) {
    const Kernel& kernel = task_.kernels[i];
    kernels_.emplace_back(kernel, parts_.space_of(kernel), model_, SecondOpinion());
    if (parts_.roofline_of) kernels_.back().ExpectAtLeast(parts_.roofline_of(kernel));
    KernelSearchOptions search;
    search.model = model_ != nullptr ? std::string(model_->name()) : "";
    if (SecondOpinion() != nullptr) search.opinion = std::string(SecondOpinion()->name());
    search.exploration = options_.exploration;
    search.spread = SpreadOf(model_, kernel);
    // A kernel is searched in the same way whatever other kernels the program has.
    search.seed = options_.seed ^ kernel.fingerprint;
    if (absl::Status status = kernels_.back().StartSearch(options_.strategy, search);
        !status.ok()) {
      return status;
    }
    if (const absl::Status& error = kernels_.back().model_error(); !error.ok()) {
      Warn(absl::StrCat(kernel.name,
                        " is searched without a model: ", std::string(error.message())));
    }
  }
  return absl::OkStatus();
}

const CostModel* TuningSession::SecondOpinion() const {
  const CostModel* baseline = parts_.baseline.get();
  return Available(baseline) && baseline != model_ ? baseline : nullptr;
}

std::vector<size_t> TuningSession::ByPredictedTime() {
  std::vector<double> seconds(kernels_.size(), std::numeric_limits<double>::infinity());
  const CostModel* model = parts_.baseline.get();
  for (size_t i = 0; i < kernels_.size(); ++i) {
    if (!Available(model) || model->unit() != PredictionUnit::kLogSeconds) continue;
    if (!kernels_[i].compiler_default() || kernels_[i].space().opaque) continue;
    const ModelScorer scorer(*model, kernels_[i].kernel());
    const double once = std::exp(scorer.Score({*kernels_[i].compiler_default()})[0]);
    seconds[i] = once * static_cast<double>(kernels_[i].kernel().count);
    if (std::isfinite(once)) kernels_[i].ExpectSeconds(once);
  }
  std::vector<size_t> order(kernels_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return seconds[a] > seconds[b]; });
  return order;
}

TuningSession::Pending TuningSession::DefaultOf(size_t kernel) const {
  const KernelState& state = kernels_[kernel];
  RankedCandidate candidate = {*state.compiler_default(), {}};
  for (const auto& [scorer, model] :
       {std::pair{state.scorer(), model_}, std::pair{state.opinion(), SecondOpinion()}}) {
    if (scorer == nullptr) continue;
    const double score = scorer->Score({candidate.config})[0];
    candidate.predictions.push_back({std::string(model->name()), score, 0});
  }
  return {kernel, std::move(candidate), CandidateRole::kDefault};
}

absl::Status TuningSession::MeasureDefaults() {
  std::vector<Pending> batch;
  for (size_t i : ByPredictedTime()) {
    if (kernels_[i].search() == nullptr || !kernels_[i].LacksDefault()) continue;
    batch.push_back(DefaultOf(i));
  }
  if (options_.budget) {
    const int64_t tuned = std::count_if(kernels_.begin(), kernels_.end(), [](KernelState& kernel) {
      return kernel.search() != nullptr;
    });
    const BudgetPlan plan =
        PlanBudget(*options_.budget, tuned, static_cast<int64_t>(batch.size()), Confirms());
    budget_.Reserve(plan.confirmation);
    batch.erase(batch.begin() + static_cast<std::ptrdiff_t>(plan.defaults), batch.end());
  }
  if (!options_.budget_seconds) return Measure(std::move(batch));
  // What they take is known only once they are measured.
  const auto round = static_cast<size_t>(Round());
  for (size_t first = 0; first < batch.size() && !Stop(); first += round) {
    if (budget_.seconds_spent() >= *options_.budget_seconds / 4) break;
    const auto begin = batch.begin() + static_cast<std::ptrdiff_t>(first);
    const auto end = begin + static_cast<std::ptrdiff_t>(std::min(round, batch.size() - first));
    if (absl::Status status = Measure({begin, end}); !status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status TuningSession::RuleOutHopeless() {
  if (parts_.replays) return absl::OkStatus();
  const TimeSource source = parts_.backend->capabilities().time_source;
  for (KernelState& kernel : kernels_) {
    const Observation* own = kernel.Default();
    if (kernel.search() == nullptr || own == nullptr || own->measurement.ok()) continue;
    const Failure& failure = own->measurement.failure();
    if (!RulesOutKernel(source, failure)) continue;
    kernel.RuleOut(absl::StrCat("the compiler's own tile fails: ", FailureKindName(failure.kind)));
    Warn(absl::StrCat(kernel.kernel().name,
                      " is left out: the tile that the compiler chose for it ",
                      "fails: ", failure.message));
  }
  return absl::OkStatus();
}

int64_t TuningSession::Round() const { return 2 * std::max(options_.top_k, options_.jobs); }

std::vector<TuningSession::Pending> TuningSession::NextRound() {
  std::vector<KernelPromise> promises;
  promises.reserve(kernels_.size());
  for (KernelState& kernel : kernels_) {
    promises.push_back(kernel.Promise());
    promises.back().candidates = std::min(promises.back().candidates, options_.top_k);
  }
  const std::vector<int64_t> units = SplitBudget(promises, std::min(Round(), budget_.Available()));
  std::vector<Pending> batch;
  for (size_t i = 0; i < kernels_.size(); ++i) {
    if (units[i] == 0) continue;
    if (kernels_[i].LacksDefault()) {
      batch.push_back(DefaultOf(i));
      continue;
    }
    for (RankedCandidate& candidate : kernels_[i].search()->Next(units[i])) {
      batch.push_back({i, std::move(candidate), CandidateRole::kSearch});
    }
  }
  return batch;
}

absl::Status TuningSession::Search() {
  while (!Stop()) {
    // What no finalist needs goes back to the search.
    if (budget_.Available() == 0) {
      budget_.LimitReserve(2 * static_cast<int64_t>(Finalists().size()));
    }
    if (budget_.Available() == 0) break;
    const absl::Time before = absl::Now();
    std::vector<Pending> batch = NextRound();
    time_.search += SecondsSince(before);
    if (batch.empty()) {
      SayWhatIsAtTheRoofline();
      break;
    }
    if (absl::Status status = Measure(std::move(batch)); !status.ok()) return status;
    if (absl::Status status = RuleOutHopeless(); !status.ok()) return status;
    Refit();
  }
  return absl::OkStatus();
}

void TuningSession::SayWhatIsAtTheRoofline() {
  const int64_t kernels = std::count_if(kernels_.begin(), kernels_.end(), [](KernelState& kernel) {
    return kernel.search() != nullptr && kernel.AtRoofline() && kernel.search()->Remaining() > 0;
  });
  if (kernels == 0) return;
  Warn(absl::StrCat("the search ended early: ", kernels,
                    kernels == 1 ? " kernel is" : " kernels are",
                    " at the roofline, where no tile can gain more than a tie"));
}

bool TuningSession::Confirms() const {
  return !parts_.replays && parts_.backend->capabilities().time_source == TimeSource::kHardware;
}

std::vector<size_t> TuningSession::Finalists() const {
  std::vector<std::pair<double, size_t>> finalists;
  for (size_t i = 0; i < kernels_.size(); ++i) {
    const Observation* best = kernels_[i].Best();
    const Observation* chosen = kernels_[i].Default();
    if (best == nullptr || chosen == nullptr || best == chosen || !chosen->measurement.ok()) {
      continue;
    }
    const double saved = chosen->measurement.MedianSeconds() - best->measurement.MedianSeconds();
    finalists.push_back({saved * static_cast<double>(kernels_[i].kernel().count), i});
  }
  std::stable_sort(finalists.begin(), finalists.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  std::vector<size_t> order;
  order.reserve(finalists.size());
  for (const auto& [saved, i] : finalists) order.push_back(i);
  return order;
}

absl::Status TuningSession::Confirm() {
  budget_.ReleaseReserve();
  if (!Confirms()) return absl::OkStatus();
  std::vector<Pending> batch;
  for (size_t i : Finalists()) {
    if (static_cast<int64_t>(batch.size()) + 2 > budget_.Available()) break;
    for (const Observation* finalist : {kernels_[i].Best(), kernels_[i].Default()}) {
      batch.push_back({i, {finalist->config, {}}, CandidateRole::kConfirmation});
    }
  }
  return Measure(std::move(batch));
}

absl::Status TuningSession::Measure(std::vector<Pending> batch) {
  const auto wanted = std::min<int64_t>(budget_.Available(), static_cast<int64_t>(batch.size()));
  batch.resize(static_cast<size_t>(wanted), {0, {Config(OpaqueConfig{}), {}}, {}});
  if (absl::Status status = TakeLeftBehind(batch); !status.ok()) return status;
  // What an interrupted run measured is within the budget; what is new may no longer be.
  if (budget_.Available() < static_cast<int64_t>(batch.size())) {
    std::stable_partition(batch.begin(), batch.end(), [this](const Pending& pending) {
      return log_.CanReplay(task_.kernels[pending.kernel], pending.candidate.config);
    });
  }
  const int64_t granted = budget_.Take(static_cast<int64_t>(batch.size()));
  batch.resize(static_cast<size_t>(granted), {0, {Config(OpaqueConfig{}), {}}, {}});
  if (batch.empty()) return absl::OkStatus();
  std::vector<CandidateOutcome> outcomes = Begin(batch);
  const absl::Status asked = AskBackend(outcomes);
  const auto unmeasured = static_cast<int64_t>(std::erase_if(
      outcomes, [](const CandidateOutcome& outcome) { return !outcome.measurement; }));
  budget_.Return(unmeasured);
  const absl::Status taken = TakeIn(std::move(outcomes));
  return asked.ok() ? taken : asked;
}

std::vector<CandidateOutcome> TuningSession::Begin(const std::vector<Pending>& batch) {
  std::vector<CandidateOutcome> outcomes;
  outcomes.reserve(batch.size());
  for (const Pending& pending : batch) {
    CandidateOutcome outcome = {.sequence = -1, .kernel = pending.kernel};
    outcome.config = pending.candidate.config;
    outcome.role = pending.role;
    outcome.fate = Fate::kMeasured;
    outcome.predictions = pending.candidate.predictions;
    if (auto replayed = log_.Replay(task_.kernels[pending.kernel], outcome.config)) {
      outcome.sequence = replayed->first;
      outcome.measurement = std::move(replayed->second);
      // Simulated time is charged in the order of the batch, resumed or not: see AskBackend.
      if (!parts_.replays) Charge(outcome, resumed_seconds_);
    }
    outcomes.push_back(std::move(outcome));
  }
  return outcomes;
}

absl::Status TuningSession::AskBackend(std::vector<CandidateOutcome>& outcomes) {
  std::vector<Candidate> candidates;
  std::vector<CandidateOutcome*> asked;
  for (CandidateOutcome& outcome : outcomes) {
    if (outcome.measurement) continue;
    candidates.push_back({&task_.kernels[outcome.kernel], outcome.config});
    asked.push_back(&outcome);
  }
  const absl::Time before = absl::Now();
  absl::Time last = before;
  const auto take = [&](size_t i, const Measurement& result) {
    asked[i]->measurement = result;
    const absl::Time now = absl::Now();
    Charge(*asked[i], absl::ToDoubleSeconds(now - last));
    last = now;
    // What cannot be stored now is tried again, and complained of, with its batch.
    log_.Store(*asked[i], task_.kernels).IgnoreError();
  };
  absl::StatusOr<std::vector<Measurement>> answers = std::vector<Measurement>();
  if (!candidates.empty()) {
    answers = parts_.replays ? parts_.backend->Measure(candidates)
                             : parts_.backend->MeasureEach(candidates, take);
    time_.measure += SecondsSince(before);
  }
  if (!answers.ok()) return answers.status();
  if (answers->size() != candidates.size()) {
    return absl::InternalError(absl::StrCat("the ", parts_.backend->capabilities().name,
                                            " backend gave ", answers->size(), " answers to ",
                                            candidates.size(), " candidates"));
  }
  if (!parts_.replays) return absl::OkStatus();
  for (size_t i = 0; i < asked.size(); ++i) asked[i]->measurement = std::move((*answers)[i]);
  for (CandidateOutcome& outcome : outcomes) Charge(outcome, 0);
  return absl::OkStatus();
}

void TuningSession::Charge(CandidateOutcome& outcome, double wall_seconds) {
  ChargeDevice(*outcome.measurement, wall_seconds);
  outcome.wall_seconds = WallSeconds();
  outcome.device_seconds = budget_.seconds_spent();
}

absl::Status TuningSession::TakeIn(std::vector<CandidateOutcome> outcomes) {
  if (outcomes.empty()) return absl::OkStatus();
  const auto fresh = std::count_if(outcomes.begin(), outcomes.end(),
                                   [](const CandidateOutcome& o) { return o.sequence < 0; });
  int64_t spent = budget_.spent() - static_cast<int64_t>(outcomes.size());
  for (CandidateOutcome& outcome : outcomes) outcome.measurements = ++spent;
  if (absl::Status status = log_.Append(outcomes, task_.kernels); !status.ok()) {
    return absl::Status(status.code(),
                        absl::StrCat("the last ", fresh, " measurements could not be recorded: ",
                                     std::string(status.message())));
  }
  TellKernels(outcomes);
  ReportProgress();
  return absl::OkStatus();
}

void TuningSession::ChargeDevice(const Measurement& measurement, double wall_seconds) {
  const DeviceTime cost = SimulatedCost(measurement, options_.clock);
  time_.device_compile += cost.compile;
  time_.device_run += cost.run;
  budget_.ChargeSeconds(parts_.replays ? cost.total() : wall_seconds);
}

void TuningSession::TellKernels(const std::vector<CandidateOutcome>& outcomes) {
  std::vector<std::vector<Observation>> by_kernel(kernels_.size());
  for (const CandidateOutcome& outcome : outcomes) {
    kernels_[outcome.kernel].CountMeasurement();
    by_kernel[outcome.kernel].push_back({outcome.config, *outcome.measurement});
  }
  for (size_t i = 0; i < kernels_.size(); ++i) {
    if (!by_kernel[i].empty()) kernels_[i].AddResults(by_kernel[i]);
  }
}

void TuningSession::ReportProgress() {
  ProgramSum with_defaults;
  ProgramSum with_best;
  for (const KernelState& kernel : kernels_) {
    const std::optional<double> best = SecondsOf(kernel.Best());
    const std::optional<double> chosen = SecondsOf(kernel.Default());
    with_defaults.Add(kernel.kernel().count, chosen, chosen, best);
    with_best.Add(kernel.kernel().count, best, chosen, best);
  }
  ProgressUpdate update;
  update.measurements = budget_.spent();
  update.budget = options_.budget;
  update.wall_seconds = WallSeconds();
  update.device_seconds = budget_.seconds_spent();
  update.budget_seconds = options_.budget_seconds;
  if (with_best.kernels > 0) {
    update.default_seconds = with_defaults.seconds;
    update.best_seconds = with_best.seconds;
    progress_.push_back({.measurements = update.measurements,
                         .wall_seconds = update.wall_seconds,
                         .device_seconds = update.device_seconds,
                         .program_seconds = with_best.seconds});
  }
  if (parts_.progress != nullptr) parts_.progress->OnProgress(update);
}

}  // namespace autotune
