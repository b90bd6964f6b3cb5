#include "tuner/kernel_state.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/status/statusor.h"
#include "search/builtin.h"
#include "tuner/select_best.h"

namespace autotune {

KernelState::KernelState(const Kernel& kernel, KernelSpace space, const CostModel* model,
                         const CostModel* opinion)
    : kernel_(kernel), space_(std::move(space)), model_(space_.opaque ? nullptr : model) {
  if (model_ != nullptr) scorer_ = std::make_unique<ModelScorer>(*model_, kernel_);
  if (opinion != nullptr && !space_.opaque) {
    opinion_ = std::make_unique<ModelScorer>(*opinion, kernel_);
  }
}

absl::Status KernelState::CheckModel(const ModelScorer& scorer) const {
  constexpr int64_t kAsked = 64;
  std::vector<Config> sample = space_.space->Enumerate(kAsked);
  if (space_.compiler_default) sample.push_back(*space_.compiler_default);
  const std::vector<double> scores = scorer.Score(sample);
  if (!scorer.status().ok()) return scorer.status();
  if (std::none_of(scores.begin(), scores.end(), [](double s) { return std::isfinite(s); })) {
    return absl::UnimplementedError("the model cannot read this kernel");
  }
  return absl::OkStatus();
}

absl::Status KernelState::StartSearch(const std::string& strategy, KernelSearchOptions options) {
  if (space_.space == nullptr) return absl::OkStatus();
  if (scorer_ != nullptr) model_error_ = CheckModel(*scorer_);
  if (opinion_ != nullptr && !CheckModel(*opinion_).ok()) opinion_ = nullptr;
  if (!model_error_.ok()) {
    model_ = nullptr;
    scorer_ = nullptr;
  }
  const StrategyInfo* known = FindStrategy(strategy);
  const bool blind = known != nullptr && known->needs_scorer && scorer_ == nullptr;
  const std::string chosen = blind ? kBlindStrategy : strategy;
  absl::StatusOr<std::unique_ptr<SearchStrategy>> created =
      CreateStrategy(chosen, space_.space.get(), scorer_.get(), options.seed);
  if (!created.ok()) return created.status();
  search_ = std::make_unique<KernelSearch>(*space_.space, scorer_.get(), *std::move(created),
                                           std::move(options), opinion_.get());
  return absl::OkStatus();
}

void KernelState::RuleOut(std::string reason) {
  search_ = nullptr;
  space_.not_tuned = std::move(reason);
}

const Observation* KernelState::Find(const Config& config) const {
  const auto it = positions_.find(config.Key());
  return it == positions_.end() ? nullptr : &results_[it->second];
}

void KernelState::AddResults(absl::Span<const Observation> results) {
  for (const Observation& result : results) {
    const auto [it, added] = positions_.emplace(result.config.Key(), results_.size());
    if (added) {
      results_.push_back(result);
    } else {
      Measurement& known = results_[it->second].measurement;
      known = JoinMeasurements(known, result.measurement);
    }
  }
  if (search_ != nullptr) search_->Observe(results);
}

const Observation* KernelState::Default() const {
  return space_.compiler_default ? Find(*space_.compiler_default) : nullptr;
}

const Observation* KernelState::Best() const {
  std::vector<Measurement> known;
  known.reserve(results_.size());
  for (const Observation& result : results_) known.push_back(result.measurement);
  std::optional<size_t> preferred;
  if (const Observation* chosen = Default()) preferred = chosen - results_.data();
  const std::optional<size_t> best = SelectBest(known, preferred);
  return best ? &results_[*best] : nullptr;
}

double KernelState::HeadroomLeft() const {
  std::optional<double> fastest;
  for (const Observation& result : results_) {
    if (!result.measurement.ok()) continue;
    const double seconds = result.measurement.MedianSeconds();
    if (!fastest || seconds < *fastest) fastest = seconds;
  }
  return fastest ? HeadroomAboveRoofline(*fastest, roofline_seconds_) : 1;
}

KernelPromise KernelState::Promise() {
  KernelPromise promise;
  if (search_ == nullptr) return promise;
  // A default that is still to be measured is a unit that brings nothing by itself.
  promise.spent = measured_ + (LacksDefault() ? 1 : 0);
  promise.candidates = search_->Remaining();
  std::optional<double> best_score;
  std::optional<double> next_score;
  const Observation* best = Best();
  const bool comparable = model_ != nullptr && model_->unit() == PredictionUnit::kLogSeconds;
  if (comparable && promise.candidates > 0) {
    next_score = search_->BestWaitingScore();
    if (best != nullptr) {
      best_score = scorer_->Score({best->config})[0];
    } else if (compiler_default()) {
      best_score = scorer_->Score({*compiler_default()})[0];
    }
  }
  promise.headroom = PredictedHeadroom(best_score, next_score);
  const double left = HeadroomLeft();
  promise.headroom = std::min(promise.headroom, left);
  if (left == 0 && !LacksDefault()) promise.candidates = 0;
  promise.program_seconds =
      static_cast<double>(kernel_.count) *
      (best != nullptr ? best->measurement.MedianSeconds() : expected_seconds_);
  return promise;
}

void KernelState::ModelChanged() {
  if (scorer_ != nullptr) scorer_->ModelChanged();
}

}  // namespace autotune
