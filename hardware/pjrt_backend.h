#ifndef AUTOTUNE_HARDWARE_PJRT_BACKEND_H_
#define AUTOTUNE_HARDWARE_PJRT_BACKEND_H_

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"
#include "absl/time/time.h"
#include "absl/types/span.h"
#include "hardware/measurement_backend.h"
#include "hardware/scratch_folder.h"
#include "hardware/worker_process.h"
#include "hlo/kernel.h"
#include "hlo/module.h"
#include "proto/worker.pb.h"

namespace autotune {

// How to set up the `pjrt` backend.
struct PjrtBackendOptions {
  std::string plugin;  // the path of a PJRT plugin; empty: FindLibtpu()
  std::string worker;  // the path of autotune-worker; empty: FindWorkerProgram()
  int jobs = 1;        // compilations at a time; measuring is always one at a time
  int repeats = 10;
  uint64_t seed = 1;  // of the inputs
  // See SlopeOptions.
  double significant_seconds = 0.005;
  // Times whole calls instead of a loop on the device: for comparing the two.
  bool single_calls = false;
  absl::Duration timeout = absl::Seconds(120);     // of compiling and timing one candidate
  int64_t memory_limit_bytes = int64_t{16} << 30;  // of the worker
};

// What compiling for the device gives.
struct PjrtCompiled {
  std::shared_ptr<const HloModule> optimized;  // null where the plugin does not hand it out
  std::string executable;                      // where it was asked for
  double compile_seconds = 0;
};

// Where the time of a backend went, in seconds.
struct PjrtTimes {
  double start = 0;    // starting workers and opening the device in them
  double prepare = 0;  // compiling several candidates at a time
  double compile = 0;  // compiling alone, summed over candidates
  double run = 0;      // checking and timing
  int64_t workers_started = 0;
};

// A device behind a PJRT plugin: compiles, runs, compares with the unmodified program, and times.
// All of that happens in one watched worker process (a TPU belongs to one process), which is
// replaced when it dies. Times are TimeSource::kHardware; Measurement::method says how they were
// taken.
//
// A kernel with tile bounds is compiled as hardware/aot_program.h describes. On a CPU tile bounds
// mean nothing (capabilities().tiles): there a kernel or a whole program is measured as it is, as
// Config(FusionDecision{}), or with cuts, whose results are compared with those without.
//
// Thread-safe; calls wait for each other.
class PjrtBackend : public MeasurementBackend {
 public:
  // NotFound, saying how to get it, where the plugin or the worker is missing; what the plugin says
  // where it has no device.
  static absl::StatusOr<std::unique_ptr<PjrtBackend>> Create(const PjrtBackendOptions& options);
  ~PjrtBackend() override;

  const Capabilities& capabilities() const override { return capabilities_; }
  // What the plugin said of itself and its devices.
  const proto::DeviceReply& description() const { return description_; }

  // Failures: kCompileError, kCrash, kTimeout, kOutOfMemory; kWrongResult where the outputs are not
  // those of the unmodified program or there is no significant time; kNotFaithful for other bounds
  // than asked for, and configurations that the device cannot take.
  absl::StatusOr<std::vector<Measurement>> Measure(absl::Span<const Candidate> candidates) override;
  absl::StatusOr<std::vector<Measurement>> MeasureEach(absl::Span<const Candidate> candidates,
                                                       ResultSink sink) override;

  // Measures a program as it is, and compares its results with those of `reference` (null: with
  // nothing).
  absl::StatusOr<Measurement> MeasureProgram(const HloModule& program, const HloModule* reference);

  // Runs both programs once on the same inputs. OK if the results are equal within the tolerance of
  // their types; FailedPrecondition, saying where they differ or what failed, otherwise.
  absl::Status CompareResults(const HloModule& program, const HloModule& reference);

  // Compiles a program for the device; the compiler's complaint if it does not compile. With
  // `serialize` also gives the executable (Unimplemented where the plugin cannot).
  absl::StatusOr<PjrtCompiled> CompileProgram(const HloModule& program, bool serialize);

  PjrtTimes times() const;

 private:
  PjrtBackend(PjrtBackendOptions options, std::unique_ptr<ScratchFolder> scratch);

  // What is sent for one candidate, or why nothing can be.
  struct Job {
    std::string program;
    std::string reference;
    const Kernel* kernel = nullptr;
    const TileBounds* bounds = nullptr;
  };
  std::variant<Job, Failure> JobFor(const Candidate& candidate) const;

  absl::Status EnsureWorker() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<std::variant<proto::WorkerReply, Failure>> Call(
      const proto::WorkerRequest& request) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status PrepareJobs(absl::Span<const std::variant<Job, Failure>> jobs)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::StatusOr<Measurement> MeasureJob(const Job& job, int repeats)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const PjrtBackendOptions options_;
  Capabilities capabilities_;
  proto::DeviceReply description_;

  mutable absl::Mutex mutex_;
  const std::unique_ptr<ScratchFolder> scratch_;
  std::unique_ptr<WorkerProcess> worker_ ABSL_GUARDED_BY(mutex_);
  PjrtTimes times_ ABSL_GUARDED_BY(mutex_);
};

// The name that DeviceSpec has for a kind of device ("TPU v5 lite": "tpu-v5e"), else the
// platform's.
std::string DeviceNameOf(const std::string& platform, const std::string& device_kind);

// A whole program in the form of a kernel, for a backend that measures programs.
absl::StatusOr<Kernel> ProgramAsKernel(std::shared_ptr<const HloModule> program);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_PJRT_BACKEND_H_
