#include "tuner/backend_probe.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "hardware/aot_backend.h"
#include "hardware/fleet_transport.h"
#include "hardware/pjrt_backend.h"
#include "hardware/pjrt_discovery.h"
#include "hardware/replay_backend.h"
#include "hlo/parser.h"
#include "tuner/fleet_choice.h"
#include "tuner/fleet_state.h"
#include "tuner/text_table.h"

namespace autotune {
namespace {

// A program that every compiler turns into one kernel.
constexpr char kProbe[] = R"(HloModule probe
ENTRY probe {
  a = f32[1024,1024] parameter(0)
  b = f32[1024,1024] parameter(1)
  c = f32[1024,1024] multiply(a, b)
  ROOT d = f32[1024,1024] add(c, a)
}
)";

// The same as a TPU compiler leaves it, for a recording.
constexpr char kProbeKernel[] = R"(HloModule probe, is_scheduled=true
fused {
  a = f32[1024,1024]{1,0:T(8,128)} parameter(0)
  ROOT b = f32[1024,1024]{1,0:T(8,128)} negate(a)
}
ENTRY probe {
  p = f32[1024,1024]{1,0:T(8,128)} parameter(0)
  ROOT fusion = f32[1024,1024]{1,0:T(8,128)} fusion(p), kind=kLoop, calls=fused
}
)";

// A measurement for a person.
absl::StatusOr<std::string> Describe(const Measurement& measurement, const std::string& device) {
  if (!measurement.ok()) return absl::InternalError(measurement.failure().message);
  const bool estimate = measurement.source() == TimeSource::kEstimate;
  return absl::StrCat(
      "a small kernel takes ", FormatSeconds(measurement.MedianSeconds()), " on ", device,
      estimate ? " (estimate)" : "",
      measurement.method.empty() ? "" : absl::StrCat(" (", measurement.method, ")"));
}

absl::StatusOr<std::string> MeasureByReplay() {
  absl::StatusOr<std::unique_ptr<HloModule>> module = ParseHloText(kProbeKernel);
  if (!module.ok()) return module.status();
  absl::StatusOr<Kernel> kernel = KernelFromModule(*std::move(module));
  if (!kernel.ok()) return kernel.status();
  TileBounds bounds;
  bounds.output = {8, 8};
  Recording recording(RecordingOrigin{.device = "tpu-v3", .backend = "probe"});
  RecordedConfig recorded{.config = Config(bounds)};
  recorded.seconds = {1e-5};
  recording.FindOrAdd(*kernel).Add(recorded);
  std::vector<Recording> recordings;
  recordings.push_back(std::move(recording));
  absl::StatusOr<std::unique_ptr<ReplayBackend>> backend =
      ReplayBackend::Create(std::move(recordings));
  if (!backend.ok()) return backend.status();
  absl::StatusOr<std::vector<Measurement>> result =
      (*backend)->Measure({Candidate{&*kernel, Config(bounds)}});
  if (!result.ok()) return result.status();
  return Describe(result->front(), "a recording of tpu-v3");
}

absl::StatusOr<std::string> MeasureByCompiler(const std::string& target, std::string* versions) {
  absl::StatusOr<std::unique_ptr<AotBackend>> backend = AotBackend::Create({.target = target});
  if (!backend.ok()) return backend.status();
  *versions = (*backend)->capabilities().versions;
  absl::StatusOr<std::unique_ptr<HloModule>> probe = ParseHloText(kProbe);
  if (!probe.ok()) return probe.status();
  absl::StatusOr<AotDefault> compiled = (*backend)->CompileProgram(**probe);
  if (!compiled.ok()) return compiled.status();
  const auto kernel = std::find_if(
      compiled->kernels.begin(), compiled->kernels.end(),
      [](const Kernel& k) { return k.compiler_choice && !k.compiler_choice->bounds.IsEmpty(); });
  if (kernel == compiled->kernels.end()) {
    return absl::InternalError("the compiler's output holds no kernel");
  }
  absl::StatusOr<std::vector<Measurement>> result =
      (*backend)->Measure({Candidate{&*kernel, Config(kernel->compiler_choice->bounds)}});
  if (!result.ok()) return result.status();
  return Describe(result->front(), (*backend)->capabilities().device);
}

absl::StatusOr<std::string> MeasureOnDevice(const std::string& plugin, std::string* versions) {
  absl::StatusOr<std::unique_ptr<PjrtBackend>> backend =
      PjrtBackend::Create({.plugin = plugin, .repeats = 3});
  if (!backend.ok()) return backend.status();
  const proto::DeviceReply& device = (*backend)->description();
  *versions = absl::StrCat(device.device_kinds_size(), " x ",
                           device.device_kinds_size() > 0 ? device.device_kinds(0) : "device", ", ",
                           (*backend)->capabilities().versions);
  absl::StatusOr<std::unique_ptr<HloModule>> probe = ParseHloText(kProbe);
  if (!probe.ok()) return probe.status();
  absl::StatusOr<Measurement> result = (*backend)->MeasureProgram(**probe, probe->get());
  if (!result.ok()) return result.status();
  return Describe(*result, (*backend)->capabilities().device);
}

