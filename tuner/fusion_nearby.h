#ifndef AUTOTUNE_TUNER_FUSION_NEARBY_H_
#define AUTOTUNE_TUNER_FUSION_NEARBY_H_

#include <cstdint>
#include <vector>

#include "hardware/fusion_foresight.h"
#include "hardware/fusion_recording.h"
#include "hlo/fusion_decision.h"
#include "search/fusion_scorer.h"
#include "search/fusion_space.h"

namespace autotune {

// The at most `n` configurations close to what was compiled that the scorer likes best, best first,
// of those whose grouping is open: one move away from one of the fastest entries (FusionSpace), or
// the cuts of two entries that beat the default together. A model that was fitted to a few kernels
// is trusted for one step: of all configurations the one that it likes best is the one about which
// it errs most.
std::vector<FusionDecision> NearbyProposals(const FusionSpace& space, const FusionScorer& scorer,
                                            const FusionRecording& recording,
                                            const FusionForesight& foresight, int64_t n);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_FUSION_NEARBY_H_
