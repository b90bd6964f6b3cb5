#include "tuner/kernel_search.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <string>
#include <utility>

#include "tuner/prefilter.h"

namespace autotune {

KernelSearch::KernelSearch(const SearchSpace& space, const CandidateScorer* scorer,
                           std::unique_ptr<SearchStrategy> strategy, KernelSearchOptions options,
                           const CandidateScorer* opinion)
    : space_(space),
      scorer_(scorer),
      opinion_(opinion),
      strategy_(std::move(strategy)),
      options_(std::move(options)) {
  if (scorer_ != nullptr) scored_version_ = scorer_->version();
}

void KernelSearch::Propose(int64_t n) {
  if (exhausted_ || n <= 0) return;
  std::vector<Config> proposals = strategy_->Propose(n);
  if (proposals.empty()) exhausted_ = true;
  const auto score = [&](const CandidateScorer* scorer) {
    return scorer != nullptr ? scorer->Score(proposals)
                             : std::vector<double>(proposals.size(), 0.0);
  };
  const std::vector<double> scores = score(scorer_);
  const std::vector<double> opinions = score(opinion_);
  for (size_t i = 0; i < proposals.size(); ++i) {
    if (used_.contains(proposals[i].Key())) continue;
    pool_.push_back({std::move(proposals[i]), scores[i], opinions[i]});
  }
}

void KernelSearch::RefreshScores() {
  if (scorer_ == nullptr || scorer_->version() == scored_version_) return;
  std::vector<Config> configs;
  configs.reserve(pool_.size());
  for (const Waiter& waiter : pool_) configs.push_back(waiter.config);
  const std::vector<double> scores = scorer_->Score(configs);
  for (size_t i = 0; i < pool_.size(); ++i) pool_[i].score = scores[i];
  scored_version_ = scorer_->version();
}

RankedCandidate KernelSearch::Ranked(size_t position) const {
  const Waiter& waiter = pool_[position];
  RankedCandidate candidate = {waiter.config, {}};
  const auto add = [&](const std::string& model, double Waiter::*score) {
    const int64_t rank = std::count_if(pool_.begin(), pool_.end(),
                                       [&](const Waiter& w) { return w.*score < waiter.*score; });
    candidate.predictions.push_back({model, waiter.*score, rank});
  };
  if (scorer_ != nullptr) add(options_.model, &Waiter::score);
  if (opinion_ != nullptr) add(options_.opinion, &Waiter::opinion);
  return candidate;
}

std::vector<RankedCandidate> KernelSearch::TakeFromPool(int64_t n) {
  std::vector<double> scores;
  scores.reserve(pool_.size());
  for (const Waiter& waiter : pool_) scores.push_back(waiter.score);
  const PrefilterOptions options = {.top_k = n,
                                    .exploration = scorer_ != nullptr ? options_.exploration : 0};
  std::vector<double> spread;
  if (options_.spread && options.exploration > 0 && n < static_cast<int64_t>(pool_.size())) {
    std::vector<Config> configs;
    configs.reserve(pool_.size());
    for (const Waiter& waiter : pool_) configs.push_back(waiter.config);
    spread = options_.spread(configs);
  }
  // The golden ratio's bits keep the seeds of successive rounds apart.
  const std::vector<size_t> kept =
      Prefilter(scores, options, options_.seed ^ (++round_ * 0x9E3779B97F4A7C15u), spread);

  std::vector<RankedCandidate> taken;
  std::vector<bool> gone(pool_.size(), false);
  for (size_t i : kept) {
    RankedCandidate candidate = Ranked(i);
    used_.insert(candidate.config.Key());
    gone[i] = true;
    taken.push_back(std::move(candidate));
  }
  size_t position = 0;
  std::erase_if(pool_, [&](const Waiter&) { return gone[position++]; });
  return taken;
}

std::vector<RankedCandidate> KernelSearch::Next(int64_t n) {
  if (n <= 0) return {};
  RefreshScores();
  if (scorer_ != nullptr) {
    Propose(std::max(options_.min_proposals, options_.proposals_per_candidate * n));
  }
  while (static_cast<int64_t>(pool_.size()) < n && !exhausted_) {
    Propose(n - static_cast<int64_t>(pool_.size()));
  }
  return TakeFromPool(n);
}

std::optional<double> KernelSearch::BestWaitingScore() {
  if (scorer_ == nullptr) return std::nullopt;
  RefreshScores();
  if (pool_.empty()) Propose(options_.min_proposals);
  if (pool_.empty()) return std::nullopt;
  return std::min_element(pool_.begin(), pool_.end(),
                          [](const Waiter& a, const Waiter& b) { return a.score < b.score; })
      ->score;
}

void KernelSearch::Observe(absl::Span<const Observation> observations) {
  for (const Observation& observation : observations) {
    if (space_.Contains(observation.config)) used_.insert(observation.config.Key());
  }
  std::erase_if(pool_, [&](const Waiter& waiter) { return used_.contains(waiter.config.Key()); });
  strategy_->Observe(observations);
}

int64_t KernelSearch::Remaining() const {
  if (exhausted_) return static_cast<int64_t>(pool_.size());
  const std::optional<int64_t> size = space_.Size();
  if (!size) return std::numeric_limits<int64_t>::max();
  return std::max<int64_t>(0, *size - static_cast<int64_t>(used_.size()));
}

std::vector<RankedCandidate> KernelSearch::Waiting(size_t most) const {
  std::vector<size_t> order(pool_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [this](size_t a, size_t b) { return pool_[a].score < pool_[b].score; });
  if (order.size() > most) order.resize(most);
  std::vector<RankedCandidate> ranked;
  ranked.reserve(order.size());
  for (size_t position : order) ranked.push_back(Ranked(position));
  return ranked;
}

}  // namespace autotune
