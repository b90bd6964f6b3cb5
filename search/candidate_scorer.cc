#include "search/candidate_scorer.h"

namespace autotune {

double CandidateScorer::ScoreMove(const Config& /*base*/, const Config& move) const {
  return Score(absl::MakeConstSpan(&move, 1))[0];
}

}  // namespace autotune
