#include "tuner/backend_choice.h"

#include <algorithm>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hardware/aot_backend.h"
#include "hardware/pjrt_discovery.h"
#include "hardware/replay_backend.h"
#include "tuner/best_config.h"
#include "tuner/command_status.h"

namespace autotune {
namespace {

// Messages list so many kernels.
constexpr size_t kListed = 12;

constexpr char kHowToGetABackend[] =
    "no measurement backend is available:\n"
    "  replay: give recorded measurements with --recording FILE\n"
    "  aot: ./autotune --with aot installs the TPU compiler, which estimates times without a TPU\n"
    "`autotune backends` says what was looked for";

constexpr char kAssumedTarget[] = "tpu-v5e";

std::string Describe(const Kernel& kernel) {
  return absl::StrCat(kernel.name, " (", kernel.kind, ", ", FingerprintText(kernel.fingerprint),
                      ")");
}

std::string ListKernels(const std::vector<const Kernel*>& kernels) {
  std::vector<std::string> names;
  for (const Kernel* kernel : kernels) {
    if (names.size() == kListed) break;
    names.push_back(Describe(*kernel));
  }
  std::string text = absl::StrJoin(names, ", ");
  if (kernels.size() > kListed) {
    absl::StrAppend(&text, " and ", kernels.size() - kListed, " more");
  }
  return text.empty() ? "no kernels" : text;
}

absl::StatusOr<std::unique_ptr<ReplayBackend>> OpenRecordings(const TuneOptions& options,
                                                              const Program& program) {
  std::vector<Recording> recordings;
  if (program.recording) recordings.push_back(*program.recording);
  for (const std::string& path : options.recordings) {
    absl::StatusOr<Recording> recording = Recording::Load(path);
    if (!recording.ok()) return recording.status();
    recordings.push_back(*std::move(recording));
  }
  return ReplayBackend::Create(std::move(recordings));
}

// The recordings' names for messages.
std::string RecordingNames(const TuneOptions& options, const Program& program) {
  std::vector<std::string> names = options.recordings;
  if (program.recording) names.insert(names.begin(), program.path);
  return absl::StrJoin(names, " and ");
}

absl::StatusOr<ChosenBackend> ChooseReplay(const TuneOptions& options, const Program& program) {
  if (options.recordings.empty() && !program.recording) {
    return WithExitCode(kExitWrongUse,
                        absl::InvalidArgumentError("--backend replay needs --recording FILE"));
  }
  absl::StatusOr<std::unique_ptr<ReplayBackend>> replay = OpenRecordings(options, program);
  if (!replay.ok()) return WithExitCode(kExitBadInput, replay.status());
  const std::string device = (*replay)->capabilities().device;
  if (!options.target.empty() && options.target != device) {
    return WithExitCode(kExitWrongUse,
                        absl::InvalidArgumentError(absl::StrCat("--target ", options.target, ": ",
                                                                RecordingNames(options, program),
                                                                " was recorded on ", device)));
  }
  const Recording& recording = (*replay)->recording();
  absl::Status matching =
      RequireRecordedKernels(program, recording, RecordingNames(options, program));
  if (!matching.ok()) return matching;
  ChosenBackend chosen;
  chosen.reason = options.recordings.empty()
                      ? absl::StrCat(program.path, " is a recording")
                      : absl::StrCat("--recording ", absl::StrJoin(options.recordings, ", "));
  chosen.known = &recording;
  chosen.space_of = [&recording](const Kernel& kernel) {
    return SpaceFromRecording(kernel, recording);
  };
  chosen.backend = *std::move(replay);
  return chosen;
}

// The kernels of a program before optimisation, from one compile.
absl::Status CompileForKernels(AotBackend& backend, Program& program) {
  if (!program.kernels.empty() || !IsBeforeOptimisation(program)) return RequireKernels(program);
  absl::StatusOr<AotDefault> compiled = backend.CompileProgram(*program.module);
  if (!compiled.ok()) {
    return WithExitCode(kExitBadInput,
                        absl::Status(compiled.status().code(),
                                     absl::StrCat(program.path, " does not compile: ",
                                                  std::string(compiled.status().message()))));
  }
  program.kernels = std::move(compiled->kernels);
  return RequireKernels(program);
}

absl::StatusOr<ChosenBackend> ChooseAot(const TuneOptions& options, Program& program) {
  AotBackendOptions aot;
  aot.target = options.target.empty() ? kAssumedTarget : options.target;
  aot.jobs = static_cast<int>(options.jobs > 0 ? options.jobs
                                               : std::max(1u, std::thread::hardware_concurrency()));
  absl::StatusOr<std::unique_ptr<AotBackend>> backend = AotBackend::Create(aot);
  if (!backend.ok()) return WithExitCode(kExitBroken, backend.status());
  if (absl::Status status = CompileForKernels(**backend, program); !status.ok()) return status;
  ChosenBackend chosen;
  chosen.reason = absl::StrCat(
      options.backend.empty() ? "no --recording and no TPU, but libtpu is installed" : "--backend",
      options.target.empty() ? "; target assumed, --target names another" : "");
  const DeviceSpec device = (*backend)->device();
  chosen.space_of = [device](const Kernel& kernel) { return SpaceFromGeometry(kernel, device); };
  chosen.backend = *std::move(backend);
  return chosen;
}

}  // namespace

absl::Status RequireRecordedKernels(const Program& program, const Recording& recording,
                                    const std::string& recording_name) {
  std::vector<const Kernel*> wanted;
  for (const Kernel& kernel : program.kernels) {
    if (recording.Find(kernel.fingerprint) != nullptr) return absl::OkStatus();
    wanted.push_back(&kernel);
  }
  std::vector<const Kernel*> held;
  for (const RecordedKernel& kernel : recording.kernels()) held.push_back(&kernel.kernel());
  return WithExitCode(kExitBadInput, absl::NotFoundError(absl::StrCat(
                                         "no kernel of ", program.path, " is recorded in ",
                                         recording_name, "\n  looked for: ", ListKernels(wanted),
                                         "\n  the recording holds: ", ListKernels(held))));
}

absl::StatusOr<ChosenBackend> ChooseBackend(const TuneOptions& options, Program& program) {
  const bool has_recording = !options.recordings.empty() || program.recording.has_value();
  if (options.backend == "replay" || (options.backend.empty() && has_recording)) {
    if (absl::Status status = RequireKernels(program); !status.ok()) return status;
    return ChooseReplay(options, program);
  }
  if (options.backend == "aot" || (options.backend.empty() && FindLibtpu().ok())) {
    return ChooseAot(options, program);
  }
  if (!options.backend.empty()) {
    return WithExitCode(kExitBroken,
                        absl::UnavailableError(absl::StrCat("--backend ", options.backend,
                                                            ": this version does not have it yet; "
                                                            "there are replay and aot")));
  }
  return WithExitCode(kExitBroken, absl::UnavailableError(kHowToGetABackend));
}

}  // namespace autotune
