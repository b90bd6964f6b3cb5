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
// same arguments give the same answer.
//
// `spread` is how uncertain each score is, in the unit of the scores, or empty. With it what is
// explored is not drawn evenly but by what it may turn out to be (Thompson sampling: Thompson, "On
// the likelihood that one unknown probability exceeds another", 1933): each candidate outside the
// top draws a score from a normal distribution, and the lowest draws win.
std::vector<size_t> Prefilter(absl::Span<const double> scores, const PrefilterOptions& options,
                              uint64_t seed, absl::Span<const double> spread = {});

// The least that a score in log-seconds is held to be uncertain by: the members of an ensemble have
// seen the same data, and agree about more than they know.
inline constexpr double kLeastSpread = 0.05;

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_PREFILTER_H_
