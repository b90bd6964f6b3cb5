#ifndef AUTOTUNE_HARDWARE_FUSION_FORESIGHT_H_
#define AUTOTUNE_HARDWARE_FUSION_FORESIGHT_H_

#include <cstddef>
#include <optional>
#include <vector>

#include "hardware/fusion_recording.h"
#include "hlo/fusion_decision.h"
#include "hlo/fusion_graph.h"
#include "hlo/fusion_realised.h"

namespace autotune {

// Tells which configurations are bound to realise a grouping that is known: cuts C that realised
// one realise it again together with cuts of edges that it does not fuse. Not thread-safe.
class FusionForesight {
 public:
  // The graph must outlive it.
  explicit FusionForesight(const FusionGraph* graph) : graph_(graph) {}

  // Takes up the entries of `recording` that it does not have yet. REQUIRES: the same recording
  // every time, which only grows.
  void Update(const FusionRecording& recording);

  // The index of the entry whose grouping `decision` will realise: the first of several; itself if
  // it is recorded. Nullopt if that is open.
  std::optional<size_t> Foresee(const FusionDecision& decision) const;

  // How the graph came out in entry `i`; empty for a failure.
  const FusionOutline& outline(size_t i) const { return known_[i].outline; }

 private:
  struct Known {
    FusionDecision decision;
    bool failed = false;
    FusionOutline outline;
  };

  const FusionGraph* graph_;
  std::vector<Known> known_;  // beside the recording's entries
};

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_FUSION_FORESIGHT_H_
