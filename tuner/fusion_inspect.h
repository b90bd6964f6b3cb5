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

// What `autotune inspect --fusion` was asked for.
struct FusionInspection {
  std::string target;     // empty: the recording's device, else kAssumedTarget
  std::string recording;  // a fusion recording of the program; may be empty
  std::string model;      // of CreateFusionPrior; may be empty
  int64_t limit = 0;      // of groups, dearest first; 0: all
  bool dot = false;       // Graphviz's language instead of text
  std::string svg;        // a file for the picture, instead of text; may be empty
};

// `autotune inspect --fusion`: the groups that are expected, as text or as a picture. With a
// recording those that follow from the edges its default fused, and what was compiled of each cut.
int RunFusionInspection(const Program& program, const FusionInspection& options,
                        CommandContext& context);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_FUSION_INSPECT_H_
