#include "tuner/fusion_tuner.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <set>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "hardware/fusion_foresight.h"
#include "hlo/fusion_group.h"
#include "search/builtin.h"
#include "search/fusion_scorer.h"
#include "search/fusion_space.h"
#include "search/recorded_space.h"
#include "search/search_strategy.h"
#include "tuner/fusion_effect_search.h"

namespace autotune {
namespace {

// Proposals in a row that cost nothing, after which a run ends: the rest is known as well.
constexpr int64_t kMaxFreeRounds = 200;
// Estimates closer than this are equal.
constexpr double kEqual = 1e-3;

class Session {
 public:
  Session(const FusionGraph& graph, FusionOrigin origin, const DeviceSpec& device,
          const FusionMeasure& measure, const FusionTunerOptions& options)
      : graph_(graph),
        device_(device),
        measure_(measure),
        options_(options),
        foresight_(&graph),
        result_{.recording = FusionRecording(std::move(origin))} {}

  absl::StatusOr<FusionTuning> Run() {
    if (absl::Status status = Begin(); !status.ok()) return status;
    if (space_ != nullptr) {
      if (absl::Status status = Search(); !status.ok()) return status;
    }
    if (absl::Status status = Conclude(); !status.ok()) return status;
    return std::move(result_);
  }

 private:
  const FusionRecording& recording() const { return result_.recording; }

  absl::Status Begin() {
    result_.fusible_edges = graph_.edge_count();
    absl::StatusOr<const FusionEntry*> base = Compile({});
    if (!base.ok()) return base.status();
    if ((*base)->failure.has_value()) {
      return absl::FailedPreconditionError(absl::StrCat(
          "the program does not compile as it is (",
          std::string(FailureKindName((*base)->failure->kind)), "): ", (*base)->failure->message));
    }
    result_.base = **base;
    const FusionOutline& outline = foresight_.outline(0);
    std::vector<int64_t> edges;
    for (int64_t i = 0; i < graph_.edge_count(); ++i) {
      if (outline.fused[static_cast<size_t>(i)]) edges.push_back(i);
    }
    result_.fused_edges = static_cast<int64_t>(edges.size());
    if (edges.empty()) return absl::OkStatus();
    if (options_.only.empty()) {
      absl::StatusOr<std::unique_ptr<FusionSpace>> space = FusionSpace::Create(&graph_, edges);
      if (!space.ok()) return space.status();
      space_ = *std::move(space);
    } else {
      std::vector<Config> configs;
      for (const FusionDecision& decision : options_.only) configs.emplace_back(decision);
      space_ = std::make_unique<RecordedSpace>(std::move(configs));
    }
    const bool by_effects =
        options_.guide == FusionGuide::kLearned && options_.strategy == "model-greedy";
    if (options_.guide != FusionGuide::kNone && (!by_effects || options_.prior != nullptr)) {
      scorer_ = std::make_unique<FusionScorer>(&graph_, outline, device_, options_.prior);
      Teach(result_.base);
    }
    if (by_effects) {
      effects_ =
          std::make_unique<FusionEffectSearch>(&graph_, recording(), device_, scorer_.get(),
                                               std::move(edges), options_.only, options_.seed);
    }
    return absl::OkStatus();
  }

  // Compiles, records and keeps what came out. The entry lives in the recording.
  absl::StatusOr<const FusionEntry*> Compile(const FusionDecision& decision) {
    absl::StatusOr<std::variant<FusionCompilation, Failure>> answer = measure_(decision);
    if (!answer.ok()) return answer.status();
    ++result_.compilations;
    result_.recording.Add(decision, *answer);
    const FusionEntry& entry = recording().entries().back();
    foresight_.Update(recording());
    if (!entry.failure.has_value()) {
      if (!groupings_.insert(entry.key).second) ++result_.repeated;
      const double before =
          result_.best_so_far.empty() ? entry.total.schedule : result_.best_so_far.back();
      result_.best_so_far.push_back(std::min(before, entry.total.schedule));
    } else if (!result_.best_so_far.empty()) {
      result_.best_so_far.push_back(result_.best_so_far.back());
    }
    if (options_.progress && !options_.progress(recording(), entry)) result_.stopped = true;
    return &entry;
  }

  // The entry whose grouping the decision is bound to realise; null if that is open.
  const FusionEntry* Foresee(const FusionDecision& decision) const {
    const std::optional<size_t> index = foresight_.Foresee(decision);
    return index.has_value() ? &recording().entries()[*index] : nullptr;
  }

