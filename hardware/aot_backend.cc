#include "hardware/aot_backend.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hardware/aot_program.h"
#include "hardware/elided_constants.h"
#include "hardware/kernel_roofline.h"
#include "hardware/pjrt_discovery.h"
#include "hardware/worker_process.h"
#include "hlo/kernel_choice.h"
#include "hlo/tile_geometry.h"
#include "proto/hlo.pb.h"

namespace autotune {
namespace {

// The smallest program that the compiler accepts: it adds its parameter to itself.
PjrtProgram TinyProgram() {
  proto::HloModuleProto module;
  module.set_name("probe");
  module.set_entry_computation_name("probe");
  module.set_entry_computation_id(1);
  proto::HloComputationProto& entry = *module.add_computations();
  entry.set_name("probe");
  entry.set_id(1);
  entry.set_root_id(2);
  proto::ShapeProto shape;
  shape.set_element_type(proto::F32);
  shape.add_dimensions(1024);
  shape.add_is_dynamic_dimension(false);
  shape.mutable_layout()->add_minor_to_major(0);
  for (const char* opcode : {"parameter", "add"}) {
    proto::HloInstructionProto& instruction = *entry.add_instructions();
    instruction.set_name(opcode);
    instruction.set_opcode(opcode);
    instruction.set_id(entry.instructions_size());
    *instruction.mutable_shape() = shape;
    if (instruction.id() == 2) {
      instruction.add_operand_ids(1);
      instruction.add_operand_ids(1);
    }
  }
  *entry.mutable_program_shape()->add_parameters() = shape;
  entry.mutable_program_shape()->add_parameter_names("parameter");
  *entry.mutable_program_shape()->mutable_result() = shape;
  *module.mutable_host_program_shape() = entry.program_shape();
  return PjrtProgram{module.SerializeAsString(), "hlo"};
}

}  // namespace

absl::StatusOr<std::string> AotTopology(const DeviceSpec& device) {
  static constexpr std::pair<const char*, const char*> kTopologies[] = {
      {"tpu-v2", "v2:2x2"},      {"tpu-v3", "v3:2x2"},     {"tpu-v4", "v4:2x2x1"},
      {"tpu-v5e", "v5e:2x2"},    {"tpu-v5p", "v5p:2x2x1"}, {"tpu-v6e", "v6e:2x2"},
      {"tpu-v7x", "tpu7x:2x2x1"}};
  for (const auto& [name, topology] : kTopologies) {
    if (device.name == name) return std::string(topology);
  }
  return absl::InvalidArgumentError(
      absl::StrCat("the TPU compiler cannot compile for ", device.name));
}

// A compiler for the length of one compilation.
class AotBackend::Lease {
 public:
  explicit Lease(AotBackend* backend) : backend_(*backend), compiler_(backend->Borrow()) {}
  ~Lease() { backend_.Return(compiler_.ok() ? *std::move(compiler_) : nullptr); }
  absl::StatusOr<std::unique_ptr<AotCompiler>>& compiler() { return compiler_; }

