#ifndef AUTOTUNE_TUNER_FUSION_INSPECT_H_
#define AUTOTUNE_TUNER_FUSION_INSPECT_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "hardware/fusion_recording.h"
#include "hlo/fusion_graph.h"
#include "tuner/commands.h"
#include "tuner/program.h"

namespace autotune {

// The fusion recording at `path`, if it is of this graph. Errors carry exit codes.
absl::StatusOr<FusionRecording> LoadFusionsOf(const FusionGraph& graph, const std::string& path);

// `autotune inspect --fusion`: the groups that are expected, as text, or as a Graphviz graph. With
// a fusion recording of the program (else empty) those that follow from the edges its default
// fused, and what was compiled of each cut.
int RunFusionInspection(const Program& program, const std::string& target,
                        const std::string& recording, int64_t limit, bool dot,
                        CommandContext& context);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_FUSION_INSPECT_H_
