#include "search/scored_pool.h"

#include <cmath>
#include <iterator>
#include <limits>
#include <utility>

namespace autotune {

bool ScoredPool::ForgetIfChanged() {
  const int64_t version = scorer_->version();
  const bool changed = version_.has_value() && *version_ != version;
  version_ = version;
  if (changed) Forget();
  return changed;
}

void ScoredPool::Forget() {
  scores_.clear();
  pool_.clear();
}

void ScoredPool::Offer(double score, const Config& config) {
  if (static_cast<int64_t>(pool_.size()) >= options_.capacity) {
    auto worst = std::prev(pool_.end());
    if (score >= worst->score) return;
    pool_.erase(worst);
  }
  pool_.insert({score, next_order_++, config});
}

std::vector<double> ScoredPool::Score(absl::Span<const Config> configs,
                                      const TrialHistory& history) {
  if (scored_count() > options_.max_scores) Forget();
  std::vector<double> scores(configs.size());
  std::vector<size_t> unknown;
  std::vector<Config> asked;
  for (size_t i = 0; i < configs.size(); ++i) {
    // The placeholder keeps a configuration that occurs twice from being asked for twice.
    auto [it, inserted] =
        scores_.emplace(ConfigHash(configs[i]), std::numeric_limits<double>::quiet_NaN());
    scores[i] = it->second;
    if (!std::isnan(it->second)) continue;
    unknown.push_back(i);
    if (inserted) asked.push_back(configs[i]);
  }
  if (asked.empty()) return scores;
  const std::vector<double> answers = scorer_->Score(asked);
  for (size_t i = 0; i < asked.size(); ++i) {
    // A score that is no number would break every order; it says that the model cannot tell.
    const double score =
        std::isnan(answers[i]) ? std::numeric_limits<double>::infinity() : answers[i];
    scores_[ConfigHash(asked[i])] = score;
    if (score < std::numeric_limits<double>::infinity() && !history.Seen(asked[i])) {
      Offer(score, asked[i]);
    }
  }
  for (size_t i : unknown) scores[i] = scores_[ConfigHash(configs[i])];
  return scores;
}

std::optional<Config> ScoredPool::TakeBest(const TrialHistory& history) {
  while (!pool_.empty()) {
    Config config = std::move(pool_.extract(pool_.begin()).value().config);
    if (!history.Seen(config)) return config;
  }
  return std::nullopt;
}

std::vector<Config> ScoredPool::Best(int64_t n, const TrialHistory& history) const {
  std::vector<Config> best;
  for (const Entry& entry : pool_) {
    if (static_cast<int64_t>(best.size()) >= n) break;
    if (!history.Seen(entry.config)) best.push_back(entry.config);
  }
  return best;
}

}  // namespace autotune
