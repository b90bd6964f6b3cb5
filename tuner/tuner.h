#ifndef AUTOTUNE_TUNER_TUNER_H_
#define AUTOTUNE_TUNER_TUNER_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "costmodel/cost_model.h"
#include "hardware/measurement_backend.h"
#include "hardware/record_store.h"
#include "hardware/recording.h"
#include "hlo/kernel.h"
#include "tuner/kernel_space.h"
#include "tuner/progress.h"
#include "tuner/run_log.h"
#include "tuner/simulated_clock.h"
#include "tuner/tuning_report.h"

namespace autotune {

// How to tune. Data only.
struct TunerOptions {
  std::string strategy = "model-greedy";
  // Candidates of one kernel that reach the backend in one round, and the share of them that is
  // explored (see PrefilterOptions).
  int64_t top_k = 4;
  double exploration = 0.1;
  uint64_t seed = 0;
  // Without either limit the run ends when every space is exhausted or its kernel at the roofline.
  std::optional<int64_t> budget;
  std::optional<double> budget_seconds;
  // Charged for each measurement by a backend that replays.
  SimulatedClock clock;
  // Candidates that the backend can work on at once; a round has at least twice as many.
  int64_t jobs = 1;
  // Which results of other runs count (see RecordStore).
  VersionMatch match = VersionMatch::kStrict;
  // Measurements of other kernels of the same kinds, from the store, that a model learns from
  // beside the run's own: at most about so many, spread evenly. A refit takes the cube of them.
  int64_t other_samples = 128;
};

// What the tuner works with.
struct TunerParts {
  std::unique_ptr<MeasurementBackend> backend;
  std::unique_ptr<RecordStore> store;  // may be null: then nothing is kept
  // Guides the search; null for none. One that is not fitted is replaced by `baseline`, with a
  // warning.
  std::shared_ptr<CostModel> model;
  // What results are compared with (the analytical model); null for none. May be the same as
  // `model`.
  std::shared_ptr<CostModel> baseline;
  // The configurations of a kernel. REQUIRES: not null.
  std::function<KernelSpace(const Kernel&)> space_of;
  // What one run of a kernel takes at least, in seconds: no more measurements go to a kernel that
  // has come down to it. May be null.
  std::function<double(const Kernel&)> roofline_of;
  // All that is known of the kernels, for the report only: what `backend` replays. May be null.
  // Owned by the backend.
  const Recording* known = nullptr;
  // MeasurementContext::flags of everything that is measured.
  std::string flags;
  // True if the backend answers from a recording: its time is then simulated and measuring again
  // tells nothing new.
  bool replays = false;
  // Both may be null. Not owned.
  ProgressObserver* progress = nullptr;
  std::function<bool()> interrupted;
};

// The kernels to tune, with the run that they belong to.
struct TuningTask {
  RunRecord run;
  std::vector<Kernel> kernels;
  // A run to go on with; its id is that of `run`.
  std::optional<InterruptedRun> resume;
};

// The tuning loop, and the owner of everything that takes part in it. Not thread-safe. The same
// parts, options and task give the same report, times of the host aside.
class Tuner {
 public:
  // InvalidArgument for options out of range, a strategy that does not exist, or one that needs a
  // model without one.
  static absl::StatusOr<std::unique_ptr<Tuner>> Create(TunerParts parts, TunerOptions options);

  // Tunes until the budget is spent, the spaces are exhausted or the user interrupts. A backend or
  // store that breaks ends the run (RunOutcome::kFailed) with all that was found. What only the
  // command knows (paths, commands to type) is left empty in the report.
  TuningReport Tune(const TuningTask& task);

 private:
  Tuner(TunerParts parts, TunerOptions options);

  TunerParts parts_;
  TunerOptions options_;
};

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_TUNER_H_
