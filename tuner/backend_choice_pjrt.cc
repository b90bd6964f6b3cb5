#include "tuner/backend_choice_pjrt.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "hardware/device_spec.h"
#include "hlo/fusion_graph.h"
#include "search/recorded_space.h"
#include "tuner/command_status.h"

namespace autotune {
namespace {

// Edges that are tried alone.
constexpr int32_t kSingleCuts = 64;

// A program as the device's compiler leaves it, where it is not optimised yet.
absl::Status FindKernels(PjrtBackend& backend, Program& program) {
  if (!program.kernels.empty() || !IsBeforeOptimisation(program)) return RequireKernels(program);
  absl::StatusOr<PjrtCompiled> compiled = backend.CompileProgram(*program.module, false);
  absl::Status status = compiled.status();
  if (status.ok() && compiled->optimized == nullptr) {
    status = absl::UnimplementedError("the plugin does not show what it compiled");
  }
  if (!status.ok()) {
    return WithExitCode(kExitBadInput,
                        absl::Status(status.code(), absl::StrCat(program.path, ": ",
                                                                 std::string(status.message()))));
  }
  absl::StatusOr<std::vector<Kernel>> kernels = ExtractKernels(*compiled->optimized);
  if (!kernels.ok()) return kernels.status();
  program.kernels = *std::move(kernels);
  return RequireKernels(program);
}

absl::Status TakeWholeProgram(Program& program) {
  if (program.module == nullptr) {
    return BadInput(
        absl::StrCat(program.path, " is a recording of TPU kernels, which this device cannot run"));
  }
  absl::StatusOr<Kernel> whole = ProgramAsKernel(program.module);
  if (!whole.ok()) return whole.status();
  program.kernels = {*std::move(whole)};
  return absl::OkStatus();
}

}  // namespace

KernelSpace SpaceOfCuts(const Kernel& program) {
  KernelSpace result;
  std::vector<Config> configs = {Config(FusionDecision())};
  result.compiler_default = configs.front();
  const absl::StatusOr<FusionGraph> graph = FusionGraph::Create(program.module);
  const int32_t edges = graph.ok() ? graph->edge_count() : 0;
  if (edges > 0) {
    FusionDecision all;
    all.cuts.resize(static_cast<size_t>(edges));
    std::iota(all.cuts.begin(), all.cuts.end(), int64_t{0});
    configs.emplace_back(std::move(all));
    for (int32_t edge = 0; edge < std::min(edges, kSingleCuts); ++edge) {
      configs.emplace_back(FusionDecision{{edge}});
    }
  }
  result.space = std::make_unique<RecordedSpace>(std::move(configs));
  result.description = absl::StrCat(*result.space->Size(), " ways to cut the program");
  return result;
}

absl::StatusOr<ChosenDevice> ChooseDevice(const PjrtBackendOptions& options, Program& program) {
  absl::StatusOr<std::unique_ptr<PjrtBackend>> backend = PjrtBackend::Create(options);
  if (!backend.ok()) return WithExitCode(kExitBroken, backend.status());
  ChosenDevice chosen;
  const Capabilities& capabilities = (*backend)->capabilities();
  if (capabilities.tiles) {
    absl::StatusOr<DeviceSpec> device = FindDeviceSpec(capabilities.device);
    if (!device.ok()) return WithExitCode(kExitBroken, device.status());
    absl::Status status = RequireCompiledFor(program, *device);
    if (status.ok()) status = FindKernels(**backend, program);
    if (!status.ok()) return status;
    chosen.space = "tile";
    chosen.space_of = [device = *device](const Kernel& kernel) {
      return SpaceFromGeometry(kernel, device);
    };
  } else {
    if (absl::Status status = TakeWholeProgram(program); !status.ok()) return status;
    chosen.space = "fusion";
    chosen.space_of = SpaceOfCuts;
  }
  chosen.backend = *std::move(backend);
  return chosen;
}

}  // namespace autotune
