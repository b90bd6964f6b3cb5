#ifndef AUTOTUNE_TUNER_COMPARISON_REPORT_H_
#define AUTOTUNE_TUNER_COMPARISON_REPORT_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "hardware/measurement.h"

namespace autotune {

// What a comparison of search methods on recordings found, as data: the console, JSON and HTML
// renderers share it. Evaluations are measurements, failures included. Clock times are seconds of a
// simulated device: compiling and running each measured candidate. A slowdown is the best time so
// far over the best recorded time. The spread is over seeds; percentiles are by nearest rank.

// When the runs of a method came within `percent` per cent of the best. Runs that end before count
// as "never", which is more than any number.
struct ReachStatistic {
  double percent = 0;
  int64_t runs = 0;
  int64_t reached = 0;
  std::optional<double> median;  // absent: never
  std::optional<double> p90;     // absent: never
  std::optional<double> p10;     // absent: never
};

// How good the runs of a method are after `at` evaluations, or after `at` seconds of the clock. A
// value is absent where nothing has a time yet (for the mean: in any run).
struct SlowdownStatistic {
  double at = 0;
  std::optional<double> p10;
  std::optional<double> median;
  std::optional<double> p90;
  std::optional<double> mean;
};

// One method on one kernel or over all of them. A method that says nothing of a kernel (a model on
// opaque configurations, a default that is not recorded) has no runs.
struct MethodResult {
  std::string method;
  int64_t runs = 0;
  std::vector<ReachStatistic> evaluations_to_within;
  std::vector<ReachStatistic> seconds_to_within;
  std::vector<SlowdownStatistic> slowdown_after_evaluations;
  std::vector<SlowdownStatistic> slowdown_after_seconds;
  // The whole course, at evaluations and times that grow geometrically; for charts.
  std::vector<SlowdownStatistic> evaluation_curve;
  std::vector<SlowdownStatistic> clock_curve;
};

// The error of a model's `k` best.
struct TopKStatistic {
  int64_t k = 1;
  double error = 0;  // 0.05 = 5 per cent slower than the best
};

// One recorded configuration as a model sees it.
struct PredictedPoint {
  std::string config;  // its key
  double prediction = 0;
  double seconds = 0;
};

// A model on one kernel. Only configurations that have a time count.
struct ModelAccuracy {
  std::string model;
  bool predicts_seconds = false;  // predictions are log-seconds; else a score
  std::optional<double> kendall_tau;
  std::vector<TopKStatistic> top_k;
  double chosen_seconds = 0;           // what the model's best takes
  std::string chosen_config;           // its key
  int64_t refused = 0;                 // configurations with a time that the model holds impossible
  std::vector<PredictedPoint> points;  // in recorded order
};

// A model over all kernels that are not opaque.
struct ModelSummary {
  std::string model;
  int64_t kernels = 0;
  std::optional<double> mean_kendall_tau;  // over the kernels that have one, unweighted
  std::vector<TopKStatistic> mean_top_k;   // over kernels, unweighted
  std::optional<double> tile_size_ape;     // per cent
};

struct KernelComparison {
  std::string name;
  std::string kind;
  int64_t count = 1;
  uint64_t fingerprint = 0;
  // Its configurations were recorded without their content: no model ranks them, and it is left out
  // of everything over all kernels.
  bool opaque = false;
  int64_t configs = 0;
  int64_t failures = 0;  // recorded configurations without a time
  double best_seconds = 0;
  std::string best_config;  // its key
  std::optional<double> default_seconds;
  std::vector<MethodResult> methods;
  std::vector<ModelAccuracy> models;
};

// A plain value.
struct ComparisonReport {
  std::string autotune_version;
  std::string program;
  std::vector<std::string> recordings;
  std::string device;
  std::string backend;   // what measured the recording
  std::string versions;  // of compiler and libraries; may be empty
  TimeSource time_source = TimeSource::kHardware;
  std::string command;  // that makes this comparison again; may be empty

  std::vector<std::string> methods;
  int64_t seeds = 0;
  uint64_t first_seed = 0;
  bool with_default = false;
  std::optional<int64_t> max_evaluations;
  double compile_seconds = 0;
  int64_t repeats = 0;
  double wall_seconds = 0;

  std::vector<KernelComparison> kernels;
  // Over the kernels that are not opaque. Evaluations and seconds until within p per cent: until
  // each kernel is, summed over kernels. Slowdown after n: of the program's time (kernels weighted
  // by their count) after n evaluations, or seconds, for each kernel.
  std::vector<MethodResult> overall;
  std::vector<ModelSummary> models;
  std::vector<std::string> warnings;
};

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_COMPARISON_REPORT_H_
