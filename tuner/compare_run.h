#ifndef AUTOTUNE_TUNER_COMPARE_RUN_H_
#define AUTOTUNE_TUNER_COMPARE_RUN_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "costmodel/cost_model.h"
#include "hardware/recording.h"
#include "search/candidate_scorer.h"
#include "search/recorded_space.h"
#include "tuner/compare_methods.h"
#include "tuner/simulated_clock.h"

namespace autotune {

// The predictions of a model for all recorded configurations of a kernel, made once and shared by
// all runs. Immutable, thread-safe.
class TableScorer final : public CandidateScorer {
 public:
  // Asks the model. Does not keep `model` or `kernel`. Fails where the model does, or if it answers
  // with another number of predictions.
  static absl::StatusOr<std::unique_ptr<TableScorer>> Create(const CostModel& model,
                                                             const RecordedKernel& kernel);

  // +infinity for everything: a model that says nothing of this kernel.
  static std::unique_ptr<TableScorer> CreateBlind(const RecordedKernel& kernel);

  // +infinity for a configuration that is not recorded.
  std::vector<double> Score(absl::Span<const Config> configs) const override;

  // One prediction per configuration, in recorded order.
  const std::vector<double>& scores() const { return scores_; }

 private:
  std::vector<double> scores_;
  absl::flat_hash_map<std::string, double> table_;
};

// A recorded kernel as the space of a comparison. Immutable, thread-safe; must not outlive the
// kernel.
class ComparedKernel {
 public:
  ComparedKernel(const RecordedKernel& kernel, TimeSource source, const SimulatedClock& clock);

  // What measuring one configuration gives.
  struct Answer {
    Measurement measurement;
    double seconds;        // +infinity for a failure
    double clock_seconds;  // what the measurement costs
  };

  const RecordedKernel& recorded() const { return recorded_; }
  const RecordedSpace& space() const { return space_; }
  // REQUIRES: a recorded configuration.
  const Answer& Measure(const Config& config) const;
  double best_seconds() const { return best_seconds_; }

 private:
  const RecordedKernel& recorded_;
  RecordedSpace space_;
  absl::flat_hash_map<std::string, Answer> answers_;
  double best_seconds_ = 0;
};

// The course of one search, one entry per evaluation.
struct SearchRun {
  std::vector<double> best_so_far;    // in seconds; +infinity while nothing has a time
  std::vector<double> clock_seconds;  // of the simulated device, since the start
};

// How a run of a comparison is made. Data only.
struct SearchRunOptions {
  bool with_default = false;  // measure the compiler's default first, where it is recorded
  std::optional<int64_t> max_evaluations;
  double exploration = 0.1;  // see PrefilterOptions
  uint64_t seed = 0;
  // How uncertain the method's model is, for the exploration; null where it does not say.
  std::function<std::vector<double>(absl::Span<const Config>)> spread;
};

// Searches one kernel with one method, one candidate at a time and through the same proposals,
// ranking and prefilter as a real run, until the space is exhausted, the evaluations are spent, or
// the best recorded configuration is found (nothing can change after that). `scorer` is null for a
// method without a model. Thread-safe; deterministic.
absl::StatusOr<SearchRun> RunSearch(const ComparedKernel& kernel, const SearchMethod& method,
                                    const CandidateScorer* scorer, const SearchRunOptions& options);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_COMPARE_RUN_H_
