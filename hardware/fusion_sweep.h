#ifndef AUTOTUNE_HARDWARE_FUSION_SWEEP_H_
#define AUTOTUNE_HARDWARE_FUSION_SWEEP_H_

#include <cstdint>
#include <vector>

#include "hardware/fusion_recording.h"
#include "hlo/fusion_decision.h"
#include "hlo/fusion_graph.h"

namespace autotune {

// All configurations that cut at most `cuts` of the graph's edges, fewest first: 1, and n, and
// n (n - 1) / 2 for 0, 1 and 2 cuts of n edges.
std::vector<FusionDecision> FewCuts(const FusionGraph& graph, int cuts);

// The next configuration that a sweep of a program compiles, given what it has; it depends on
// nothing else, so that an interrupted sweep goes on as it would have. The default first; then cuts
// of one edge that the default fuses, in random order, and random sets of such edges, in turn; from
// `explore` entries on every second one joins cuts of the fastest entries.
// REQUIRES: `recording` is of `graph`, and holds the default if it holds anything.
FusionDecision NextToRecord(const FusionGraph& graph, const FusionRecording* recording,
                            int64_t explore, uint64_t seed);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_FUSION_SWEEP_H_
