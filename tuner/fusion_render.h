#ifndef AUTOTUNE_TUNER_FUSION_RENDER_H_
#define AUTOTUNE_TUNER_FUSION_RENDER_H_

#include <string>
#include <vector>

#include "hlo/fusion_graph.h"
#include "nlohmann/json_fwd.hpp"
#include "search/fusion_scorer.h"
#include "tuner/best_config.h"
#include "tuner/fusion_tuner.h"

namespace autotune {

// "dot.3 -> add.7": an edge by the names of its ends.
std::string EdgeName(const FusionGraph& graph, int64_t edge);

// What a fusion run found, for a terminal.
std::string FusionTuningText(const FusionGraph& graph, const FusionTuning& tuning,
                             const std::string& device);

// {"schema": "autotune.fusion/1", ...}, documented in docs/fusion.md.
nlohmann::json FusionTuningJson(const FusionGraph& graph, const FusionTuning& tuning,
                                const std::string& device);

// The chosen configuration as data, what `autotune apply` reads: one entry for the whole program.
BestConfig FusionBestConfig(const FusionGraph& graph, const FusionTuning& tuning,
                            const std::string& program_path, const std::string& device,
                            const std::string& versions);

// What else there is to say of cuts beside the model's view. All may be null.
struct FusionEvidence {
  const FusionScorer* refitted = nullptr;      // to what was compiled
  const FusionRecording* recording = nullptr;  // of the graph
};

// The groups that are expected under a decision, dearest first, with what each cut within them
// would save or cost by the model, by the refitted one, and by the three estimates where that cut
// alone was compiled; what joining each edge would that is cut; at most `limit` groups (0: all).
std::string FusionGroupsText(const FusionGraph& graph, const FusionScorer& scorer,
                             const FusionDecision& decision, int64_t limit,
                             const FusionEvidence& evidence = {});

// The groups as a Graphviz graph: operations as nodes, groups as clusters coloured by their share
// of the time, cut edges dashed.
std::string FusionGroupsDot(const FusionGraph& graph, const FusionScorer& scorer,
                            const FusionDecision& decision);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_FUSION_RENDER_H_
