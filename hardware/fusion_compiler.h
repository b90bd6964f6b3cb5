#ifndef AUTOTUNE_HARDWARE_FUSION_COMPILER_H_
#define AUTOTUNE_HARDWARE_FUSION_COMPILER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "hardware/aot_backend.h"
#include "hardware/aot_compiler.h"
#include "hardware/aot_estimate.h"
#include "hardware/device_spec.h"
#include "hardware/hlo_phase.h"
#include "hardware/measurement.h"
#include "hlo/fusion_decision.h"
#include "hlo/fusion_graph.h"
#include "hlo/fusion_realised.h"
#include "hlo/kernel.h"

namespace autotune {

// Three estimates of the same time, in seconds. They may differ in the sign of a comparison; only
// hardware settles it then.
struct FusionTimes {
  // The static schedule with transfers, never below the roofline (EstimateSeconds): the primary
  // one.
  double schedule = 0;
  double bundles = 0;   // the static schedule's cycles alone
  double compiler = 0;  // the compiler's own `estimated_cycles`

  FusionTimes& operator+=(const FusionTimes& other);
};

// One kernel of a compiled program.
struct FusionKernel {
  RealisedKernel realised;
  uint64_t fingerprint = 0;
  // Of one execution. Where there was no static schedule it is what the kernel takes at least;
  // where the compiler states no cycles, its estimate is that of the schedule.
  FusionTimes once;
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
//
// The same kernel is emitted once: once the kernels of a program are known, a configuration of it
// takes the part of the compiler that works on HLO (HloPhase) and the emission of the kernels that
// are new. Their times are those that compiling the whole program gives.
class FusionCompiler {
 public:
  // Uses target, plugin, worker, both time-outs and memory limit of the options. Errors as
  // AotBackend::Create has them; nothing is compiled yet.
  static absl::StatusOr<std::unique_ptr<FusionCompiler>> Create(const AotBackendOptions& options);

  // Failures as AotCompiler::Compile has them. A non-OK status means that nothing can be compiled,
  // or that the decision does not fit the graph.
  absl::StatusOr<std::variant<FusionCompilation, Failure>> Compile(const FusionGraph& graph,
                                                                   const FusionDecision& decision);
  // The same with every kernel emitted as part of the program: what confirms a result.
  absl::StatusOr<std::variant<FusionCompilation, Failure>> CompileWhole(
      const FusionGraph& graph, const FusionDecision& decision);

  // A program as it is, tiles and barriers included. The grouping means nothing: nothing is
  // stamped.
  absl::StatusOr<std::variant<FusionCompilation, Failure>> CompileProgram(const HloModule& program);

  // The program that CompileWhole, or Compile where it had to, emitted last: its kernels with the
  // compiler's choices. Null before.
  std::shared_ptr<const HloModule> last_program() const;

  // Takes a kernel's times of one execution as known, for instance from a recording.
  void Know(uint64_t fingerprint, const FusionTimes& once);

  const DeviceSpec& device() const { return device_; }
  // The compiler's version; empty before the first compilation.
  std::string version() const;
  // Kernels emitted one by one, and programs emitted whole, so far.
  int64_t kernels_emitted() const;
  int64_t programs_emitted() const;

 private:
  FusionCompiler(DeviceSpec device, absl::Duration kernel_timeout,
                 std::unique_ptr<AotCompiler> compiler, std::unique_ptr<HloPhase> hlo_phase);

  // Nullopt where the whole program has to be compiled after all.
  std::optional<FusionCompilation> CompileNewKernels(const PjrtProgram& program)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Emits a kernel by itself; nullopt if it came out as another one, or not at all.
  std::optional<FusionTimes> Emit(const Kernel& kernel, double* compile_seconds)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<std::variant<FusionCompilation, Failure>> EmitProgram(const PjrtProgram& program,
                                                                       bool learn)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const DeviceSpec device_;
  const EstimateConstants constants_;
  const absl::Duration kernel_timeout_;
  mutable absl::Mutex mutex_;
  const std::unique_ptr<AotCompiler> compiler_ ABSL_PT_GUARDED_BY(mutex_);
  const std::unique_ptr<HloPhase> hlo_phase_ ABSL_PT_GUARDED_BY(mutex_);
  // Times of one execution, whatever program a kernel is part of, by Kernel::fingerprint.
  absl::flat_hash_map<uint64_t, FusionTimes> known_ ABSL_GUARDED_BY(mutex_);
  std::shared_ptr<const HloModule> last_program_ ABSL_GUARDED_BY(mutex_);
  std::string version_ ABSL_GUARDED_BY(mutex_);
  int64_t kernels_emitted_ ABSL_GUARDED_BY(mutex_) = 0;
  int64_t programs_emitted_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The kernels of a compiled, stamped program with their times, and the program's.
absl::StatusOr<FusionCompilation> EstimateFusion(const HloModule& optimized,
                                                 const std::vector<BundleSchedule>& schedules,
                                                 const DeviceSpec& device,
                                                 const EstimateConstants& constants);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_FUSION_COMPILER_H_
