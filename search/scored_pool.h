#ifndef AUTOTUNE_SEARCH_SCORED_POOL_H_
#define AUTOTUNE_SEARCH_SCORED_POOL_H_

#include <cstdint>
#include <optional>
#include <set>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "search/candidate_scorer.h"
#include "search/trial_history.h"

namespace autotune {

// The scores that a walk has asked for, and the best-scored configurations that are still to be
// proposed. Scores are kept until the scorer's version changes. Not thread-safe.
class ScoredPool {
 public:
  struct Options {
    // Configurations kept for proposal; worse ones are dropped and found again later.
    int64_t capacity = 1024;
    // Scores kept; beyond that all are forgotten.
    int64_t max_scores = int64_t{1} << 20;
  };

  // The scorer must outlive the pool.
  ScoredPool(const CandidateScorer* scorer, Options options) : scorer_(scorer), options_(options) {}

  // The scores of the configurations, in order, asking the scorer only for what is not known. New
  // ones that `history` has not seen join the pool, except for those of infinite score.
  std::vector<double> Score(absl::Span<const Config> configs, const TrialHistory& history);

  // Takes the best-scored configuration that `history` has not seen; nullopt if there is none.
  std::optional<Config> TakeBest(const TrialHistory& history);

  // Up to `n` of the best-scored that `history` has not seen, best first, without taking them.
  std::vector<Config> Best(int64_t n, const TrialHistory& history) const;

  // Grows whenever a configuration joins.
  int64_t joined_count() const { return next_order_; }

  // True if the scorer has changed since the scores were asked for; forgets them all.
  bool ForgetIfChanged();
  // Forgets all scores and all configurations.
  void Forget();

  bool empty() const { return pool_.empty(); }
  // How many different configurations were scored since all were forgotten.
  int64_t scored_count() const { return static_cast<int64_t>(scores_.size()); }

 private:
  struct Entry {
    double score;
    int64_t order;  // of arrival: the earlier wins among equal scores
    Config config;

    friend bool operator<(const Entry& a, const Entry& b) {
      return a.score != b.score ? a.score < b.score : a.order < b.order;
    }
  };

  void Offer(double score, const Config& config);

  const CandidateScorer* scorer_;
  Options options_;
  std::optional<int64_t> version_;
  absl::flat_hash_map<uint64_t, double> scores_;
  std::set<Entry> pool_;
  int64_t next_order_ = 0;
};

}  // namespace autotune

#endif  // AUTOTUNE_SEARCH_SCORED_POOL_H_
