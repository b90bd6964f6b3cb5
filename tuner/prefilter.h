#ifndef AUTOTUNE_TUNER_PREFILTER_H_
#define AUTOTUNE_TUNER_PREFILTER_H_

#include <cstddef>
#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace autotune {

// How the prefilter chooses. Data only.
struct PrefilterOptions {
  // How many candidates to keep.
  int64_t top_k = 1;
  // The share of them, in [0, 1], that is drawn at random from those that did not make the top: a
  // model that is wrong about a region never learns of it otherwise. A fraction of a candidate is
  // kept with that probability.
  double exploration = 0.1;
};

// The positions of the candidates to measure: by score (lower is better, the first of equals
// first), then the ones explored. At most `options.top_k`, none twice. A candidate with a score of
// +infinity (which the model holds impossible) is kept only when nothing else is left. Pure: the
// same scores, options and seed give the same answer.
std::vector<size_t> Prefilter(absl::Span<const double> scores, const PrefilterOptions& options,
                              uint64_t seed);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_PREFILTER_H_
