#ifndef AUTOTUNE_TUNER_FUSION_JOINT_H_
#define AUTOTUNE_TUNER_FUSION_JOINT_H_

#include <cstdint>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "costmodel/cost_model.h"
#include "hardware/aot_backend.h"
#include "hardware/device_spec.h"
#include "hardware/fusion_compiler.h"
#include "hlo/module.h"
#include "nlohmann/json_fwd.hpp"
#include "tuner/best_config.h"

namespace autotune {

// How the budget of `--space tile+fusion` is divided, in candidates.
struct JointSplit {
  int64_t fusion = 0;
  int64_t tiles = 0;
  int64_t confirm = 0;  // compilations of the whole program with both
  // What each is predicted to save of the program's time.
  double fusion_gain = 0;
  double tile_gain = 0;
};

// Sets a few candidates aside for confirming and divides the rest by predicted gain. Fusion gets at
// least the `spent` that it had to have its gain predicted, and at most two fifths: most of what it
// finds it finds early. Both gains count for at least half a per cent, which the models may be
// wrong by.
JointSplit SplitJointBudget(int64_t budget, int64_t spent, double fusion_gain, double tile_gain);

// What better tiles than the compiler's own are predicted to save of the time of an optimised
// program, in [0, 1): over its kernels with a window, the best of up to `limit` tiles of each by a
// model in log-seconds, against the compiler's choice.
double PredictedTileGain(const HloModule& optimized, const DeviceSpec& device,
                         const CostModel& model, int64_t limit);

// A fused program with tiles, compiled as a whole.
struct JointResult {
  FusionTimes base;   // nothing cut, the compiler's tiles
  FusionTimes fused;  // the chosen cuts, the compiler's tiles
  FusionTimes both;   // the chosen cuts and tiles; `compiler` means nothing: it estimates own tiles
  int64_t tiles = 0;  // applied
  int64_t dropped = 0;      // of which one estimate said faster, the other slower
  int64_t not_applied = 0;  // with which the compiler made other kernels
  int64_t compilations = 0;
  BestConfig best;                           // what is chosen: the tiles that are left
  std::shared_ptr<const HloModule> program;  // with cuts and tiles, as ApplyBest wrote it
  // Static schedule with transfers and without differ in sign: only hardware can tell.
  bool unsettled = false;
};

// Applies `tiles` to `program`, the fused one, and compiles the whole. If the two estimates then
// disagree about it against the default, the tiles of kernels on which they disagree are dropped,
// and what is left is compiled again, as long as `compilations` allow. Errors of the compiler are
// passed on; FailedPrecondition if the program does not compile.
absl::StatusOr<JointResult> ConfirmJoint(FusionCompiler& compiler, AotBackend& backend,
                                         const HloModule& program, const FusionTimes& base,
                                         const FusionCompilation& fused, const BestConfig& tiles,
                                         int64_t compilations);

// For a terminal, and {"schema": "autotune.joint/1", ...}, documented in docs/fusion.md.
std::string JointText(const JointSplit& split, const JointResult& result, int64_t fusion_spent,
                      int64_t tiles_spent);
nlohmann::json JointJson(const JointSplit& split, const JointResult& result, int64_t fusion_spent,
                         int64_t tiles_spent);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_FUSION_JOINT_H_
