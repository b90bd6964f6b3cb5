#include "hardware/fusion_compiler.h"

#include <algorithm>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "hardware/aot_program.h"
#include "hardware/pjrt_discovery.h"
#include "hlo/cost_analysis.h"
#include "hlo/fusion_apply.h"
#include "hlo/kernel.h"
#include "hlo/kernel_choice.h"
#include "hlo/kernel_hash.h"
#include "hlo/tile_geometry.h"

namespace autotune {
namespace {

// Instructions of all computations of a program by name.
absl::flat_hash_map<absl::string_view, const HloInstruction*> ByName(const HloModule& module) {
  absl::flat_hash_map<absl::string_view, const HloInstruction*> by_name;
  for (const HloComputation* computation : module.computations()) {
    for (const HloInstruction* instruction : computation->instructions()) {
      by_name.emplace(instruction->name(), instruction);
    }
  }
  return by_name;
}

// The time of one kernel from its schedule, with its geometry where there is one.
FusionTimes TimesOf(const BundleSchedule& schedule, const Kernel* kernel,
                    const std::optional<CompilerChoice>& choice, const DeviceSpec& device,
                    const EstimateConstants& constants) {
  TileEvaluation evaluation;
  std::optional<TileGeometry> geometry;
  if (kernel != nullptr && choice.has_value()) {
    absl::StatusOr<TileGeometry> made = TileGeometry::Create(*kernel->module);
    if (made.ok() && made->Check(choice->bounds).ok()) {
      geometry = *std::move(made);
      geometry->Evaluate(choice->bounds, &evaluation);
    }
  }
  const EstimateInputs inputs =
      MakeEstimateInputs(schedule, geometry.has_value() ? &*geometry : nullptr,
                         geometry.has_value() ? &evaluation : nullptr);
  FusionTimes times;
  times.schedule = EstimateSeconds(inputs, constants, device);
  times.bundles = (schedule.weighted_bundles + schedule.weighted_delays) / device.clock_hz;
  return times;
}

// What the kernel takes at least: its products at the peak of the matrix units, its bytes at the
// published bandwidth. The constants of the estimate were fitted on kernels with one product each
// and fall below this for a kernel that fuses one product into another.
double RooflineSeconds(const Kernel& kernel, const Cost& cost, const DeviceSpec& device) {
  double products = 0;
  for (const HloComputation* computation : kernel.module->computations()) {
    for (const HloInstruction* instruction : computation->instructions()) {
      const double peak =
          IsIntegral(instruction->shape().element_type()) && device.int8_ops_per_second > 0
              ? device.int8_ops_per_second
              : device.bf16_flops_per_second;
      if (instruction->opcode() == HloOpcode::kConvolution) {
        products += ConvolutionFlops(*instruction) / peak;
      } else if (instruction->opcode() == HloOpcode::kDot) {
        products += DotFlops(*instruction) / peak;
      }
    }
  }
  return std::max(products, cost.bytes_accessed / device.hbm_bytes_per_second);
}

}  // namespace

FusionTimes& FusionTimes::operator+=(const FusionTimes& other) {
  schedule += other.schedule;
  bundles += other.bundles;
  compiler += other.compiler;
  return *this;
}

absl::StatusOr<FusionCompilation> EstimateFusion(const HloModule& optimized,
                                                 const std::vector<BundleSchedule>& schedules,
                                                 const DeviceSpec& device,
                                                 const EstimateConstants& constants) {
  absl::StatusOr<std::vector<Kernel>> kernels = ExtractKernels(optimized);
  if (!kernels.ok()) return kernels.status();
  absl::flat_hash_map<uint64_t, const Kernel*> by_fingerprint;
  for (const Kernel& kernel : *kernels) by_fingerprint[kernel.fingerprint] = &kernel;
  absl::flat_hash_map<absl::string_view, const BundleSchedule*> schedule_of;
  for (const BundleSchedule& schedule : schedules) schedule_of[schedule.kernel] = &schedule;
  const auto by_name = ByName(optimized);
  const KernelHasher hasher(optimized);
  const CostAnalysis costs(optimized);

  FusionCompilation result;
  result.grouping = ReadRealisedGrouping(optimized);
  result.key = result.grouping.Key();
  // The compiler emits equal kernels once.
  absl::flat_hash_map<uint64_t, const BundleSchedule*> schedule_of_equal;
  for (const RealisedKernel& realised : result.grouping.kernels) {
    const auto schedule = schedule_of.find(realised.name);
    if (schedule == schedule_of.end()) continue;
    schedule_of_equal.emplace(hasher.Operation(*by_name.at(realised.name)), schedule->second);
  }
  for (const RealisedKernel& realised : result.grouping.kernels) {
    const HloInstruction& operation = *by_name.at(realised.name);
    FusionKernel kernel;
    kernel.realised = realised;
    kernel.fingerprint = hasher.Operation(operation);
    const auto known = by_fingerprint.find(kernel.fingerprint);
    const Kernel* extracted = known == by_fingerprint.end() ? nullptr : known->second;
    if (extracted == nullptr) continue;  // the scalar core's work, or the DMA engine's
    kernel.kind = extracted->kind;
    const std::optional<CompilerChoice> choice = ParseCompilerChoice(operation.backend_config());
    const double floor = RooflineSeconds(*extracted, costs.Of(operation), device);
    const auto schedule = schedule_of_equal.find(kernel.fingerprint);
    kernel.has_schedule = schedule != schedule_of_equal.end();
    if (kernel.has_schedule) {
      kernel.once = TimesOf(*schedule->second, extracted, choice, device, constants);
      kernel.once.schedule = std::max(kernel.once.schedule, floor);
    } else {
      kernel.once.schedule = kernel.once.bundles = floor;
    }
    kernel.has_compiler_estimate = choice.has_value() && choice->estimated_cycles.has_value();
    kernel.once.compiler = kernel.has_compiler_estimate
                               ? static_cast<double>(*choice->estimated_cycles) / device.clock_hz
                               : kernel.once.schedule;
    const double executions = static_cast<double>(realised.executions);
    result.total += {kernel.once.schedule * executions, kernel.once.bundles * executions,
                     kernel.once.compiler * executions};
    result.kernels.push_back(std::move(kernel));
  }
  return result;
}

FusionCompiler::FusionCompiler(DeviceSpec device, std::unique_ptr<AotCompiler> compiler)
    : device_(std::move(device)),
      constants_(EstimateConstantsFor(device_)),
      compiler_(std::move(compiler)) {}

absl::StatusOr<std::unique_ptr<FusionCompiler>> FusionCompiler::Create(
    const AotBackendOptions& options) {
  absl::StatusOr<DeviceSpec> device = FindDeviceSpec(options.target);
  if (!device.ok()) return device.status();
  absl::StatusOr<std::string> topology = AotTopology(*device);
  if (!topology.ok()) return topology.status();
  absl::StatusOr<std::string> plugin = options.plugin.empty() ? FindLibtpu() : options.plugin;
  if (!plugin.ok()) return plugin.status();
  absl::StatusOr<std::string> worker =
      options.worker.empty() ? FindWorkerProgram() : options.worker;
  if (!worker.ok()) return worker.status();
  AotCompilerOptions compiler_options;
  compiler_options.plugin = *plugin;
  compiler_options.worker = *worker;
  compiler_options.topology = *topology;
  compiler_options.timeout = options.timeout;
  compiler_options.memory_limit_bytes = options.memory_limit_bytes;
  absl::StatusOr<std::unique_ptr<AotCompiler>> compiler = AotCompiler::Create(compiler_options);
  if (!compiler.ok()) return compiler.status();
  return std::unique_ptr<FusionCompiler>(
      new FusionCompiler(*std::move(device), *std::move(compiler)));
}

absl::StatusOr<std::variant<FusionCompilation, Failure>> FusionCompiler::Compile(
    const FusionGraph& graph, const FusionDecision& decision) {
  absl::StatusOr<proto::HloModuleProto> program = FusionProgram(graph, decision);
  if (!program.ok()) return program.status();
  StampNodes(graph, &*program);
  FillElidedConstants(&*program);
  absl::MutexLock lock(&mutex_);
  absl::StatusOr<std::variant<AotProgram, Failure>> compiled =
      compiler_->Compile(PjrtProgram{program->SerializeAsString(), "hlo"});
  if (!compiled.ok()) return compiled.status();
  if (Failure* failure = std::get_if<Failure>(&*compiled)) return std::move(*failure);
  const AotProgram& result = std::get<AotProgram>(*compiled);
  if (version_.empty()) version_ = result.compiler.substr(0, result.compiler.find('\n'));
  absl::StatusOr<FusionCompilation> estimated =
      EstimateFusion(*result.module, result.schedules, device_, constants_);
  if (!estimated.ok()) {
    return Failure{FailureKind::kCompileError, std::string(estimated.status().message())};
  }
  estimated->compile_seconds = result.times.compile;
  return *std::move(estimated);
}

std::string FusionCompiler::version() const {
  absl::MutexLock lock(&mutex_);
  return version_;
}

}  // namespace autotune
