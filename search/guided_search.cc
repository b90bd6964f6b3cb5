#include "search/guided_search.h"

#include <algorithm>
#include <utility>

namespace autotune {
namespace {

constexpr int kEmptyWalks = 2;

}  // namespace

GuidedSearch::GuidedSearch(const SearchSpace* space, const CandidateScorer* scorer, Walk walk,
                           Options options)
    : space_(space),
      walk_(std::move(walk)),
      options_(options),
      pool_(scorer, options.pool),
      unseen_(space) {}

bool GuidedSearch::ScoredAll() const {
  const std::optional<int64_t> size = space_->Size();
  return size && pool_.scored_count() >= *size;
}

void GuidedSearch::RunWalk(int64_t starts, int64_t rounds, const TrialHistory& history, Rng& rng) {
  std::vector<Config> from;
  auto add = [&](const Config& config) {
    if (static_cast<int64_t>(from.size()) < starts) from.push_back(config);
  };
  // A quarter each from measurements and from scores, the rest anywhere.
  const int64_t quarter = std::max<int64_t>(1, starts / 4);
  const std::vector<Trial>& fastest = history.fastest_first();
  for (int64_t i = 0; i < std::min<int64_t>(quarter, fastest.size()); ++i) {
    if (space_->Contains(fastest[i].config)) add(fastest[i].config);
  }
  for (const Config& config : former_best_) add(config);
  former_best_.clear();
  for (const Config& config : pool_.Best(quarter)) add(config);
  while (static_cast<int64_t>(from.size()) < starts) {
    std::optional<Config> sample = space_->Sample(rng);
    if (!sample) break;
    from.push_back(*std::move(sample));
  }
  if (!from.empty()) walk_(std::move(from), rounds, pool_, history, rng);
}

void GuidedSearch::WalkIfStale(const TrialHistory& history, Rng& rng) {
  std::vector<Config> best = pool_.Best(std::max<int64_t>(1, options_.starts / 4));
  if (pool_.ForgetIfChanged()) {
    walked_ = false;
    depleted_ = false;
    former_best_ = std::move(best);
  }
  const uint64_t anchor = history.best() == nullptr ? 0 : ConfigHash(history.best()->config);
  if (!walked_) {
    RunWalk(options_.starts, options_.long_rounds, history, rng);
  } else if (anchor != anchor_ && !ScoredAll()) {
    RunWalk(std::max<int64_t>(1, options_.starts / 4), options_.short_rounds, history, rng);
  }
  walked_ = true;
  anchor_ = anchor;
}

std::optional<Config> GuidedSearch::Next(const TrialHistory& history, Rng& rng) {
  std::optional<Config> next = pool_.TakeBest(history);
  for (int i = 0; !next && !depleted_ && i < kEmptyWalks; ++i) {
    // Dropped configurations are found again only once their scores are forgotten.
    const bool may_have_dropped = pool_.scored_count() > options_.pool.capacity;
    if (ScoredAll() && !may_have_dropped) break;
    pool_.Forget();
    RunWalk(options_.starts, options_.long_rounds, history, rng);
    next = pool_.TakeBest(history);
  }
  if (next) return next;
  depleted_ = true;
  return unseen_.Next(history, rng);
}

std::vector<Config> GuidedSearch::Propose(int64_t n, TrialHistory& history, Rng& rng) {
  std::vector<Config> proposals;
  if (n <= 0) return proposals;
  WalkIfStale(history, rng);
  while (static_cast<int64_t>(proposals.size()) < n) {
    std::optional<Config> next = Next(history, rng);
    if (!next) break;
    history.Propose(*next);
    proposals.push_back(*std::move(next));
  }
  return proposals;
}

}  // namespace autotune
