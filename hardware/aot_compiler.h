#ifndef AUTOTUNE_HARDWARE_AOT_COMPILER_H_
#define AUTOTUNE_HARDWARE_AOT_COMPILER_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/time/time.h"
#include "hardware/bundle_schedule.h"
#include "hardware/measurement.h"
#include "hardware/pjrt_plugin.h"
#include "hardware/scratch_folder.h"
#include "hardware/worker_process.h"
#include "hlo/module.h"

namespace autotune {

// Where and how to compile ahead of time.
struct AotCompilerOptions {
  std::string plugin;    // the path of libtpu.so
  std::string worker;    // the path of autotune-worker
  std::string topology;  // "v3:2x2"
  absl::Duration timeout = absl::Seconds(120);
  // Of one worker process; 0 for no limit.
  int64_t memory_limit_bytes = int64_t{8} << 30;
  // More options for the compiler ("--xla_..."), which go into LIBTPU_INIT_ARGS.
  std::string flags;
};

// The environment of a process that loads libtpu without a TPU and leaves nothing outside of
// `scratch`.
std::vector<std::pair<std::string, std::string>> LibtpuEnvironment(const ScratchFolder& scratch);

// Starts a process that compiles so: in that environment, with the dump of static schedules into
// the work folder of `scratch`. Fails as WorkerProcess::Start does.
absl::StatusOr<std::unique_ptr<WorkerProcess>> StartAotWorker(const AotCompilerOptions& options,
                                                              const ScratchFolder& scratch);

// What a compilation took, in seconds. Adds up over compilations.
struct AotTimes {
  double start = 0;  // starting workers and loading the plugin in them
  double compile = 0;
  double read_back = 0;  // the optimised program
  double parse = 0;      // the static schedules
  int64_t workers_started = 0;
  int64_t dump_bytes = 0;

  AotTimes& operator+=(const AotTimes& other);
};

// What came out of a compilation.
struct AotProgram {
  std::unique_ptr<HloModule> module;      // optimised
  std::vector<BundleSchedule> schedules;  // one a kernel, in the order of compilation
  std::string compiler;                   // the compiler's version: CompilerVersion
  std::string executable;                 // where it was asked for
  AotTimes times;

  // The schedule of the kernel of that name: the one that bears the name, or the only one, unless
  // that belongs to a copy of StageVmemOperands. Null if there is none.
  const BundleSchedule* ScheduleOf(absl::string_view kernel) const;
};

// The TPU compiler in a watched worker process that stays up between compilations and is replaced
// when it dies. Owns the folder that the compiler writes its schedules to. Not thread-safe; make
// one for each thread.
class AotCompiler {
 public:
  // The errors of ScratchFolder::Create if the folder cannot be made. Starts no process yet.
  static absl::StatusOr<std::unique_ptr<AotCompiler>> Create(const AotCompilerOptions& options);

  // Compiles a program, or says why there is no result: kCompileError, kCrash, kOutOfMemory or
  // kTimeout. A non-OK status means that workers cannot be started at all, or, ResourceExhausted,
  // that the disk is full where they write. With `serialize` the
  // executable comes along; with `timeout` that holds instead of the options'.
  absl::StatusOr<std::variant<AotProgram, Failure>> Compile(
      const PjrtProgram& program, bool serialize = false,
      std::optional<absl::Duration> timeout = std::nullopt);

  // Ends the worker; the next compilation starts one. For measuring what staying up is worth.
  void StopWorker() { worker_.reset(); }

 private:
  AotCompiler(const AotCompilerOptions& options, std::unique_ptr<ScratchFolder> scratch);

  absl::Status StartWorker();
  // The worker's answer. ResourceExhausted if the disk is full where it writes.
  absl::StatusOr<std::variant<std::string, Failure>> Ask(const PjrtProgram& program, bool serialize,
                                                         absl::Duration timeout);
  absl::StatusOr<std::variant<AotProgram, Failure>> Read(const std::string& answer);

  const AotCompilerOptions options_;
  const std::unique_ptr<ScratchFolder> scratch_;
  std::unique_ptr<WorkerProcess> worker_;  // ends before its folder goes
  // What the plugin said of itself, and what a record says of it.
  std::string reported_;
  std::string version_;
};

// The kind of failure behind a compiler's error.
FailureKind CompileFailureKind(const absl::Status& status);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_AOT_COMPILER_H_
