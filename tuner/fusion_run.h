#ifndef AUTOTUNE_TUNER_FUSION_RUN_H_
#define AUTOTUNE_TUNER_FUSION_RUN_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hardware/aot_backend.h"
#include "hardware/device_spec.h"
#include "hardware/fusion_compiler.h"
#include "hardware/fusion_recording.h"
#include "hlo/fusion_graph.h"
#include "tuner/commands.h"
#include "tuner/fusion_joint.h"
#include "tuner/fusion_prior.h"
#include "tuner/fusion_tuner.h"
#include "tuner/program.h"
#include "tuner/run_lock.h"
#include "tuner/tune_options.h"

namespace autotune {

// One run of `--space fusion` or `tile+fusion`, from options to files. `options` and `context` have
// to outlive it. Not thread-safe.
class FusionRun {
 public:
  FusionRun(const TuneOptions& options, bool model_given, CommandContext& context)
      : options_(options), model_given_(model_given), context_(context) {}

  // Reads the program, opens what measures and locks the output folder. Errors carry the exit code.
  absl::Status Prepare();
  // Fusion alone. Shows and writes the result, or the error, and returns the exit code.
  int Run();
  // Both spaces: a tenth of the budget goes to fusion, then both gains are predicted and the rest
  // is split by them; fusion goes on where it was; the tiles of the kernels of what it chose
  // follow; the whole is compiled at the end. Returns the exit code.
  absl::StatusOr<int> RunJoint();

 private:
  absl::Status LoadGraph();
  absl::Status OpenCompiler();
  absl::Status OpenRecording();
  absl::Status OpenModel();
  absl::StatusOr<std::variant<FusionCompilation, Failure>> Measure(const FusionDecision& decision);
  AotBackendOptions AotOptions() const;
  FusionTunerOptions TunerOptions(int64_t budget) const;
  absl::StatusOr<FusionTuning> Tune(int64_t budget);
  absl::Status Write(const FusionTuning& tuning) const;
  absl::Status Show(const FusionTuning& tuning) const;
  absl::StatusOr<double> TileGain();
  int TuneTiles(int64_t budget);
  absl::Status Confirm(const JointSplit& split, const FusionTuning& tuning);
  absl::Status WriteJoint(const JointSplit& split, const FusionTuning& tuning,
                          const JointResult& result, int64_t tiles_spent) const;

  const TuneOptions& options_;
  const bool model_given_;
  CommandContext& context_;
  std::string out_;
  RunLock lock_;
  std::optional<Program> program_;
  std::optional<FusionGraph> graph_;
  std::unique_ptr<FusionCompiler> compiler_;
  std::optional<FusionRecording> recording_;  // that is replayed
  std::optional<DeviceSpec> device_;
  FusionPrior prior_;
};

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_FUSION_RUN_H_
