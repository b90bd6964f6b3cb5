#ifndef AUTOTUNE_TUNER_INSPECTION_H_
#define AUTOTUNE_TUNER_INSPECTION_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "nlohmann/json_fwd.hpp"
#include "tuner/program.h"
#include "tuner/tuning_report.h"

namespace autotune {

// What `autotune inspect` shows of one kernel. Data only; times in seconds of one execution.
struct InspectedKernel {
  std::string name;
  std::string kind;
  int64_t count = 1;
  uint64_t fingerprint = 0;
  std::string tile;  // the compiler's choice, as a key; may be empty
  KernelCost cost;
  bool memory_bound = false;  // the roofline is that of HBM
  std::optional<double> compiler_seconds;
  std::optional<double> analytical_seconds;
  std::optional<double> recorded_seconds;  // of the default in a recording
  // Of all executions: recorded, else by the compiler, else analytical, else roofline.
  double program_seconds = 0;
};

// What `autotune inspect` shows of a program. Data only.
struct Inspection {
  std::string path;
  std::string name;
  std::string device;
  std::string device_reason;
  std::string stage;  // how far the program is compiled; empty for a recording
  bool before_optimisation = false;
  int64_t instructions = 0;
  int64_t computations = 0;
  double flops = 0;  // of the whole program
  double transcendentals = 0;
  double bytes = 0;
  std::vector<InspectedKernel> kernels;  // in the program's order
  double program_seconds = 0;            // sum over the kernels
};

// Looks at a program for a target ("tpu-v3", "v3"; empty: the recording's, else v5e). The status of
// an unknown target carries its exit code.
absl::StatusOr<Inspection> Inspect(const Program& program, const std::string& target);

// For a terminal; `limit` kernels, dearest first, all if it is 0.
std::string InspectionText(const Inspection& inspection, int64_t limit);

// {"schema": "autotune.inspect/1", ...}, documented in docs/cli.md.
nlohmann::json InspectionJson(const Inspection& inspection);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_INSPECTION_H_
