#ifndef AUTOTUNE_COSTMODEL_EVALUATION_H_
#define AUTOTUNE_COSTMODEL_EVALUATION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "costmodel/example_store.h"
#include "costmodel/network.h"
#include "nlohmann/json.hpp"

namespace autotune {

// What a model said of one recorded kernel, beside what was measured.
struct ScoredKernel {
  ExampleInfo info;
  std::vector<double> seconds;      // [configs], measured
  std::vector<double> log_seconds;  // [configs], predicted
};

// A value and where it lies in 95 % of bootstrap samples (kernels drawn with replacement).
struct MetricEstimate {
  double value = 0;
  double low = 0, high = 0;
};

// How good a model's predictions are over a set of kernels (costmodel/rank_metrics.h).
struct ModelMetrics {
  MetricEstimate kendall_tau;         // mean over kernels that have one
  MetricEstimate tile_size_ape;       // per cent, over all kernels as one program
  MetricEstimate program_ape_median;  // per cent, median over programs
  MetricEstimate top1, top5, top10;   // mean over kernels, per cent
  MetricEstimate mape;                // per cent, over all configurations
  MetricEstimate mape_5us;            // of those that take at least 5 us
  int64_t kernels = 0;
  int64_t configs = 0;
  int64_t programs = 0;
};

// What `network`, or without one the base (the analytical model fitted on the training data), says
// of every kernel of a store. Independent of `jobs`.
absl::StatusOr<std::vector<ScoredKernel>> ScoreStore(const Network* network,
                                                     const ExampleStore& store, int jobs);

// `samples` bootstrap samples drawn with `seed`; 0 for none (bounds then equal the value).
ModelMetrics SummarizeScores(absl::Span<const ScoredKernel> kernels, int samples, uint64_t seed);

nlohmann::json ToJson(const ModelMetrics& metrics);

}  // namespace autotune

#endif  // AUTOTUNE_COSTMODEL_EVALUATION_H_
