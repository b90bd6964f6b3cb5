#ifndef AUTOTUNE_TUNER_FUSION_PICTURE_H_
#define AUTOTUNE_TUNER_FUSION_PICTURE_H_

#include <cstdint>
#include <string>

#include "hlo/fusion_graph.h"
#include "search/fusion_scorer.h"
#include "tuner/fusion_render.h"

namespace autotune {

// The groups that are expected under a decision as a graph in Graphviz's language: operations as
// nodes with their shapes, groups as boxes around them, coloured by their share of the time, with a
// legend, and a title that says what the times are. An edge inside a group bears its number and
// what cutting it changes, as compiled, or "~" and what is expected; its tooltip says it by all
// that is known. A cut edge is dashed, one that is not expected to fuse is grey. An operation that
// several groups compute stands in the first of them. Of more than `limit` groups (0: all) the
// dearest are drawn, with the edges between them. `device`: "tpu-v3".
std::string FusionGroupsDot(const FusionGraph& graph, const FusionScorer& scorer,
                            const FusionDecision& decision, const std::string& device,
                            int64_t limit = 0, const FusionEvidence& evidence = {});

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_FUSION_PICTURE_H_
