#ifndef AUTOTUNE_SEARCH_GUIDED_SEARCH_H_
#define AUTOTUNE_SEARCH_GUIDED_SEARCH_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "absl/types/span.h"
#include "search/candidate_scorer.h"
#include "search/gaussian_process.h"
#include "search/scored_pool.h"
#include "search/search_space.h"
#include "search/trial_history.h"
#include "search/unseen_sampler.h"

namespace autotune {

// The part that strategies with a scorer share: walk over the space against the scorer, which is
// cheap, and propose the best-scored configurations that the walks have met. Walks start at what
// was measured to be fastest, at the best of what is known by score, and at random. What is
// measured re-ranks what is known (the scorer is corrected by a Gaussian process) and anchors the
// next, short walk; a changed scorer starts a new long one. When walks find nothing unseen, the
// rest of the space follows, by score while it can be counted and then in random order. Not
// thread-safe.
class GuidedSearch {
 public:
  // Runs from the starts for `rounds` rounds; asks `pool` for every score that it needs.
  // `starts` is never empty.
  using Walk = std::function<void(std::vector<Config> starts, int64_t rounds, ScoredPool& pool,
                                  const TrialHistory& history, Rng& rng)>;

  struct Options {
    int64_t starts = 32;
    int64_t long_rounds = 128;
    int64_t short_rounds = 8;
    ScoredPool::Options pool;
    // So many of the best-scored are ranked anew after measurements; 0 keeps the order of scores.
    int64_t reranked = 512;
    // How many deviations below its believed log-seconds a configuration is ranked.
    double optimism = 0.5;
    GaussianProcess::Options correction = {.prior_deviation = 0.1};
  };

  // Space and scorer must outlive the search.
  GuidedSearch(const SearchSpace* space, const CandidateScorer* scorer, Walk walk, Options options);

  // At most `n` configurations that `history` has not seen, noted there as proposed.
  std::vector<Config> Propose(int64_t n, TrialHistory& history, Rng& rng);

  // Takes up new measurements of configurations of the space.
  void Observe(absl::Span<const Trial> trials, const TrialHistory& history);

 private:
  // Whether every configuration was scored since the pool was last cleared.
  bool ScoredAll() const;
  void WalkIfStale(const TrialHistory& history, Rng& rng);
  void RunWalk(int64_t starts, int64_t rounds, const TrialHistory& history, Rng& rng);
  std::optional<Config> Next(const TrialHistory& history, Rng& rng);
  // The best-ranked one of the pool, by score or as corrected; nullopt if the pool has none left.
  std::optional<Config> BestKnown(const TrialHistory& history);
  void RebuildCorrection(const TrialHistory& history);

  const SearchSpace* space_;
  Walk walk_;
  Options options_;
  ScoredPool pool_;
  UnseenSampler unseen_;
  bool walked_ = false;
  // Neither walks nor enumeration by score find anything unseen any more.
  bool depleted_ = false;
  // The fastest configuration that the last walk started from, as a hash; 0 for none.
  uint64_t anchor_ = 0;
  // The best by score of before the scorer changed: good places to start from.
  std::vector<Config> former_best_;

  GaussianProcess correction_;
  std::vector<Trial> measured_;
  std::optional<RankedCandidates> ranked_;
  // ScoredPool::joined_count() when `ranked_` was made.
  int64_t ranked_joined_ = 0;
};

// Scores every configuration of the space, `batch` at a time.
void ScoreAll(const SearchSpace& space, int64_t batch, ScoredPool& pool,
              const TrialHistory& history);

}  // namespace autotune

#endif  // AUTOTUNE_SEARCH_GUIDED_SEARCH_H_
