#include "tuner/inspection.h"

#include <cmath>
#include <memory>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "hardware/device_spec.h"
#include "hardware/kernel_roofline.h"
#include "hlo/cost_analysis.h"
#include "hlo/program_stage.h"
#include "tuner/command_status.h"
#include "tuner/kernel_cost.h"
#include "tuner/model_scorer.h"
#include "tuner/models.h"

namespace autotune {
namespace {

struct ChosenDevice {
  DeviceSpec spec;
  std::string reason;
};

absl::StatusOr<ChosenDevice> ChooseDevice(const Program& program, const std::string& target) {
  std::string name = target;
  std::string reason = "--target";
  if (name.empty() && program.recording) {
    name = program.recording->origin().device;
    reason = "recorded on it";
  }
  if (name.empty()) {
    AssumedTarget assumed = AssumeTarget({&program, 1});
    name = std::move(assumed.device);
    reason = std::move(assumed.reason);
  }
  absl::StatusOr<DeviceSpec> spec = FindDeviceSpec(name);
  if (!spec.ok()) return WithExitCode(kExitWrongUse, spec.status());
  return ChosenDevice{*std::move(spec), std::move(reason)};
}

// The analytical model's prediction for the compiler's tile, or nullopt if it has none.
std::optional<double> Predicted(const CostModel* model, const Kernel& kernel) {
  if (model == nullptr || !model->fitted() || model->unit() != PredictionUnit::kLogSeconds) {
    return std::nullopt;
  }
  if (!kernel.compiler_choice || kernel.compiler_choice->bounds.IsEmpty()) return std::nullopt;
  const double log_seconds =
      ModelScorer(*model, kernel).Score({Config(kernel.compiler_choice->bounds)})[0];
  if (!std::isfinite(log_seconds)) return std::nullopt;
  return std::exp(log_seconds);
}

InspectedKernel InspectKernel(const Program& program, const Kernel& kernel,
                              const DeviceSpec& device, const CostModel* model) {
  InspectedKernel result;
  result.name = kernel.name;
  result.kind = kernel.kind;
  result.count = kernel.count;
  result.fingerprint = kernel.fingerprint;
  if (kernel.compiler_choice && !kernel.compiler_choice->bounds.IsEmpty()) {
    result.tile = kernel.compiler_choice->bounds.Key();
  }
  result.cost = CostOfKernel(kernel, device);
  result.memory_bound =
      result.cost.bytes / device.hbm_bytes_per_second >= result.cost.roofline_seconds;
  result.compiler_seconds = CompilerEstimateSeconds(kernel, device);
  result.analytical_seconds = Predicted(model, kernel);
  if (program.recording) {
    const RecordedKernel* recorded = program.recording->Find(kernel.fingerprint);
    const RecordedConfig* chosen = recorded != nullptr ? recorded->Default() : nullptr;
    if (chosen != nullptr) result.recorded_seconds = chosen->MedianSeconds();
  }
  const double seconds = result.recorded_seconds     ? *result.recorded_seconds
                         : result.compiler_seconds   ? *result.compiler_seconds
                         : result.analytical_seconds ? *result.analytical_seconds
                                                     : result.cost.roofline_seconds;
  result.program_seconds = static_cast<double>(kernel.count) * seconds;
  return result;
}

void CountModule(const HloModule& module, Inspection& inspection) {
  inspection.instructions += module.instruction_count();
  inspection.computations += static_cast<int64_t>(module.computations().size());
  const CostAnalysis analysis(module);
  inspection.flops += analysis.total().flops;
  inspection.transcendentals += analysis.total().transcendentals;
  inspection.bytes += analysis.total().bytes_accessed;
}

}  // namespace

absl::StatusOr<Inspection> Inspect(const Program& program, const std::string& target) {
  absl::StatusOr<ChosenDevice> device = ChooseDevice(program, target);
  if (!device.ok()) return device.status();
  Inspection inspection;
  inspection.path = program.path;
  inspection.name = program.name;
  inspection.device = device->spec.name;
  inspection.device_reason = device->reason;
  inspection.before_optimisation = IsBeforeOptimisation(program);
  if (program.module != nullptr) {
    inspection.stage = std::string(ProgramStageName(StageOf(*program.module)));
    CountModule(*program.module, inspection);
  } else {
    for (const Kernel& kernel : program.kernels) CountModule(*kernel.module, inspection);
  }
  // Without an analytical model for the device its column stays empty.
  std::shared_ptr<CostModel> model;
  if (auto created = CreateModel("analytical", device->spec.name); created.ok()) {
    model = *std::move(created);
  }
  for (const Kernel& kernel : program.kernels) {
    inspection.kernels.push_back(InspectKernel(program, kernel, device->spec, model.get()));
    inspection.program_seconds += inspection.kernels.back().program_seconds;
  }
  return inspection;
}

}  // namespace autotune
