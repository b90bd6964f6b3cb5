#ifndef AUTOTUNE_TUNER_COMPARE_STATISTICS_H_
#define AUTOTUNE_TUNER_COMPARE_STATISTICS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "tuner/compare_run.h"
#include "tuner/comparison_report.h"

namespace autotune {

// All runs of one method on one kernel, one per seed in the order of seeds.
struct KernelRuns {
  double best_seconds = 0;  // recorded
  double weight = 1;        // executions per run of the program
  std::vector<SearchRun> runs;
};

// Where a comparison looks at its runs.
struct StatisticPoints {
  std::vector<double> percents = {5, 1};
  std::vector<double> evaluations = {1, 5, 10, 20, 50};
  std::vector<double> seconds = {2, 5, 10, 20, 50};
};

// What the runs on some kernels come to; for one kernel pass one. See ComparisonReport::overall for
// what is summed and weighted. Kernels with no runs are an error of the caller: REQUIRES as many
// runs, and at least one, of every kernel. `method` is left empty. Pure.
MethodResult Summarize(absl::Span<const KernelRuns* const> kernels, const StatisticPoints& points);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_COMPARE_STATISTICS_H_
