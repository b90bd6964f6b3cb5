#include "search/guided_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>

namespace autotune {
namespace {

constexpr int kEmptyWalks = 2;
// Spaces of up to so many configurations are scored whole once walks find nothing more.
constexpr int64_t kScoreAllLimit = int64_t{1} << 17;
constexpr int64_t kScoreBatch = 1024;

}  // namespace

void ScoreAll(const SearchSpace& space, int64_t batch, ScoredPool& pool,
              const TrialHistory& history) {
  std::unique_ptr<SpaceCursor> cursor = space.NewCursor();
  std::vector<Config> configs;
  for (bool more = true; more;) {
    configs.clear();
    while (static_cast<int64_t>(configs.size()) < batch) {
      std::optional<Config> next = cursor->Next();
      if (!next) break;
      configs.push_back(*std::move(next));
    }
    more = static_cast<int64_t>(configs.size()) == batch;
    pool.Score(configs, history);
  }
}

GuidedSearch::GuidedSearch(const SearchSpace* space, const CandidateScorer* scorer, Walk walk,
                           Options options)
    : space_(space),
      walk_(std::move(walk)),
      options_(options),
      pool_(scorer, options.pool),
      unseen_(space),
      correction_(options.correction) {}

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
  for (const Config& config : pool_.Best(quarter, history)) add(config);
  while (static_cast<int64_t>(from.size()) < starts) {
    std::optional<Config> sample = space_->Sample(rng);
    if (!sample) break;
    from.push_back(*std::move(sample));
  }
  if (!from.empty()) walk_(std::move(from), rounds, pool_, history, rng);
}

void GuidedSearch::WalkIfStale(const TrialHistory& history, Rng& rng) {
  std::vector<Config> best = pool_.Best(std::max<int64_t>(1, options_.starts / 4), history);
  if (pool_.ForgetIfChanged()) {
    walked_ = false;
    depleted_ = false;
    former_best_ = std::move(best);
    RebuildCorrection(history);
  }
  const uint64_t anchor = history.best() == nullptr ? 0 : ConfigHash(history.best()->config);
  if (!walked_) {
    RunWalk(options_.starts, options_.long_rounds, history, rng);
  } else if (anchor != anchor_ && !depleted_ && !ScoredAll()) {
    RunWalk(std::max<int64_t>(1, options_.starts / 4), options_.short_rounds, history, rng);
  }
  walked_ = true;
  anchor_ = anchor;
}

void GuidedSearch::RebuildCorrection(const TrialHistory& history) {
  correction_ = GaussianProcess(options_.correction);
  ranked_.reset();
  std::vector<Trial> measured = std::move(measured_);
  measured_.clear();
  Observe(measured, history);
}

void GuidedSearch::Observe(absl::Span<const Trial> trials, const TrialHistory& history) {
  if (options_.reranked == 0) return;
  for (const Trial& trial : trials) {
    if (!space_->Contains(trial.config)) continue;
    measured_.push_back(trial);
    const double score = pool_.Score({&trial.config, 1}, history)[0];
    if (std::isfinite(score)) correction_.Add(trial.config, trial.log_seconds, score);
  }
}

std::optional<Config> GuidedSearch::BestKnown(const TrialHistory& history) {
  if (correction_.size() == 0) return pool_.TakeBest(history);
  for (int attempt = 0; attempt < 2; ++attempt) {
    if (!ranked_ || ranked_joined_ != pool_.joined_count() || attempt == 1) {
      std::vector<Config> best = pool_.Best(options_.reranked, history);
      if (best.empty()) return std::nullopt;
      std::vector<double> scores = pool_.Score(best, history);
      ranked_.emplace(std::move(best), std::move(scores));
      ranked_joined_ = pool_.joined_count();
    }
    ranked_->Update(correction_);
    const Config* chosen = nullptr;
    double lowest = std::numeric_limits<double>::infinity();
    for (int64_t i = 0; i < ranked_->size(); ++i) {
      const double bound = ranked_->BeliefOf(i, correction_).LowerBound(options_.optimism);
      if (bound < lowest && !history.Seen(ranked_->config(i))) {
        lowest = bound;
        chosen = &ranked_->config(i);
      }
    }
    if (chosen != nullptr) return *chosen;
  }
  return std::nullopt;
}

std::optional<Config> GuidedSearch::Next(const TrialHistory& history, Rng& rng) {
  std::optional<Config> next = BestKnown(history);
  const std::optional<int64_t> size = space_->Size();
  const bool small = size && *size <= kScoreAllLimit;
  for (int i = 0; !next && !depleted_ && i < kEmptyWalks; ++i) {
    // What the pool dropped is found again only once its score is forgotten.
    if (pool_.scored_count() > options_.pool.capacity) pool_.Forget();
    if (small) {
      ScoreAll(*space_, kScoreBatch, pool_, history);
    } else {
      RunWalk(options_.starts, options_.long_rounds, history, rng);
    }
    next = BestKnown(history);
    if (small) break;
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
