#include "hardware/fusion_compiler.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <utility>

#include "absl/container/flat_hash_map.h"
#include "absl/time/clock.h"
#include "hardware/aot_program.h"
#include "hardware/elided_constants.h"
#include "hardware/kernel_roofline.h"
#include "hardware/pjrt_discovery.h"
#include "hlo/fusion_apply.h"
#include "hlo/kernel.h"
#include "hlo/kernel_choice.h"
#include "hlo/kernel_hash.h"
#include "hlo/tile_geometry.h"

namespace autotune {
namespace {

// From so many known kernels on it pays to emit only the new ones: programs of fewer are compiled
// whole faster than a process starts.
constexpr size_t kManyKernels = 8;

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

// What one execution of a kernel takes. `schedule` is null where the compiler emitted none.
FusionTimes EstimateKernel(const BundleSchedule* schedule, const Kernel& kernel,
                           const std::optional<CompilerChoice>& choice, const DeviceSpec& device,
                           const EstimateConstants& constants) {
  FusionTimes once;
  const double roofline = RooflineSeconds(kernel, device);
  if (schedule != nullptr) {
    TileEvaluation evaluation;
    std::optional<TileGeometry> geometry;
    if (choice.has_value()) {
      absl::StatusOr<TileGeometry> made = TileGeometry::Create(*kernel.module);
      if (made.ok() && made->Check(choice->bounds).ok()) {
        geometry = *std::move(made);
        geometry->Evaluate(choice->bounds, &evaluation);
      }
    }
    EstimateInputs inputs =
        MakeEstimateInputs(*schedule, geometry.has_value() ? &*geometry : nullptr,
                           geometry.has_value() ? &evaluation : nullptr);
    inputs.roofline_seconds = roofline;
    once.schedule = EstimateSeconds(inputs, constants, device);
    once.bundles = (schedule->weighted_bundles + schedule->weighted_delays) / device.clock_hz;
  } else {
    once.schedule = once.bundles = roofline;
  }
  const bool has_cycles = choice.has_value() && choice->estimated_cycles.has_value();
  once.compiler =
      has_cycles ? static_cast<double>(*choice->estimated_cycles) / device.clock_hz : once.schedule;
  return once;
}

// What the times of a program's kernels are asked of; nullopt ends the whole.
using KernelTimes = std::function<std::optional<FusionTimes>(
    uint64_t fingerprint, const HloInstruction& operation, const Kernel& kernel)>;

// The grouping of an optimised program with the times of its kernels.
absl::StatusOr<std::optional<FusionCompilation>> SumKernels(const HloModule& optimized,
                                                            const KernelTimes& times) {
  absl::StatusOr<std::vector<Kernel>> kernels = ExtractKernels(optimized);
  if (!kernels.ok()) return kernels.status();
  absl::flat_hash_map<uint64_t, const Kernel*> by_fingerprint;
  for (const Kernel& kernel : *kernels) by_fingerprint[kernel.fingerprint] = &kernel;
  const auto by_name = ByName(optimized);
  const KernelHasher hasher(optimized);
  FusionCompilation result;
  result.grouping = ReadRealisedGrouping(optimized);
  result.key = result.grouping.Key();
  for (const RealisedKernel& realised : result.grouping.kernels) {
    const HloInstruction& operation = *by_name.at(realised.name);
    FusionKernel kernel;
    kernel.realised = realised;
    kernel.fingerprint = hasher.Operation(operation);
    const auto extracted = by_fingerprint.find(kernel.fingerprint);
    // What is none is the scalar core's work, or the DMA engine's.
    if (extracted == by_fingerprint.end()) continue;
    const std::optional<FusionTimes> once =
        times(kernel.fingerprint, operation, *extracted->second);
    if (!once.has_value()) return std::optional<FusionCompilation>();
    kernel.once = *once;
    const double executions = static_cast<double>(realised.executions);
    result.total += {kernel.once.schedule * executions, kernel.once.bundles * executions,
                     kernel.once.compiler * executions};
    result.kernels.push_back(std::move(kernel));
  }
  return std::optional<FusionCompilation>(std::move(result));
}

std::variant<FusionCompilation, Failure> OrFailure(absl::StatusOr<FusionCompilation> result) {
  if (result.ok()) return *std::move(result);
  return Failure{FailureKind::kCompileError, std::string(result.status().message())};
}

// The stamped program of a decision, as the compiler takes it.
absl::StatusOr<PjrtProgram> StampedProgram(const FusionGraph& graph,
                                           const FusionDecision& decision) {
  absl::StatusOr<proto::HloModuleProto> program = FusionProgram(graph, decision);
  if (!program.ok()) return program.status();
  StampNodes(graph, &*program);
  FillElidedConstants(&*program);
  return PjrtProgram{program->SerializeAsString(), "hlo"};
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
  const auto by_name = ByName(optimized);
  const KernelHasher hasher(optimized);
  // The compiler emits equal kernels once.
  absl::flat_hash_map<uint64_t, const BundleSchedule*> schedule_of;
  for (const BundleSchedule& schedule : schedules) {
    const auto operation = by_name.find(schedule.kernel);
    if (operation == by_name.end()) continue;
    schedule_of.emplace(hasher.Operation(*operation->second), &schedule);
  }
  absl::StatusOr<std::optional<FusionCompilation>> sum = SumKernels(
      optimized, [&](uint64_t fingerprint, const HloInstruction& operation, const Kernel& kernel) {
        const auto schedule = schedule_of.find(fingerprint);
        return EstimateKernel(schedule == schedule_of.end() ? nullptr : schedule->second, kernel,
                              ParseCompilerChoice(operation.backend_config()), device, constants);
      });
  if (!sum.ok()) return sum.status();
  return **std::move(sum);
}

FusionCompiler::FusionCompiler(DeviceSpec device, absl::Duration kernel_timeout,
                               std::unique_ptr<AotCompiler> compiler,
                               std::unique_ptr<HloPhase> hlo_phase)
    : device_(std::move(device)),
      constants_(EstimateConstantsFor(device_)),
      kernel_timeout_(kernel_timeout),
      compiler_(std::move(compiler)),
      hlo_phase_(std::move(hlo_phase)) {}

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
  compiler_options.timeout = std::max(options.timeout, options.program_timeout);
  compiler_options.memory_limit_bytes = options.memory_limit_bytes;
  absl::StatusOr<std::unique_ptr<AotCompiler>> compiler = AotCompiler::Create(compiler_options);
  if (!compiler.ok()) return compiler.status();
  absl::StatusOr<std::unique_ptr<HloPhase>> hlo_phase = HloPhase::Create(compiler_options);
  if (!hlo_phase.ok()) return hlo_phase.status();
  return std::unique_ptr<FusionCompiler>(new FusionCompiler(
      *std::move(device), options.timeout, *std::move(compiler), *std::move(hlo_phase)));
}

absl::StatusOr<std::variant<FusionCompilation, Failure>> FusionCompiler::Compile(
    const FusionGraph& graph, const FusionDecision& decision) {
  absl::StatusOr<PjrtProgram> program = StampedProgram(graph, decision);
  if (!program.ok()) return program.status();
  absl::MutexLock lock(&mutex_);
  if (known_.size() >= kManyKernels) {
    std::optional<FusionCompilation> result = CompileNewKernels(*program);
    if (result.has_value()) return *std::move(result);
  }
  return EmitProgram(*program, /*learn=*/true);
}

absl::StatusOr<std::variant<FusionCompilation, Failure>> FusionCompiler::CompileWhole(
    const FusionGraph& graph, const FusionDecision& decision) {
  absl::StatusOr<PjrtProgram> program = StampedProgram(graph, decision);
  if (!program.ok()) return program.status();
  absl::MutexLock lock(&mutex_);
  return EmitProgram(*program, /*learn=*/true);
}

absl::StatusOr<std::variant<FusionCompilation, Failure>> FusionCompiler::CompileProgram(
    const HloModule& program) {
  proto::HloModuleProto filled = program.ToProto();
  FillElidedConstants(&filled);
  absl::MutexLock lock(&mutex_);
  return EmitProgram(PjrtProgram{filled.SerializeAsString(), "hlo"}, /*learn=*/false);
}

std::shared_ptr<const HloModule> FusionCompiler::last_program() const {
  absl::MutexLock lock(&mutex_);
  return last_program_;
}

absl::StatusOr<std::variant<FusionCompilation, Failure>> FusionCompiler::EmitProgram(
    const PjrtProgram& program, bool learn) {
  absl::StatusOr<std::variant<AotProgram, Failure>> compiled = compiler_->Compile(program);
  if (!compiled.ok()) return compiled.status();
  if (Failure* failure = std::get_if<Failure>(&*compiled)) return std::move(*failure);
  AotProgram& result = std::get<AotProgram>(*compiled);
  ++programs_emitted_;
  if (version_.empty()) version_ = result.compiler;
  absl::StatusOr<FusionCompilation> estimated =
      EstimateFusion(*result.module, result.schedules, device_, constants_);
  if (estimated.ok()) {
    estimated->compile_seconds = result.times.compile;
    if (learn) last_program_ = std::move(result.module);
    for (const FusionKernel& kernel : estimated->kernels) {
      if (!learn) break;  // its tiles are not the compiler's own
      known_[kernel.fingerprint] = kernel.once;
    }
  }
  return OrFailure(std::move(estimated));
}

std::optional<FusionCompilation> FusionCompiler::CompileNewKernels(const PjrtProgram& program) {
  const absl::Time start = absl::Now();
  const absl::StatusOr<std::unique_ptr<HloModule>> optimized = hlo_phase_->Run(program);
  if (!optimized.ok()) return std::nullopt;
  double seconds = absl::ToDoubleSeconds(absl::Now() - start);
  absl::StatusOr<std::optional<FusionCompilation>> sum =
      SumKernels(**optimized,
                 [this, &seconds](uint64_t fingerprint, const HloInstruction&, const Kernel& kernel)
                     ABSL_NO_THREAD_SAFETY_ANALYSIS -> std::optional<FusionTimes> {
                       const auto known = known_.find(fingerprint);
                       if (known != known_.end()) return known->second;
                       const std::optional<FusionTimes> emitted = Emit(kernel, &seconds);
                       if (emitted.has_value()) known_[fingerprint] = *emitted;
                       return emitted;
                     });
  if (!sum.ok() || !sum->has_value()) return std::nullopt;
  (*sum)->compile_seconds = seconds;
  return **std::move(sum);
}

std::optional<FusionTimes> FusionCompiler::Emit(const Kernel& kernel, double* compile_seconds) {
  const PjrtProgram program{.code = KernelProgram(kernel, /*bounds=*/nullptr).SerializeAsString(),
                            .memory_assigned = true};
  absl::StatusOr<std::variant<AotProgram, Failure>> compiled =
      compiler_->Compile(program, /*serialize=*/false, kernel_timeout_);
  if (!compiled.ok() || !std::holds_alternative<AotProgram>(*compiled)) return std::nullopt;
  const AotProgram& result = std::get<AotProgram>(*compiled);
  *compile_seconds += result.times.compile;
  ++kernels_emitted_;
  if (version_.empty()) version_ = result.compiler;
  const auto faithful = CheckFaithful(kernel, nullptr, *result.module);
  if (!faithful.ok()) return std::nullopt;
  const BundleSchedule* schedule = result.ScheduleOf(kernel.name);
  if (schedule == nullptr && result.schedules.size() > 1) return std::nullopt;
  return EstimateKernel(schedule, kernel, *faithful, device_, constants_);
}

void FusionCompiler::Know(uint64_t fingerprint, const FusionTimes& once) {
  absl::MutexLock lock(&mutex_);
  known_.emplace(fingerprint, once);
}

std::string FusionCompiler::version() const {
  absl::MutexLock lock(&mutex_);
  return version_;
}

int64_t FusionCompiler::kernels_emitted() const {
  absl::MutexLock lock(&mutex_);
  return kernels_emitted_;
}

int64_t FusionCompiler::programs_emitted() const {
  absl::MutexLock lock(&mutex_);
  return programs_emitted_;
}

}  // namespace autotune
