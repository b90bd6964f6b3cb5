#ifndef AUTOTUNE_HARDWARE_FUSION_COMPILER_H_
#define AUTOTUNE_HARDWARE_FUSION_COMPILER_H_

#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "hardware/aot_backend.h"
#include "hardware/aot_compiler.h"
#include "hardware/aot_estimate.h"
#include "hardware/device_spec.h"
#include "hardware/measurement.h"
#include "hlo/fusion_decision.h"
#include "hlo/fusion_graph.h"
#include "hlo/fusion_realised.h"

namespace autotune {

// Three estimates of the same time, in seconds. They may differ in the sign of a comparison; only
// hardware settles it then.
struct FusionTimes {
  // The static schedule with transfers (EstimateSeconds), and never less than the matrix units'
  // peak and the published bandwidth allow: the primary one.
  double schedule = 0;
  double bundles = 0;   // the static schedule's cycles alone
  double compiler = 0;  // the compiler's own `estimated_cycles`

  FusionTimes& operator+=(const FusionTimes& other);
};

// One kernel of a compiled program.
struct FusionKernel {
  RealisedKernel realised;
  uint64_t fingerprint = 0;
  std::string kind;  // as Kernel::kind
  FusionTimes once;  // of one execution
  // Where there was no static schedule `once` holds what the kernel takes at least; where the
  // compiler states no cycles, its estimate is that of the schedule.
  bool has_schedule = false;
  bool has_compiler_estimate = false;
};

// A whole program as compiled under one fusion configuration.
struct FusionCompilation {
  RealisedGrouping grouping;
  std::string key;  // grouping.Key()
  std::vector<FusionKernel> kernels;
  FusionTimes total;  // over all kernels, each times its executions
  double compile_seconds = 0;
};

// Compiles whole programs under fusion configurations with the TPU compiler, ahead of time, reads
// back what it fused, and estimates the program's time. Thread-safe; one compilation at a time.
class FusionCompiler {
 public:
  // Uses target, plugin, worker, time-out and memory limit of the options. Errors as
  // AotBackend::Create has them; nothing is compiled yet.
  static absl::StatusOr<std::unique_ptr<FusionCompiler>> Create(const AotBackendOptions& options);

  // Failures as AotCompiler::Compile has them. A non-OK status means that nothing can be compiled,
  // or that the decision does not fit the graph.
  absl::StatusOr<std::variant<FusionCompilation, Failure>> Compile(const FusionGraph& graph,
                                                                   const FusionDecision& decision);

  const DeviceSpec& device() const { return device_; }
  // The compiler's version; empty before the first compilation.
  std::string version() const;

 private:
  FusionCompiler(DeviceSpec device, std::unique_ptr<AotCompiler> compiler);

  const DeviceSpec device_;
  const EstimateConstants constants_;
  mutable absl::Mutex mutex_;
  const std::unique_ptr<AotCompiler> compiler_ ABSL_PT_GUARDED_BY(mutex_);
  std::string version_ ABSL_GUARDED_BY(mutex_);
};

// The kernels of a compiled, stamped program with their times, and the program's.
absl::StatusOr<FusionCompilation> EstimateFusion(const HloModule& optimized,
                                                 const std::vector<BundleSchedule>& schedules,
                                                 const DeviceSpec& device,
                                                 const EstimateConstants& constants);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_FUSION_COMPILER_H_
