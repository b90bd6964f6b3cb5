#include "tuner/backend_choice.h"

#include <algorithm>
#include <bit>
#include <iostream>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hardware/aot_backend.h"
#include "hardware/pjrt_discovery.h"
#include "hardware/replay_backend.h"
#include "hlo/fingerprint.h"
#include "tuner/backend_choice_pjrt.h"
#include "tuner/best_config.h"
#include "tuner/command_status.h"
#include "tuner/fleet_choice.h"
#include "tuner/input_files.h"
#include "tuner/printable.h"

namespace autotune {
namespace {

// Messages list so many kernels.
constexpr size_t kListed = 12;

constexpr char kHowToGetABackend[] =
    "no measurement backend is available:\n"
    "  replay: give recorded measurements with --recording FILE\n"
    "  aot: ./autotune --with aot installs the TPU compiler, which estimates times without a TPU\n"
    "`autotune backends` says what was looked for";

std::string Describe(const Kernel& kernel) {
  return absl::StrCat(PrintableLine(kernel.name), " (", kernel.kind, ", ",
                      FingerprintText(kernel.fingerprint), ")");
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
    absl::StatusOr<Recording> recording = LoadRecording(path);
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

// What a kernel is recorded with.
const char* SpaceOf(const RecordedKernel& recorded) {
  const bool layouts = !recorded.configs().empty() && recorded.configs().front().config.layout();
  return layouts ? "layout" : "tile";
}

// The space that a replay searches: the one asked for, else tiles if any are recorded of the
// program. Fails if nothing is recorded in the one asked for.
absl::StatusOr<std::string> ReplayedSpace(const std::string& asked, const Program& program,
                                          const Recording& recording,
                                          const std::string& recording_name) {
  std::vector<std::string> recorded;
  for (const Kernel& kernel : program.kernels) {
    const RecordedKernel* known = recording.Find(kernel.fingerprint);
    if (known == nullptr) continue;
    const std::string space = SpaceOf(*known);
    if (space == asked) return asked;
    if (std::find(recorded.begin(), recorded.end(), space) == recorded.end()) {
      recorded.push_back(space);
    }
  }
  if (asked.empty()) return recorded == std::vector<std::string>{"layout"} ? "layout" : "tile";
  return WithExitCode(kExitBadInput,
                      absl::NotFoundError(absl::StrCat(
                          "--space ", asked, ": ", recording_name, " holds no ", asked, "s of ",
                          program.path, ", but ", absl::StrJoin(recorded, "s and "), "s")));
}

KernelSpace ReplayedKernelSpace(const Kernel& kernel, const Recording& recording,
                                const std::string& space) {
  const RecordedKernel* recorded = recording.Find(kernel.fingerprint);
  if (recorded == nullptr || SpaceOf(*recorded) == space) {
    return SpaceFromRecording(kernel, recording);
  }
  KernelSpace other;
  other.not_tuned = absl::StrCat("recorded with ", SpaceOf(*recorded), "s");
  return other;
}

absl::StatusOr<ChosenBackend> ChooseReplay(const TuneOptions& options, const Program& program) {
  if (options.recordings.empty() && !program.recording) {
    return WrongUse("--backend replay needs --recording FILE");
  }
  absl::StatusOr<std::unique_ptr<ReplayBackend>> replay = OpenRecordings(options, program);
  if (!replay.ok()) return WithExitCode(kExitBadInput, replay.status());
  const std::string device = (*replay)->capabilities().device;
  if (!options.target.empty() && options.target != device) {
    return WrongUse(absl::StrCat("--target ", options.target, ": ",
                                 RecordingNames(options, program), " was recorded on ", device));
  }
  const Recording& recording = (*replay)->recording();
  absl::Status matching =
      RequireRecordedKernels(program, recording, RecordingNames(options, program));
  if (!matching.ok()) return matching;
  absl::StatusOr<std::string> space =
      ReplayedSpace(options.space, program, recording, RecordingNames(options, program));
  if (!space.ok()) return space.status();
  ChosenBackend chosen;
  chosen.space = *space;
  chosen.flags = absl::StrCat("recording ", FingerprintText(ContentFingerprint(recording)));
  chosen.reason = options.recordings.empty()
                      ? absl::StrCat(program.path, " is a recording")
                      : absl::StrCat("--recording ", absl::StrJoin(options.recordings, ", "));
  chosen.known = &recording;
  chosen.space_of = [&recording, space = *space](const Kernel& kernel) {
    return ReplayedKernelSpace(kernel, recording, space);
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
  if (options.space == "layout") {
    return WrongUse(
        "--space layout is offered for recorded layouts only: "
        "give them with --recording FILE, or as PROGRAM");
  }
  AotBackendOptions aot;
  const AssumedTarget assumed = AssumeTarget({&program, 1});
  aot.target = options.target.empty() ? assumed.device : options.target;
  const absl::StatusOr<DeviceSpec> spec = FindDeviceSpec(aot.target);
  if (!spec.ok()) return WithExitCode(kExitWrongUse, spec.status());
  if (absl::Status status = RequireCompiledFor(program, *spec); !status.ok()) return status;
  aot.timeout = absl::Seconds(options.timeout_seconds);
  aot.jobs = static_cast<int>(options.jobs > 0 ? options.jobs
                                               : std::max(1u, std::thread::hardware_concurrency()));
  absl::StatusOr<std::unique_ptr<AotBackend>> backend = AotBackend::Create(aot);
  if (!backend.ok()) return WithExitCode(kExitBroken, backend.status());
  if (absl::Status status = CompileForKernels(**backend, program); !status.ok()) return status;
  ChosenBackend chosen;
  chosen.reason = absl::StrCat(
      options.backend.empty() ? "no --recording and no TPU, but libtpu is installed" : "--backend",
      options.target.empty() ? absl::StrCat("; ", assumed.reason) : "");
  chosen.space = "tile";
  const DeviceSpec device = (*backend)->device();
  chosen.space_of = [device](const Kernel& kernel) { return SpaceFromGeometry(kernel, device); };
  chosen.backend = *std::move(backend);
  return chosen;
}

absl::StatusOr<ChosenBackend> ChoosePjrt(const TuneOptions& options, Program& program) {
  PjrtBackendOptions pjrt;
  pjrt.plugin = options.plugin;
  pjrt.jobs = static_cast<int>(
      options.jobs > 0 ? options.jobs : std::max(1u, std::thread::hardware_concurrency()));
  pjrt.repeats = static_cast<int>(options.repeats);
  pjrt.timeout = absl::Seconds(options.timeout_seconds);
  pjrt.seed = options.seed + 1;
  absl::StatusOr<ChosenDevice> device = ChooseDevice(pjrt, program);
  if (!device.ok()) return device.status();
  ChosenBackend chosen;
  chosen.reason = !options.plugin.empty()   ? absl::StrCat("--plugin ", options.plugin)
                  : options.backend.empty() ? "a TPU is attached to this machine"
                                            : "--backend";
  chosen.space = device->space;
  chosen.space_of = std::move(device->space_of);
  chosen.backend = std::move(device->backend);
  return chosen;
}

absl::StatusOr<ChosenBackend> ChooseFleet(const TuneOptions& options, const Program& program) {
  if (absl::Status status = RequireKernels(program); !status.ok()) return status;
  absl::StatusOr<ChosenFleet> fleet = ConnectFleet(
      options.jobs, options.timeout_seconds,
      [](const std::string& message) { std::cerr << "fleet: " << PrintableLine(message) << "\n"; });
  if (!fleet.ok()) return fleet.status();
  const absl::StatusOr<DeviceSpec> device = FindDeviceSpec(fleet->backend->capabilities().device);
  if (!device.ok()) return WithExitCode(kExitBroken, device.status());
  if (absl::Status status = RequireCompiledFor(program, *device); !status.ok()) return status;
  ChosenBackend chosen;
  chosen.reason = absl::StrCat("--backend; ", fleet->workers, " workers at ", fleet->address);
  chosen.space = "tile";
  chosen.space_of = [device = *device](const Kernel& kernel) {
    return SpaceFromGeometry(kernel, device);
  };
  chosen.backend = std::move(fleet->backend);
  return chosen;
}

}  // namespace

uint64_t ContentFingerprint(const Recording& recording) {
  Fingerprinter content;
  content.AddText(recording.origin().device).AddText(recording.origin().versions);
  content.AddText(TimeSourceName(recording.origin().source));
  const auto add_seconds = [&content](double seconds) {
    content.AddInt(std::bit_cast<uint64_t>(seconds));
  };
  for (const RecordedKernel& kernel : recording.kernels()) {
    content.AddInt(kernel.kernel().fingerprint).AddInt(kernel.configs().size());
    for (const RecordedConfig& config : kernel.configs()) {
      content.AddText(config.config.Key()).AddInt(config.seconds.size());
      for (double seconds : config.seconds) add_seconds(seconds);
      content.AddInt(config.failures.size());
      for (const Failure& failure : config.failures) content.AddText(failure.message);
      add_seconds(config.compile_seconds.value_or(-1));
    }
  }
  return content.Get();
}

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
  const bool asked =
      options.backend == "pjrt" || (options.backend.empty() && !options.plugin.empty());
  const bool has_tpu = options.backend.empty() && HasTpuDevice() && FindLibtpu().ok();
  if (asked || has_tpu) return ChoosePjrt(options, program);
  if (options.backend == "aot" || (options.backend.empty() && FindLibtpu().ok())) {
    return ChooseAot(options, program);
  }
  if (options.backend == "fleet") return ChooseFleet(options, program);
  return WithExitCode(kExitBroken, absl::UnavailableError(kHowToGetABackend));
}

}  // namespace autotune
