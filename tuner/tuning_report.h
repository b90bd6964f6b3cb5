#ifndef AUTOTUNE_TUNER_TUNING_REPORT_H_
#define AUTOTUNE_TUNER_TUNING_REPORT_H_

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/string_view.h"
#include "hardware/config.h"
#include "hardware/measurement.h"
#include "hardware/record_store.h"

namespace autotune {

// Everything that a tuning run found, as data. The console, JSON and HTML renderers share it; none
// of them computes more than sums and ratios. All times are in seconds of one execution.

// Why a candidate was sent to the backend.
enum class CandidateRole {
  kDefault,       // the compiler's own choice
  kSearch,        // proposed by the strategy
  kConfirmation,  // a finalist or the default, measured again at the end
};

// "default", "search" or "confirmation"; stable.
absl::string_view CandidateRoleName(CandidateRole role);
std::optional<CandidateRole> CandidateRoleFromName(absl::string_view name);

// One candidate in the order in which its fate was decided.
struct CandidateOutcome {
  int64_t sequence = 0;  // its number in the run and in the run's records
  size_t kernel = 0;     // index into TuningReport::kernels
  Config config{OpaqueConfig{}};
  CandidateRole role = CandidateRole::kSearch;
  Fate fate = Fate::kProposed;
  std::vector<Prediction> predictions;     // of each model that ranked it
  std::optional<Measurement> measurement;  // absent for Fate::kProposed
  double wall_seconds = 0;                 // since the start of the run
  double device_seconds = 0;               // device (or simulated device) time used so far
  int64_t measurements = 0;                // budget spent so far, this one included
};

// A configuration and what its measurement gave.
struct ConfigResult {
  Config config;
  Measurement measurement;
};

// The median time of a result, if there is one and it is a time.
std::optional<double> SecondsOf(const std::optional<ConfigResult>& result);

// What a kernel costs by itself, from cost analysis; independent of its configuration.
struct KernelCost {
  double flops = 0;
  double transcendentals = 0;
  double bytes = 0;             // moved between HBM and the core
  double roofline_seconds = 0;  // as RooflineSeconds
};

// How many candidates failed in one way, with the first message.
struct FailureCount {
  FailureKind kind;
  int64_t count = 0;
  std::string first_message;
};

// Counts the failures among measurements, by kind. A plain value.
class FailureCounter {
 public:
  void Add(const Measurement& measurement);
  // In the order of the kinds.
  std::vector<FailureCount> Counts() const;

 private:
  std::map<FailureKind, FailureCount> counts_;
};

// A model that ranked candidates, and what its scores mean.
struct RankingModel {
  std::string name;               // "analytical", "learned"
  bool predicts_seconds = false;  // scores are log-seconds; else comparable within a kernel only
};

// The confidence interval of a speed-up, from the samples of default and best (see
// speedup_interval.h).
struct SpeedupInterval {
  double low = 0;
  double high = 0;
  double confidence = 0.95;
  // Kernels that changed: with repeats on both sides, and without, which count as exact.
  int64_t kernels = 0;
  int64_t kernels_without_repeats = 0;
};

// A model's choice of a kernel's configuration and what it takes, where that is known.
struct ModelChoice {
  std::string model;  // "analytical", "learned"
  Config config{OpaqueConfig{}};
  double score = 0;               // the model's prediction, in its own unit
  std::optional<double> seconds;  // measured or recorded; absent if neither
};

// One kernel of the program.
struct KernelReport {
  std::string name;
  std::string kind;
  int64_t count = 1;  // executions per run of the program
  uint64_t fingerprint = 0;
  // True if its recorded configurations cannot be told apart by content (an empty tile): its best
  // cannot be applied, and no model can rank them.
  bool opaque = false;
  // In words: "8,064 legal tiles", "579 recorded tiles", "3 recorded configurations (opaque)".
  std::string space;
  std::optional<int64_t> space_size;
  // Why the kernel was not tuned, or empty: "not in the recording", "no tile fits in VMEM", ...
  std::string not_tuned;

  std::optional<ConfigResult> compiler_default;
  std::optional<ConfigResult> best;        // SelectBest over everything measured or reused
  std::optional<ConfigResult> best_known;  // the best of the whole recording; replay only
  std::vector<ModelChoice> model_choices;  // one per model that can rank this kernel
  std::optional<KernelCost> cost;
  // The compiler's own estimate of its default.
  std::optional<double> compiler_estimate_seconds;

