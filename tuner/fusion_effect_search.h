#ifndef AUTOTUNE_TUNER_FUSION_EFFECT_SEARCH_H_
#define AUTOTUNE_TUNER_FUSION_EFFECT_SEARCH_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "hardware/device_spec.h"
#include "hardware/fusion_foresight.h"
#include "hardware/fusion_recording.h"
#include "hlo/fusion_decision.h"
#include "hlo/fusion_graph.h"
#include "search/fusion_effects.h"
#include "search/fusion_scorer.h"
#include "search/random.h"

namespace autotune {

// Searches fusion by what cuts were seen to do (FusionEffects). Every compilation tells the effects
// of cuts in all the kernels that it changes (EffectsOf), so that many cuts are tried at once, one
// a kernel; the next compilation joins those that gained. The two take turns:
//  - explore: the cuts that are expected to gain most, far apart, together with the fastest so far;
//  - exploit: what is expected to be the fastest, if it is faster than what was compiled.
// A cut of which nothing is known is expected to do nothing, with a deviation that is a small share
// of the time of the kernel that is cut: large kernels come first. With a model its mean is a part
// of what that says, at most a part of the deviation.
//
// Not thread-safe. The same seed and answers give the same course.
class FusionEffectSearch {
 public:
  // The first entry of `recording` is the default; `model`, which may be null, is asked for each of
  // `edges` once. `only`: the configurations that may be proposed; empty for every subset of
  // `edges`. The graph must outlive it.
  FusionEffectSearch(const FusionGraph* graph, const FusionRecording& recording,
                     const DeviceSpec& device, const FusionScorer* model,
                     std::vector<int64_t> edges, std::vector<FusionDecision> only, uint64_t seed);

  // Takes up the entries of `recording` that it does not have yet. REQUIRES: the same recording
  // every time, which only grows.
  void Learn(const FusionRecording& recording);

  // What to compile next, of what is open; nullopt if nothing is left. Each call is a turn.
  std::optional<FusionDecision> Next(const FusionForesight& foresight);

  // What all cuts that are still open, and those that are known, are expected to save: a share of
  // the fastest's time.
  double PredictedGain() const;

  const FusionEffects& effects() const { return effects_; }

 private:
  std::optional<FusionDecision> Exploit(const FusionForesight& foresight);
  std::optional<FusionDecision> Explore(const FusionForesight& foresight);
  std::optional<FusionDecision> ExploreOf(const std::vector<FusionDecision>& open);
  std::optional<FusionDecision> Mutate(const FusionForesight& foresight);
  // From the fastest one edge after the other, as long as that is expected to gain.
  FusionDecision Descend() const;
  // Of `only_`, what is not known.
  std::vector<FusionDecision> Open(const FusionForesight& foresight);
  std::vector<double> Gains();

  const FusionGraph* graph_;
  const std::vector<int64_t> edges_;
  std::vector<FusionDecision> only_;
  const bool listed_;
  Rng rng_;
  const std::vector<double> weights_;
  FusionEffects effects_;
  size_t learned_ = 0;  // entries
  size_t fastest_ = 0;
  FusionDecision fastest_cuts_;
  double base_seconds_ = 0;
  double fastest_seconds_ = 0;
  bool explored_ = false;  // in the last turn
};

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_FUSION_EFFECT_SEARCH_H_