  void Teach(const FusionEntry& entry) {
    if (scorer_ == nullptr || entry.failure.has_value()) return;
    const bool base = entry.decision.cuts.empty();
    if (options_.guide == FusionGuide::kAnalytical && !base) return;
    std::vector<TimedKernel> kernels;
    if (options_.guide == FusionGuide::kLearned) {
      std::vector<FusionGroup> groups = GroupsOf(graph_, recording().GroupingOf(entry));
      for (size_t i = 0; i < groups.size(); ++i) {
        const auto index = static_cast<size_t>(entry.kernels[i]);
        kernels.push_back({std::move(groups[i]), recording().kernels()[index].once.schedule});
      }
    }
    scorer_->Learn(kernels,
                   options_.guide == FusionGuide::kLearned && base ? entry.total.schedule : 0);
  }

  static Observation Observed(const FusionDecision& decision, const FusionEntry& entry) {
    return {Config(decision),
            entry.failure.has_value()
                ? Measurement::FromFailure(entry.failure->kind, entry.failure->message)
                : Measurement::FromSamples({entry.total.schedule}, TimeSource::kEstimate)};
  }

  bool BudgetLeft() const {
    return result_.compilations < options_.budget - (options_.confirm ? 1 : 0) && !result_.stopped;
  }

  absl::Status Search() {
    if (effects_ != nullptr) return SearchByEffects();
    absl::StatusOr<std::unique_ptr<SearchStrategy>> strategy =
        CreateStrategy(options_.strategy, space_.get(), scorer_.get(), options_.seed);
    if (!strategy.ok()) return strategy.status();
    const Observation base = Observed({}, result_.base);
    (*strategy)->Observe({&base, 1});
    int64_t free_rounds = 0;
    while (BudgetLeft() && free_rounds < kMaxFreeRounds) {
      const std::vector<Config> proposals = (*strategy)->Propose(options_.top_k);
      if (proposals.empty()) break;
      ++free_rounds;
      const int64_t before = result_.compilations;
      absl::StatusOr<std::vector<Observation>> observations = CompileAll(proposals);
      if (!observations.ok()) return observations.status();
      if (result_.compilations > before) free_rounds = 0;
      (*strategy)->Observe(*observations);
    }
    PredictGain(**strategy);
    return absl::OkStatus();
  }

  // Answers proposals, those that are foreseen for nothing, as far as the budget goes.
  absl::StatusOr<std::vector<Observation>> CompileAll(const std::vector<Config>& proposals) {
    std::vector<Observation> observations;
    for (const Config& config : proposals) {
      ++result_.proposals;
      const FusionDecision& decision = *config.fusion();
      const FusionEntry* entry = Foresee(decision);
      if (entry != nullptr) {
        ++result_.foreseen;
      } else {
        if (!BudgetLeft()) break;
        absl::StatusOr<const FusionEntry*> compiled = Compile(decision);
        if (!compiled.ok()) return compiled.status();
        entry = *compiled;
      }
      observations.push_back(Observed(decision, *entry));
    }
    for (const Observation& observation : observations) {
      const FusionEntry* entry = recording().Find(*observation.config.fusion());
      if (entry != nullptr) Teach(*entry);
    }
    return observations;
  }

  // What the effects of cuts so far make likely, one compilation after the other.
  absl::Status SearchByEffects() {
    while (BudgetLeft()) {
      const std::optional<FusionDecision> next = effects_->Next(foresight_);
      if (!next.has_value()) break;
      ++result_.proposals;
      absl::StatusOr<const FusionEntry*> compiled = Compile(*next);
      if (!compiled.ok()) return compiled.status();
      effects_->Learn(recording());
    }
    result_.predicted_gain = effects_->PredictedGain();
    return absl::OkStatus();
  }

  void PredictGain(SearchStrategy& strategy) {
    if (scorer_ == nullptr) return;
    const std::vector<Config> next = strategy.Propose(1);
    if (next.empty()) return;
    const Config configs[] = {Config(Fastest().decision), next.front()};
    const std::vector<double> scores = scorer_->Score(configs);
    result_.predicted_gain = std::max(0.0, 1 - std::exp(scores[1] - scores[0]));
  }

