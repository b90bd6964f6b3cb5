#ifndef AUTOTUNE_TUNER_KERNEL_SEARCH_H_
#define AUTOTUNE_TUNER_KERNEL_SEARCH_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/types/span.h"
#include "hardware/config.h"
#include "hardware/record_store.h"
#include "search/candidate_scorer.h"
#include "search/search_space.h"
#include "search/search_strategy.h"

namespace autotune {

// A candidate with what each model said of it, first the one that guides the search; empty without
// a model.
struct RankedCandidate {
  Config config;
  std::vector<Prediction> predictions;
};

// How a kernel is searched. Data only.
struct KernelSearchOptions {
  std::string model;         // the scorer's name in predictions
  std::string opinion;       // that of the second opinion
  double exploration = 0.1;  // share of each batch that is explored (see PrefilterOptions)
  // With a scorer, so many proposals are ranked for each candidate that is measured, and at least
  // `min_proposals` a round.
  int64_t proposals_per_candidate = 8;
  int64_t min_proposals = 64;
  // How uncertain the scorer is of configurations, for the exploration; null where it does not say.
  std::function<std::vector<double>(absl::Span<const Config>)> spread;
  uint64_t seed = 0;
};

// The search of one kernel: a strategy proposes many candidates, the scorer ranks them, the
// prefilter keeps the few to be measured. What was proposed and not kept waits in a pool and is
// ranked again, so that nothing is lost when the model changes its mind. Without a scorer every
// proposal is kept. Not thread-safe; deterministic.
class KernelSearch {
 public:
  // `scorer` may be null. `opinion` scores every candidate once, for the record, and guides
  // nothing; it may be null. Space and scorers must outlive the search.
  KernelSearch(const SearchSpace& space, const CandidateScorer* scorer,
               std::unique_ptr<SearchStrategy> strategy, KernelSearchOptions options,
               const CandidateScorer* opinion = nullptr);

  // At most n candidates to be measured next, best bet first; each is given once. Fewer means that
  // the space is exhausted.
  std::vector<RankedCandidate> Next(int64_t n);

  // The lowest score among the candidates waiting, proposing some if none does; nullopt without a
  // scorer or when the space is exhausted.
  std::optional<double> BestWaitingScore();

  // Tells about results, those from records and of the default included.
  void Observe(absl::Span<const Observation> observations);

  // How many candidates there may still be; exact where the space knows its size.
  int64_t Remaining() const;

  // What was proposed, ranked and never given out, best first, at most so many. Equal scores share
  // a rank.
  std::vector<RankedCandidate> Waiting(size_t most) const;

  const SearchSpace& space() const { return space_; }

 private:
  struct Waiter {
    Config config;
    double score;
    double opinion;
  };

  // Lets the strategy propose `n` more into the pool.
  void Propose(int64_t n);
  // Scores the pool again if the scorer has changed.
  void RefreshScores();
  std::vector<RankedCandidate> TakeFromPool(int64_t n);
  // The waiter at a position as a candidate, with its rank among all that wait by each model.
  RankedCandidate Ranked(size_t position) const;

  const SearchSpace& space_;
  const CandidateScorer* scorer_;
  const CandidateScorer* opinion_;
  std::unique_ptr<SearchStrategy> strategy_;
  KernelSearchOptions options_;
  std::vector<Waiter> pool_;
  int64_t scored_version_ = 0;
  absl::flat_hash_set<std::string> used_;  // keys given out or observed, in the space
  bool exhausted_ = false;                 // the strategy has nothing more to propose
  uint64_t round_ = 0;
};

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_KERNEL_SEARCH_H_
