#ifndef AUTOTUNE_HARDWARE_AOT_BACKEND_H_
#define AUTOTUNE_HARDWARE_AOT_BACKEND_H_

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "hardware/aot_compiler.h"
#include "hardware/aot_estimate.h"
#include "hardware/device_spec.h"
#include "hardware/measurement_backend.h"
#include "hlo/tuning_site.h"

namespace autotune {

// How to set up the `aot` backend.
struct AotBackendOptions {
  std::string target = "v5e";  // any name that FindDeviceSpec knows
  std::string plugin;          // the path of libtpu.so; empty: FindLibtpu()
  std::string worker;          // the path of autotune-worker; empty: FindWorkerProgram()
  int jobs = 1;                // compilations at a time, each in a worker of its own
  absl::Duration timeout = absl::Seconds(120);         // of one kernel
  absl::Duration program_timeout = absl::Minutes(30);  // of a whole program
  int64_t memory_limit_bytes = int64_t{8} << 30;       // of one worker
};

// What an estimate came from, beside the Measurement: for reports and for fitting.
struct AotEstimate {
  double seconds = 0;
  EstimateInputs inputs;
  CompilerChoice choice;  // bounds as compiled, input and iteration bounds included
  BundleSchedule schedule;
  double compile_seconds = 0;
};

// A program before optimisation, as the default compile left it.
struct AotDefault {
  std::shared_ptr<const HloModule> optimized;
  std::vector<Kernel> kernels;  // with the compiler's choices
  // Where each kernel with a window comes from; empty for a program that was optimised already.
  std::vector<TuningSite> sites;
  double compile_seconds = 0;
};

// The TPU compiler, ahead of time, as an estimator: no TPU is needed. A candidate's kernel is
// compiled whole with its tile (hardware/aot_program.h says how), checked, and timed by its static
// schedule (hardware/aot_estimate.h). All its times are TimeSource::kEstimate.
//
// Measure and the other calls are thread-safe; at most `jobs` compilations run at a time.
class AotBackend : public MeasurementBackend {
 public:
  // NotFound, saying how to get it, where libtpu or the worker is missing; InvalidArgument for an
  // unknown target. Compiles a tiny program to learn the compiler's version.
  static absl::StatusOr<std::unique_ptr<AotBackend>> Create(const AotBackendOptions& options);
  ~AotBackend() override;

  const Capabilities& capabilities() const override { return capabilities_; }
  const DeviceSpec& device() const { return device_; }

  // Failures: kCompileError, kCrash, kTimeout, kOutOfMemory; kNotFaithful where another kernel or
  // other bounds came out, and for configurations that are no tile.
  absl::StatusOr<std::vector<Measurement>> Measure(absl::Span<const Candidate> candidates) override;
  absl::StatusOr<std::vector<Measurement>> MeasureEach(absl::Span<const Candidate> candidates,
                                                       ResultSink sink) override;

  // The estimate of one kernel with its whole derivation; `bounds` null for the compiler's choice.
  absl::StatusOr<std::variant<AotEstimate, Failure>> Estimate(const Kernel& kernel,
                                                              const TileBounds* bounds);

  // Compiles a program as it is, before optimisation or not, and finds its kernels and where they
  // come from. One that is scheduled keeps its kernels, and its layouts of parameters and results.
  // Elided constants count as zeros. The compiler's complaint if it does not compile.
  absl::StatusOr<AotDefault> CompileProgram(const HloModule& program);

  // The compiled program in the compiler's own form, for loading it on a device of the generation.
  absl::StatusOr<std::string> CompileToExecutable(const HloModule& program);

 private:
  AotBackend(DeviceSpec device, AotCompilerOptions options, int jobs);

  class Lease;
  absl::StatusOr<std::unique_ptr<AotCompiler>> Borrow();
  void Return(std::unique_ptr<AotCompiler> compiler);
  absl::StatusOr<std::variant<AotProgram, Failure>> Compile(
      const PjrtProgram& program, bool serialize = false,
      std::optional<absl::Duration> timeout = std::nullopt);
  absl::StatusOr<Measurement> MeasureOne(const Candidate& candidate);

  const DeviceSpec device_;
  const EstimateConstants constants_;
  const AotCompilerOptions compiler_options_;
  absl::Duration program_timeout_ = absl::InfiniteDuration();
  const int jobs_;
  Capabilities capabilities_;

  absl::Mutex mutex_;
  std::vector<std::unique_ptr<AotCompiler>> idle_ ABSL_GUARDED_BY(mutex_);
  int borrowed_ ABSL_GUARDED_BY(mutex_) = 0;
};

// The name that libtpu has for the smallest topology of a generation ("tpu-v3": "v3:2x2").
// InvalidArgument for one that it cannot compile for.
absl::StatusOr<std::string> AotTopology(const DeviceSpec& device);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_AOT_BACKEND_H_
