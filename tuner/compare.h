#ifndef AUTOTUNE_TUNER_COMPARE_H_
#define AUTOTUNE_TUNER_COMPARE_H_

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "costmodel/cost_model.h"
#include "hardware/recording.h"
#include "hlo/kernel.h"
#include "tuner/compare_methods.h"
#include "tuner/compare_statistics.h"
#include "tuner/comparison_report.h"
#include "tuner/simulated_clock.h"

namespace autotune {

// A cost model under the name that methods use. Does not own the model.
struct NamedModel {
  std::string name;
  const CostModel* model;
};

// What a comparison does. Data only.
struct ComparisonOptions {
  std::vector<SearchMethod> methods;
  int64_t seeds = 100;
  uint64_t first_seed = 1;
  bool with_default = false;  // every run measures the compiler's default first
  std::optional<int64_t> max_evaluations;
  double exploration = 0.1;  // see PrefilterOptions
  SimulatedClock clock;
  StatisticPoints points;
  std::vector<int64_t> top_k = {1, 5, 10};
  int jobs = 0;  // threads; 0: as many as there are cores
  // Called now and then, from one thread at a time, with the number of runs done and of all runs;
  // false stops the comparison. May be null.
  std::function<bool(int64_t done, int64_t total)> progress;
};

// Tries every method with every seed on every one of `kernels` that is recorded; the recorded
// configurations of a kernel are the whole space. The result depends on the arguments alone, not on
// the number of threads (only `wall_seconds` does). Reads and writes no store.
//
// A kernel without a record is a warning; InvalidArgument if none has any time, if a method names a
// model that `models` lacks, or for a negative number; Cancelled if `progress` said so.
absl::StatusOr<ComparisonReport> RunComparison(absl::Span<const Kernel> kernels,
                                               const Recording& recording,
                                               absl::Span<const NamedModel> models,
                                               const ComparisonOptions& options);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_COMPARE_H_
