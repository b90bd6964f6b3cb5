#include "hardware/fusion_foresight.h"

#include <algorithm>

namespace autotune {

void FusionForesight::Update(const FusionRecording& recording) {
  for (size_t i = known_.size(); i < recording.entries().size(); ++i) {
    const FusionEntry& entry = recording.entries()[i];
    Known known{entry.decision, entry.failure.has_value(), {}};
    if (!known.failed) known.outline = OutlineOf(*graph_, recording.GroupingOf(entry));
    known_.push_back(std::move(known));
  }
}

std::optional<size_t> FusionForesight::Foresee(const FusionDecision& decision) const {
  for (size_t i = 0; i < known_.size(); ++i) {
    const Known& known = known_[i];
    if (known.decision == decision) return i;
    const std::vector<int64_t>& cuts = known.decision.cuts;
    if (known.failed ||
        !std::includes(decision.cuts.begin(), decision.cuts.end(), cuts.begin(), cuts.end())) {
      continue;
    }
    const bool changes = std::any_of(
        decision.cuts.begin(), decision.cuts.end(),
        [&known](int64_t cut) { return known.outline.fused[static_cast<size_t>(cut)]; });
    if (!changes) return i;
  }
  return std::nullopt;
}

}  // namespace autotune