  // By the primary estimate.
  const FusionEntry& Fastest() const {
    const FusionEntry* fastest = &recording().entries().front();
    for (const FusionEntry& entry : recording().entries()) {
      if (!entry.failure.has_value() && entry.total.schedule < fastest->total.schedule) {
        fastest = &entry;
      }
    }
    return *fastest;
  }

  absl::Status Conclude() {
    result_.fastest = Fastest();
    result_.agreed = result_.base;
    for (const FusionEntry& entry : recording().entries()) {
      if (entry.failure.has_value()) continue;
      const FusionComparison comparison = CompareFusions(entry.total, result_.base.total);
      if (comparison.agree && comparison.change.schedule < 0 &&
          entry.total.schedule < result_.agreed.total.schedule) {
        result_.agreed = entry;
      }
    }
    result_.comparison = CompareFusions(result_.fastest.total, result_.base.total);
    result_.unsettled = !result_.fastest.decision.cuts.empty() && !result_.comparison.agree;
    result_.groupings = static_cast<int64_t>(groupings_.size());
    if (!options_.confirm || result_.compilations >= options_.budget) return absl::OkStatus();
    const FusionMeasure& measure = options_.confirm_with ? options_.confirm_with : measure_;
    absl::StatusOr<std::variant<FusionCompilation, Failure>> again =
        measure(result_.fastest.decision);
    if (!again.ok()) return again.status();
    ++result_.compilations;
    const FusionCompilation* compiled = std::get_if<FusionCompilation>(&*again);
    result_.confirmed = compiled != nullptr && compiled->key == result_.fastest.key &&
                        std::abs(compiled->total.schedule - result_.fastest.total.schedule) <=
                            kEqual * result_.fastest.total.schedule;
    return absl::OkStatus();
  }

  const FusionGraph& graph_;
  const DeviceSpec& device_;
  const FusionMeasure& measure_;
  const FusionTunerOptions& options_;
  FusionForesight foresight_;
  FusionTuning result_;
  std::set<std::string> groupings_;
  std::unique_ptr<SearchSpace> space_;
  std::unique_ptr<FusionScorer> scorer_;
  std::unique_ptr<FusionEffectSearch> effects_;
};

int SignOf(double change) { return change < -kEqual ? -1 : change > kEqual ? 1 : 0; }

}  // namespace

FusionComparison CompareFusions(const FusionTimes& times, const FusionTimes& base) {
  FusionComparison comparison;
  const auto relative = [](double time, double from) { return from > 0 ? time / from - 1 : 0; };
  comparison.change = {relative(times.schedule, base.schedule),
                       relative(times.bundles, base.bundles),
                       relative(times.compiler, base.compiler)};
  const int sign = SignOf(comparison.change.schedule);
  comparison.agree = SignOf(comparison.change.bundles) * sign >= 0 &&
                     SignOf(comparison.change.compiler) * sign >= 0;
  return comparison;
}

absl::StatusOr<FusionTuning> TuneFusion(const FusionGraph& graph, const std::string& program_name,
                                        const DeviceSpec& device, const FusionMeasure& measure,
                                        const FusionTunerOptions& options) {
  if (options.budget < 1) {
    return absl::InvalidArgumentError("the budget does not even hold the default");
  }
  FusionOrigin origin{program_name, FusionFingerprint(graph), graph.edge_count(), device.name, ""};
  return Session(graph, std::move(origin), device, measure, options).Run();
}

FusionMeasure ReplayFusions(const FusionRecording* recording) {
  return [recording](const FusionDecision& decision)
             -> absl::StatusOr<std::variant<FusionCompilation, Failure>> {
    const FusionEntry* entry = recording->Find(decision);
    if (entry == nullptr) {
      return Failure{FailureKind::kConfigNotRecorded,
                     absl::StrCat(decision.Key(), " is not recorded")};
    }
    if (entry->failure.has_value()) return *entry->failure;
    FusionCompilation compiled;
    compiled.grouping = recording->GroupingOf(*entry);
    compiled.key = entry->key;
    compiled.total = entry->total;
    compiled.compile_seconds = entry->compile_seconds;
    for (size_t i = 0; i < entry->kernels.size(); ++i) {
      FusionKernel kernel;
      kernel.realised = compiled.grouping.kernels[i];
      kernel.once = recording->kernels()[static_cast<size_t>(entry->kernels[i])].once;
      compiled.kernels.push_back(std::move(kernel));
    }
    return compiled;
  };
}

}  // namespace autotune
