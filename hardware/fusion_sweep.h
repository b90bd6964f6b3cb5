#ifndef AUTOTUNE_HARDWARE_FUSION_SWEEP_H_
#define AUTOTUNE_HARDWARE_FUSION_SWEEP_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "hardware/fusion_foresight.h"
#include "hardware/fusion_recording.h"
#include "hlo/fusion_decision.h"
#include "hlo/fusion_graph.h"

namespace autotune {

// All configurations that cut at most `cuts` of the graph's edges, fewest first: 1, and n, and
// n (n - 1) / 2 for 0, 1 and 2 cuts of n edges.
std::vector<FusionDecision> FewCuts(const FusionGraph& graph, int cuts);

// The next configuration that a sweep of a program compiles, given what it has; it depends on
// nothing else, so that an interrupted sweep goes on as it would have. The default first; then cuts
// of one edge that the default fuses, in random order, and every fourth time a random set of such
// edges; from `explore` entries on three of four join the cuts of two of the fastest entries, whose
// kernels are known for the most part. Nothing is compiled
// whose grouping `foresight`, which holds the recording's entries, can tell. Nullopt where nothing
// else is found. REQUIRES: `recording` (null: nothing yet) is of `graph`, and holds the default if
// anything.
std::optional<FusionDecision> NextToRecord(const FusionGraph& graph,
                                           const FusionRecording* recording,
                                           const FusionForesight& foresight, int64_t explore,
                                           uint64_t seed);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_FUSION_SWEEP_H_