  int64_t measurements = 0;  // budget spent on this kernel
  int64_t reused = 0;        // results taken from the record store
  std::vector<FailureCount> failures;
  // Kendall's tau between the primary model's predictions and what was measured in this run; absent
  // with fewer than three pairs.
  std::optional<double> model_tau;
  // Of Speedup(); absent without repeats.
  std::optional<SpeedupInterval> speedup_interval;

  // Speed-up of the best over the default (1 = as fast); nullopt if either has no time.
  std::optional<double> Speedup() const;
};

// A kernel of one of several programs.
struct ProgramKernel {
  size_t kernel = 0;  // index into TuningReport::kernels
  int64_t count = 1;  // executions per run of this program
  friend bool operator==(const ProgramKernel&, const ProgramKernel&) = default;
};

// One of several programs that were tuned together.
struct ProgramReport {
  std::string path;
  std::string name;  // of its HLO module
  std::vector<ProgramKernel> kernels;
  // Of one run, as the totals below; absent where no kernel has a time of its own.
  std::optional<double> default_seconds;
  std::optional<double> best_seconds;

  // Default over best; nullopt if either is absent.
  std::optional<double> Speedup() const;
};

// The time of one run of the program under one set of choices: the sum over kernels of count times
// time. A kernel without a choice of its own keeps the default; one that has no time at all counts
// in no total.
struct ProgramTotal {
  std::string name;  // "default", "best found", "analytical", "best known"
  double seconds = 0;
  int64_t kernels = 0;  // distinct kernels that this total has an own time for
};

// Where the run's time went, in seconds of wall time.
struct TimeSplit {
  double load = 0;
  double search = 0;   // proposing, predicting, ranking
  double measure = 0;  // in the backend
  double store = 0;    // in the record store
  // Of the device, real or simulated: compiling and running candidates.
  double device_compile = 0;
  double device_run = 0;
};

// A point of a best-so-far curve over the whole program.
struct ProgressPoint {
  int64_t measurements = 0;
  double wall_seconds = 0;
  double device_seconds = 0;
  double program_seconds = 0;  // total with the best so far of every kernel
};

enum class RunOutcome {
  kDone,             // budget spent, or nothing left that could gain
  kNothingMeasured,  // finished, but no kernel has a time
  kInterrupted,      // stopped by the user; can be resumed
  kFailed,           // the backend or the store broke; can be resumed
};

// "done", "nothing measured", "interrupted" or "failed"; stable.
absl::string_view RunOutcomeName(RunOutcome outcome);
std::optional<RunOutcome> RunOutcomeFromName(absl::string_view name);

// Commands that a user may want next, ready for a shell.
struct NextCommands {
  std::string reproduce;
  std::string resume;  // empty unless the run can be resumed
  std::string apply;   // empty if the result cannot be applied
};

// A plain value.
struct TuningReport {
  // Of the run.
  std::string run_id;
  std::string autotune_version;
  std::string program;         // path as given
  std::string program_name;    // of the HLO module
  std::string backend;         // "replay", ...
  std::string backend_reason;  // why it was chosen
  std::string device;          // "tpu-v3"
  std::string versions;        // compiler and libraries, from the backend; may be empty
  TimeSource time_source = TimeSource::kHardware;
  std::string strategy;
  std::string model;  // "analytical", "none", ...
  std::string space;  // "tile"
  uint64_t seed = 0;
  std::optional<int64_t> budget;
  std::optional<double> budget_seconds;
  int64_t started_unix_micros = 0;
  double wall_seconds = 0;
  RunOutcome outcome = RunOutcome::kDone;
  std::string error;  // with kFailed: what broke
  std::vector<std::string> recordings;
  std::string output_directory;
  std::string host;
  std::vector<std::string> warnings;
  NextCommands commands;

  // Of the store: its URL, and how many look-ups it answered.
  std::string store;
  int64_t store_hits = 0;
  int64_t store_misses = 0;

  // What was found.
  std::vector<RankingModel> models;
  std::vector<KernelReport> kernels;    // in the program's order
  std::vector<ProgramReport> programs;  // that were tuned together; empty for one
  std::vector<ProgramTotal> totals;     // "default" first, then "best found", models, "best known"
  std::vector<CandidateOutcome> candidates;
  std::vector<ProgressPoint> progress;
  std::optional<SpeedupInterval> speedup_interval;  // of Speedup(); absent without repeats
  int64_t measurements = 0;
  TimeSplit time;

  // The total with this name, or null.
  const ProgramTotal* Total(absl::string_view name) const;
  // Default total over best-found total; nullopt if there is no default time.
  std::optional<double> Speedup() const;
  // The model that ranked under this name, or null.
  const RankingModel* Model(absl::string_view name) const;
};

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_TUNING_REPORT_H_