void Conclude(const absl::StatusOr<std::string>& measured, BackendState* state) {
  state->broken = !measured.ok();
  state->measured = measured.ok()
                        ? absl::StrCat("checked: ", *measured)
                        : absl::StrCat("BROKEN: ", std::string(measured.status().message()));
}

BackendState Replay(const ProbeOptions& options) {
  BackendState state = {
      .name = "replay",
      .available = true,
      .found = "recorded measurements: --recording FILE, or a recording as PROGRAM"};
  if (options.check) Conclude(MeasureByReplay(), &state);
  return state;
}

BackendState Aot(const ProbeOptions& options) {
  BackendState state = {.name = "aot"};
  absl::StatusOr<std::string> libtpu = FindLibtpu();
  if (!HasPjrtSupport() || !libtpu.ok()) {
    state.missing = libtpu.ok() ? "the C header of the PJRT API when autotune was built: "
                                  "./autotune --with aot gets it"
                                : std::string(libtpu.status().message());
    return state;
  }
  state.available = true;
  state.found = absl::StrCat("the TPU compiler, ahead of time (estimates): ", *libtpu);
  if (options.check) Conclude(MeasureByCompiler(options.target, &state.versions), &state);
  return state;
}

BackendState Pjrt(const ProbeOptions& options) {
  BackendState state = {.name = "pjrt"};
  if (!HasPjrtSupport()) {
    state.missing =
        "the C header of the PJRT API when autotune was built: ./autotune --with aot gets it";
    return state;
  }
  std::string plugin = options.plugin;
  const absl::StatusOr<std::string> libtpu = FindLibtpu();
  if (plugin.empty() && HasTpuDevice() && libtpu.ok()) {
    plugin = *libtpu;
    state.found = absl::StrCat("a TPU, by ", plugin);
  } else if (!plugin.empty()) {
    state.found = absl::StrCat("the device behind --plugin ", plugin);
  } else {
    const absl::StatusOr<std::string> cpu = FindCpuPlugin();
    state.missing = HasTpuDevice() ? std::string(libtpu.status().message())
                                   : "no TPU is attached to this machine";
    if (!cpu.ok()) {
      absl::StrAppend(&state.missing, "; a CPU plugin for trying things out comes with ",
                      "./autotune --with aot");
      return state;
    }
    plugin = *cpu;
    state.found = absl::StrCat("a CPU, for trying things out: --plugin ", plugin);
  }
  state.available = true;
  if (options.check) Conclude(MeasureOnDevice(plugin, &state.versions), &state);
  return state;
}

absl::StatusOr<std::string> MeasureByFleet() {
  constexpr double kTimeoutSeconds = 120;
  absl::StatusOr<ChosenFleet> fleet = ConnectFleet(/*jobs=*/1, kTimeoutSeconds, nullptr);
  if (!fleet.ok()) return fleet.status();
  MeasurementBackend& backend = *fleet->backend;
  const bool tiles = backend.capabilities().tiles;
  absl::StatusOr<std::unique_ptr<HloModule>> module = ParseHloText(tiles ? kProbeKernel : kProbe);
  if (!module.ok()) return module.status();
  absl::StatusOr<Kernel> kernel =
      tiles ? KernelFromModule(*std::move(module)) : ProgramAsKernel(*std::move(module));
  if (!kernel.ok()) return kernel.status();
  TileBounds bounds;
  bounds.output = {8, 8};
  absl::StatusOr<std::vector<Measurement>> result =
      backend.Measure({Candidate{&*kernel, tiles ? Config(bounds) : Config(FusionDecision())}});
  if (!result.ok()) return result.status();
  return Describe(result->front(), backend.capabilities().device);
}

BackendState Fleet(const ProbeOptions& options) {
  BackendState state = {.name = "fleet"};
  const absl::StatusOr<std::string> bridge = FindRayBridge();
  if (!bridge.ok()) {
    state.missing = std::string(bridge.status().message());
    return state;
  }
  const absl::StatusOr<FleetState> cluster = FleetState::Find();
  if (!cluster.ok()) {
    state.found = absl::StrCat("the border to Ray: ", *bridge);
    state.missing = std::string(cluster.status().message());
    return state;
  }
  state.available = true;
  state.found = absl::StrCat("the hosts of the Ray cluster at ", cluster->address);
  if (options.check) Conclude(MeasureByFleet(), &state);
  return state;
}

}  // namespace

std::string BackendState::Says() const {
  std::string text = found;
  for (const std::string* part : {&missing, &measured, &versions}) {
    if (!part->empty()) absl::StrAppend(&text, text.empty() ? "" : "; ", *part);
  }
  return text;
}

std::vector<BackendState> ProbeBackends(const ProbeOptions& options) {
  return {Replay(options), Aot(options), Pjrt(options), Fleet(options)};
}

}  // namespace autotune
