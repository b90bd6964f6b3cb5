#ifndef AUTOTUNE_TUNER_FUSION_TUNER_H_
#define AUTOTUNE_TUNER_FUSION_TUNER_H_

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "hardware/device_spec.h"
#include "hardware/fusion_compiler.h"
#include "hardware/fusion_recording.h"
#include "hlo/fusion_graph.h"
#include "search/fusion_scorer.h"

namespace autotune {

// Compiles the program under a decision: a live compiler, or a recording.
using FusionMeasure =
    std::function<absl::StatusOr<std::variant<FusionCompilation, Failure>>(const FusionDecision&)>;

// Whether a model guides the search, and what it learns.
enum class FusionGuide {
  kNone,        // every proposal of the strategy is compiled
  kAnalytical,  // FusionScorer as it is
  // Taught by every compilation: model-greedy follows the effects that cuts were seen to have
  // (FusionEffectSearch); other strategies use FusionScorer, taught with the kernels' times.
  kLearned,
};

struct FusionTunerOptions {
  int64_t budget = 100;  // whole-program compilations, default and confirmation included
  std::string strategy = "annealing";
  FusionGuide guide = FusionGuide::kLearned;
  // What kernels are expected to take before anything of the program is known; absent for the
  // roofline.
  FusionPrior prior;
  int64_t top_k = 4;
  uint64_t seed = 0;
  // Compile the winner once more at the end, with this where it is set.
  bool confirm = true;
  FusionMeasure confirm_with;
  // Only these are proposed, where not empty: what a recording holds.
  std::vector<FusionDecision> only;
  // Called after each compilation; false stops the run.
  std::function<bool(const FusionRecording&, const FusionEntry&)> progress;
};

// What the three estimates say of one entry against another.
struct FusionComparison {
  FusionTimes change;  // relative: -0.03 is 3 % faster
  // All three have the same sign, or are within a thousandth of nothing.
  bool agree = false;
};
FusionComparison CompareFusions(const FusionTimes& times, const FusionTimes& base);

// What a run found. Entries are those of `recording`.
struct FusionTuning {
  FusionRecording recording;
  int64_t fusible_edges = 0;
  int64_t fused_edges = 0;      // that the default fuses
  FusionEntry base;             // nothing cut
  FusionEntry fastest;          // by the primary estimate; the default itself if nothing is faster
  FusionComparison comparison;  // of the two
  // The estimates disagree: only hardware can tell, the default stays chosen.
  bool unsettled = false;
  // The fastest of those that all three estimates hold faster; the default if there is none.
  FusionEntry agreed;
  // What is chosen: `fastest`, or the default where that is unsettled.
  const FusionEntry& Chosen() const { return unsettled ? base : fastest; }
  bool confirmed = false;  // the winner was compiled again, with the same result

  int64_t compilations = 0;
  int64_t proposals = 0;
  // Proposals whose grouping was known before compiling: they cost nothing.
  int64_t foreseen = 0;
  // Compilations that turned out to realise a grouping that was known.
  int64_t repeated = 0;
  int64_t groupings = 0;  // distinct ones
  // The share of the fastest's time that more compilations are expected to save: of the next one by
  // the model, or of all that is open by the effects; 0 without a model, or if nothing is left.
  double predicted_gain = 0;
  // The primary estimate of the fastest after each compilation.
  std::vector<double> best_so_far;
  bool stopped = false;
};

// Searches the fusion of one program. The default is compiled first; the space are the edges that
// it fuses. Proposals whose grouping is known are answered without compiling: cuts C that realised
// a grouping realise the same together with cuts of edges that it does not fuse.
//
// The same options, graph and answers give the same run. Errors of `measure` are passed on;
// FailedPrecondition if the default does not compile. A larger budget takes the same course first.
absl::StatusOr<FusionTuning> TuneFusion(const FusionGraph& graph, const std::string& program_name,
                                        const DeviceSpec& device, const FusionMeasure& measure,
                                        const FusionTunerOptions& options);

// Answers from a recording; what it does not hold is Failure kConfigNotRecorded. The recording must
// outlive it.
FusionMeasure ReplayFusions(const FusionRecording* recording);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_FUSION_TUNER_H_
