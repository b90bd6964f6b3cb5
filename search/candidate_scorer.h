#ifndef AUTOTUNE_SEARCH_CANDIDATE_SCORER_H_
#define AUTOTUNE_SEARCH_CANDIDATE_SCORER_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "hardware/config.h"

namespace autotune {

// What a strategy knows of a cost model: a score per configuration, lower is better. Scores of one
// scorer and one version are comparable with each other and with nothing else. Thread-safe.
class CandidateScorer {
 public:
  virtual ~CandidateScorer() = default;

  // One score per configuration, in order; +infinity for one that the model holds impossible.
  virtual std::vector<double> Score(absl::Span<const Config> configs) const = 0;

  // The score of `move`, which is close to `base`: a scorer of whole programs re-scores only what
  // differs. The default scores `move` alone.
  virtual double ScoreMove(const Config& base, const Config& move) const;

  // Changes whenever scores may have changed (the model was refitted). Strategies keep scores for
  // as long as it stays the same. The default is a scorer that never changes.
  virtual int64_t version() const { return 0; }
};

}  // namespace autotune

#endif  // AUTOTUNE_SEARCH_CANDIDATE_SCORER_H_