 private:
  AotBackend& backend_;
  absl::StatusOr<std::unique_ptr<AotCompiler>> compiler_;
};

AotBackend::AotBackend(DeviceSpec device, AotCompilerOptions options, int jobs)
    : device_(std::move(device)),
      constants_(EstimateConstantsFor(device_)),
      compiler_options_(std::move(options)),
      jobs_(std::max(1, jobs)) {}

AotBackend::~AotBackend() = default;

absl::StatusOr<std::unique_ptr<AotBackend>> AotBackend::Create(const AotBackendOptions& options) {
  absl::StatusOr<DeviceSpec> device = FindDeviceSpec(options.target);
  if (!device.ok()) return device.status();
  AotCompilerOptions compiler;
  absl::StatusOr<std::string> topology = AotTopology(*device);
  if (!topology.ok()) return topology.status();
  compiler.topology = *topology;
  absl::StatusOr<std::string> plugin = options.plugin.empty() ? FindLibtpu() : options.plugin;
  if (!plugin.ok()) return plugin.status();
  compiler.plugin = *plugin;
  absl::StatusOr<std::string> worker =
      options.worker.empty() ? FindWorkerProgram() : options.worker;
  if (!worker.ok()) return worker.status();
  compiler.worker = *worker;
  compiler.timeout = options.timeout;
  compiler.memory_limit_bytes = options.memory_limit_bytes;

  std::unique_ptr<AotBackend> backend(
      new AotBackend(*std::move(device), std::move(compiler), options.jobs));
  backend->program_timeout_ = std::max(options.timeout, options.program_timeout);
  absl::StatusOr<std::variant<AotProgram, Failure>> probe = backend->Compile(TinyProgram());
  if (!probe.ok()) return probe.status();
  if (const Failure* failure = std::get_if<Failure>(&*probe)) {
    return absl::FailedPreconditionError(absl::StrCat("the compiler in ",
                                                      backend->compiler_options_.plugin,
                                                      " does not work: ", failure->message));
  }
  backend->capabilities_ = {.name = "aot",
                            .device = backend->device_.name,
                            .versions = std::get<AotProgram>(*probe).compiler,
                            .time_source = TimeSource::kEstimate};
  return backend;
}

absl::StatusOr<std::unique_ptr<AotCompiler>> AotBackend::Borrow() {
  absl::MutexLock lock(&mutex_);
  mutex_.Await(absl::Condition(
      +[](AotBackend* self) { return self->borrowed_ < self->jobs_; }, this));
  ++borrowed_;
  if (idle_.empty()) return AotCompiler::Create(compiler_options_);
  std::unique_ptr<AotCompiler> compiler = std::move(idle_.back());
  idle_.pop_back();
  return compiler;
}

void AotBackend::Return(std::unique_ptr<AotCompiler> compiler) {
  absl::MutexLock lock(&mutex_);
  --borrowed_;
  if (compiler != nullptr) idle_.push_back(std::move(compiler));
}

absl::StatusOr<std::variant<AotProgram, Failure>> AotBackend::Compile(
    const PjrtProgram& program, bool serialize, std::optional<absl::Duration> timeout) {
  Lease lease(this);
  if (!lease.compiler().ok()) return lease.compiler().status();
  return (*lease.compiler())->Compile(program, serialize, timeout);
}

absl::StatusOr<std::variant<AotEstimate, Failure>> AotBackend::Estimate(const Kernel& kernel,
                                                                        const TileBounds* bounds) {
  const PjrtProgram program{.code = KernelProgram(kernel, bounds).SerializeAsString(),
                            .memory_assigned = true};
  absl::StatusOr<std::variant<AotProgram, Failure>> result = Compile(program);
  if (!result.ok()) return result.status();
  if (Failure* failure = std::get_if<Failure>(&*result)) return std::move(*failure);
  const AotProgram& compiled = std::get<AotProgram>(*result);
  const absl::StatusOr<std::optional<CompilerChoice>> choice =
      CheckFaithful(kernel, bounds, *compiled.module);
  if (!choice.ok()) {
    return Failure{FailureKind::kNotFaithful, std::string(choice.status().message())};
  }
  const BundleSchedule* schedule = compiled.ScheduleOf(kernel.name);
  if (schedule == nullptr) {
    return Failure{FailureKind::kNotFaithful,
                   absl::StrCat("the compiler made ", compiled.schedules.size(), " kernels of it")};
  }
  AotEstimate estimate;
  estimate.schedule = *schedule;
  if (choice->has_value()) estimate.choice = **choice;
  const absl::StatusOr<TileGeometry> geometry = TileGeometry::Create(*kernel.module);
  TileEvaluation evaluation;
  const bool tiled = geometry.ok() && geometry->Check(estimate.choice.bounds).ok();
  if (tiled) geometry->Evaluate(estimate.choice.bounds, &evaluation);
  estimate.inputs =
      MakeEstimateInputs(*schedule, tiled ? &*geometry : nullptr, tiled ? &evaluation : nullptr);
  estimate.inputs.roofline_seconds = RooflineSeconds(kernel, device_);
  estimate.seconds = EstimateSeconds(estimate.inputs, constants_, device_);
  estimate.compile_seconds = compiled.times.compile;
  return estimate;
}

absl::StatusOr<Measurement> AotBackend::MeasureOne(const Candidate& candidate) {
  const TileBounds* bounds = candidate.config.tile();
  if (bounds == nullptr) {
    return Measurement::FromFailure(
        FailureKind::kNotFaithful,
        absl::StrCat("a configuration of a kernel that is no tile: ", candidate.config.Key()));
  }
  absl::StatusOr<std::variant<AotEstimate, Failure>> result = Estimate(*candidate.kernel, bounds);
  if (!result.ok()) return result.status();
  if (const Failure* failure = std::get_if<Failure>(&*result)) {
    return Measurement::FromFailure(failure->kind, failure->message);
  }
  const AotEstimate& estimate = std::get<AotEstimate>(*result);
  Measurement measurement = Measurement::FromSamples({estimate.seconds}, TimeSource::kEstimate);
  measurement.compile_seconds = estimate.compile_seconds;
  // The compiler estimates only what it chose itself.
  const std::optional<CompilerChoice>& choice = candidate.kernel->compiler_choice;
  if (choice.has_value() && choice->bounds == *bounds) {
    measurement.compiler_estimate_seconds = CompilerEstimateSeconds(*candidate.kernel, device_);
  }
  return measurement;
}

absl::StatusOr<std::vector<Measurement>> AotBackend::Measure(
    absl::Span<const Candidate> candidates) {
  return MeasureEach(candidates, [](size_t, const Measurement&) {});
}

absl::StatusOr<std::vector<Measurement>> AotBackend::MeasureEach(
    absl::Span<const Candidate> candidates, ResultSink sink) {
  std::vector<absl::StatusOr<Measurement>> results(candidates.size(),
                                                   absl::UnknownError("not measured"));
  std::atomic<size_t> next = 0;
  absl::Mutex telling;  // the sink is told one result at a time
  auto work = [&] {
    for (size_t i = next++; i < candidates.size(); i = next++) {
      results[i] = MeasureOne(candidates[i]);
      if (!results[i].ok()) continue;
      absl::MutexLock lock(&telling);
      sink(i, *results[i]);
    }
  };
  std::vector<std::thread> threads;
  const size_t extra = std::min(static_cast<size_t>(jobs_), candidates.size());
  for (size_t i = 1; i < extra; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();

  std::vector<Measurement> measurements;
  for (absl::StatusOr<Measurement>& result : results) {
    if (!result.ok()) return result.status();
    measurements.push_back(*std::move(result));
  }
  return measurements;
}

absl::StatusOr<AotDefault> AotBackend::CompileProgram(const HloModule& program) {
  proto::HloModuleProto filled = program.ToProto();
  FillElidedConstants(&filled, /*seed=*/0);
  StampInstructions(&filled);
  if (program.is_scheduled()) PinEntryLayouts(&filled);
  absl::StatusOr<std::variant<AotProgram, Failure>> result = Compile(
      PjrtProgram{filled.SerializeAsString(), "hlo"}, /*serialize=*/false, program_timeout_);
  if (!result.ok()) return result.status();
  if (const Failure* failure = std::get_if<Failure>(&*result)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the program does not compile (", FailureKindName(failure->kind), "): ", failure->message));
  }
  AotDefault compiled;
  compiled.compile_seconds = std::get<AotProgram>(*result).times.compile;
  const HloModule& stamped = *std::get<AotProgram>(*result).module;
  compiled.sites = FindTuningSites(program, stamped);
  proto::HloModuleProto unmarked = stamped.ToProto();
  RemoveStamps(&unmarked);
  absl::StatusOr<std::unique_ptr<HloModule>> rebuilt = HloModule::FromProto(unmarked);
  if (!rebuilt.ok()) return rebuilt.status();
  compiled.optimized = *std::move(rebuilt);
  absl::StatusOr<std::vector<Kernel>> kernels = ExtractKernels(*compiled.optimized);
  if (!kernels.ok()) return kernels.status();
  compiled.kernels = *std::move(kernels);
  return compiled;
}

absl::StatusOr<std::string> AotBackend::CompileToExecutable(const HloModule& program) {
  absl::StatusOr<std::variant<AotProgram, Failure>> result =
      Compile(PjrtProgram{program.ToProto().SerializeAsString(), "hlo"}, /*serialize=*/true,
              program_timeout_);
  if (!result.ok()) return result.status();
  if (const Failure* failure = std::get_if<Failure>(&*result)) {
    return absl::FailedPreconditionError(failure->message);
  }
  return std::move(std::get<AotProgram>(*result).executable);
}

}  // namespace autotune
