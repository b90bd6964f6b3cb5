#ifndef AUTOTUNE_TUNER_FUSION_RENDER_H_
#define AUTOTUNE_TUNER_FUSION_RENDER_H_

#include <optional>
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
  const FusionScorer* learned = nullptr;       // a network's view
  const FusionScorer* refitted = nullptr;      // to what was compiled
  const FusionRecording* recording = nullptr;  // of the graph
  // The kernels of its default compilation with their times, which then stand for the expected
  // groups. A kernel without operations of the program is the compiler's own.
  const std::vector<FusionScorer::Group>* realised = nullptr;
};

// What a model expects of cutting, or joining, one edge more: relative change of the program's
// time.
double FusionEffectOf(const FusionScorer& scorer, const FusionDecision& decision, int64_t edge);

// The change by each of the three estimates where that cut alone was compiled.
std::optional<FusionTimes> CompiledEffect(const FusionDecision& decision, int64_t edge,
                                          const FusionEvidence& evidence);

// The same by all that is known: the model, the network, the refitted model, and the three
// estimates where that cut alone was compiled.
std::string FusionEffects(const FusionScorer& scorer, const FusionDecision& decision, int64_t edge,
                          const FusionEvidence& evidence);

// What one kernel in the place of these two groups would change, by all models. REQUIRES: neither
// is empty; both run equally often.
std::string MergeEffects(const FusionScorer& scorer, const FusionDecision& decision,
                         const FusionScorer::Group& first, const FusionScorer::Group& second,
                         const FusionEvidence& evidence);

// A change of time as "+1.20 %".
std::string FormatChange(double change);

// The groups under a decision: those that were realised, where nothing is cut and that is known,
// else those that are expected.
std::vector<FusionScorer::Group> ShownGroups(const FusionScorer& scorer,
                                             const FusionDecision& decision,
                                             const FusionEvidence& evidence);

// "30 groups expected, 3.761 ms by the analytical model": what these are.
std::string GroupsTitle(const std::vector<FusionScorer::Group>& groups,
                        const FusionDecision& decision, const FusionEvidence& evidence);

// The groups of ShownGroups, dearest first, with what each cut within them
// would save or cost by FusionEffects; what joining each edge would that is cut; and what one
// kernel in the place of two would that an edge joins, but that are not expected to fuse, by the
// models. At most `limit` groups and merges (0: all). `device`: "tpu-v3".
std::string FusionGroupsText(const FusionGraph& graph, const FusionScorer& scorer,
                             const FusionDecision& decision, const std::string& device,
                             int64_t limit, const FusionEvidence& evidence = {});

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_FUSION_RENDER_H_
