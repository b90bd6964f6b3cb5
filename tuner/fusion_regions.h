#ifndef AUTOTUNE_TUNER_FUSION_REGIONS_H_
#define AUTOTUNE_TUNER_FUSION_REGIONS_H_

#include <vector>

#include "hardware/fusion_recording.h"
#include "hlo/fusion_graph.h"
#include "search/fusion_effects.h"

namespace autotune {

// What the cuts of one compilation did, each part of the program by itself: the kernels that it has
// and the default has not, and the other way round, fall into regions that share operations; the
// cuts of a region are what changed its time. So a compilation with cuts in ten kernels tells ten
// effects. Cuts that changed nothing have the effect 0. What changed where nothing was cut counts
// for the cuts whose region it exchanges most with, or for none.
//
// `weights`: of each node, positive (OverlapWeights). REQUIRES: both entries are of `recording` and
// compiled.
std::vector<FusionEffect> EffectsOf(const FusionGraph& graph, const FusionRecording& recording,
                                    const std::vector<double>& weights, const FusionEntry& base,
                                    const FusionEntry& entry);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_FUSION_REGIONS_H_
