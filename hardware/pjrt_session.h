#ifndef AUTOTUNE_HARDWARE_PJRT_SESSION_H_
#define AUTOTUNE_HARDWARE_PJRT_SESSION_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hardware/loop_program.h"
#include "hardware/measurement.h"
#include "hardware/pjrt_client.h"
#include "hardware/pjrt_profiler.h"
#include "hardware/slope_timing.h"
#include "proto/worker.pb.h"

namespace autotune {

// Compiling and timing on one plugin's device: what a worker process does for the `pjrt` backend.
// Executables are kept from Prepare to the Measure that uses them. Not thread-safe; must not
// outlive the plugin.
class PjrtSession {
 public:
  // Opens the device. What the plugin says where there is none.
  static absl::StatusOr<std::unique_ptr<PjrtSession>> Create(const PjrtPlugin& plugin);

  proto::DeviceReply Describe() const;
  absl::StatusOr<proto::DeviceCompileReply> Compile(
      const proto::DeviceCompileRequest& request) const;
  proto::DevicePrepareReply Prepare(const proto::DevicePrepareRequest& request);
  // A candidate that fails is a reply with a failure kind; a status means that the request is bad.
  absl::StatusOr<proto::DeviceMeasureReply> Measure(const proto::DeviceMeasureRequest& request);

 private:
  using Executable = absl::StatusOr<std::shared_ptr<const PjrtExecutable>>;
  using Buffers = std::vector<std::unique_ptr<PjrtBuffer>>;

  // A program ready to run, alone and (made when it is first needed) in a loop.
  struct Prepared {
    std::unique_ptr<HloModule> module;
    Executable alone = absl::UnknownError("not compiled");
    Executable loop = absl::UnknownError("not compiled");
    std::vector<Shape> results;
  };
  // The inputs, and what the unmodified program makes of them.
  struct Reference {
    std::string key;
    std::vector<HostArray> inputs;
    std::vector<HostArray> outputs;
  };

  PjrtSession(std::string api_version, std::unique_ptr<PjrtClient> client,
              std::unique_ptr<PjrtProfiler> profiler, double start_seconds);

  Executable CompileModule(const proto::HloModuleProto& module) const;
  absl::StatusOr<std::shared_ptr<Prepared>> PrepareProgram(const std::string& program) const;
  absl::StatusOr<std::shared_ptr<Prepared>> TakePrepared(const std::string& program);
  absl::StatusOr<Buffers> Upload(const std::vector<HostArray>& arrays,
                                 const PjrtExecutable& executable) const;
  absl::StatusOr<std::vector<HostArray>> RunOnce(const PjrtExecutable& executable,
                                                 const std::vector<HostArray>& inputs,
                                                 double* seconds) const;
  // Where it fails, *kind says how.
  absl::Status SetReference(const proto::DeviceMeasureRequest& request, const Prepared& program,
                            FailureKind* kind);
  // Times by what the device offers: its profiler, a loop on it, single calls.
  absl::Status Time(const proto::DeviceMeasureRequest& request, Prepared& program,
                    double call_seconds, proto::DeviceMeasureReply* reply);
  absl::Status TimeByProfiler(const Prepared& program, int repeats,
                              proto::DeviceMeasureReply* reply) const;
  // False, and in *unfit why, where no loop does what the program does.
  absl::StatusOr<bool> TimeByLoop(const proto::DeviceMeasureRequest& request, Prepared& program,
                                  absl::Status* unfit, proto::DeviceMeasureReply* reply) const;
  absl::Status TimeCalls(const Prepared& program, int repeats,
                         proto::DeviceMeasureReply* reply) const;
  absl::StatusOr<SlopeResult> TimeLoop(const Prepared& program, const PjrtExecutable& loop,
                                       LoopLink link, const SlopeOptions& options) const;

  const std::string api_version_;
  const std::unique_ptr<PjrtClient> client_;
  const std::unique_ptr<PjrtProfiler> profiler_;  // null where the plugin offers none
  const double start_seconds_;
  std::map<std::string, std::shared_ptr<Prepared>> prepared_;  // by the program's bytes
  Reference reference_;
};

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_PJRT_SESSION_H_
