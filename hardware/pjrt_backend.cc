#include "hardware/pjrt_backend.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "hardware/aot_compiler.h"
#include "hardware/aot_program.h"
#include "hardware/compiler_version.h"
#include "hardware/elided_constants.h"
#include "hardware/pjrt_discovery.h"
#include "hlo/fusion_apply.h"
#include "hlo/fusion_graph.h"

namespace autotune {
namespace {

std::string Serialized(const HloModule& module) { return module.ToProto().SerializeAsString(); }

Failure NotFaithful(std::string why) { return Failure{FailureKind::kNotFaithful, std::move(why)}; }

absl::StatusOr<std::unique_ptr<HloModule>> ParseModule(const std::string& bytes) {
  proto::HloModuleProto module;
  if (!module.ParseFromString(bytes)) {
    return absl::DataLossError("the optimised program cannot be read");
  }
  return HloModule::FromProto(module, /*keep_unknown=*/true);
}

absl::Status ReplyStatus(const proto::WorkerReply& reply) {
  return absl::Status(static_cast<absl::StatusCode>(reply.status_code()), reply.status_message());
}

// What a worker measured, as a result.
Measurement FromReply(const proto::DeviceMeasureReply& reply) {
  if (!reply.failure_kind().empty()) {
    const auto kind = FailureKindFromName(reply.failure_kind());
    return Measurement::FromFailure(kind.value_or(FailureKind::kCrash), reply.failure_message());
  }
  const auto bad = [](double seconds) { return !std::isfinite(seconds) || seconds <= 0; };
  const bool any_bad = std::any_of(reply.seconds().begin(), reply.seconds().end(), bad);
  if (reply.seconds().empty() || any_bad) {
    return Measurement::FromFailure(FailureKind::kWrongResult, "the time is no positive number");
  }
  Measurement measurement = Measurement::FromSamples(
      std::vector<double>(reply.seconds().begin(), reply.seconds().end()), TimeSource::kHardware);
  measurement.compile_seconds = reply.compile_seconds();
  measurement.method = reply.method();
  return measurement;
}

}  // namespace

std::string DeviceNameOf(const std::string& platform, const std::string& device_kind) {
  static constexpr std::pair<const char*, const char*> kKinds[] = {
      {"v5 lite", "tpu-v5e"}, {"v5e", "tpu-v5e"}, {"v5p", "tpu-v5p"}, {"v5", "tpu-v5p"},
      {"v6 lite", "tpu-v6e"}, {"v6e", "tpu-v6e"}, {"v2", "tpu-v2"},   {"v3", "tpu-v3"},
      {"v4", "tpu-v4"},       {"7x", "tpu-v7x"}};
  const std::string kind = absl::AsciiStrToLower(device_kind);
  if (absl::StrContains(kind, "tpu")) {
    for (const auto& [part, name] : kKinds) {
      if (absl::StrContains(kind, part)) return name;
    }
  }
  return absl::AsciiStrToLower(platform);
}

absl::StatusOr<Kernel> ProgramAsKernel(std::shared_ptr<const HloModule> program) {
  if (program == nullptr) return absl::InvalidArgumentError("no program");
  Kernel kernel;
  kernel.name = std::string(program->name());
  kernel.kind = "program";
  kernel.fingerprint = KernelFingerprint(*program);
  kernel.module = std::move(program);
  return kernel;
}

PjrtBackend::PjrtBackend(PjrtBackendOptions options, std::unique_ptr<ScratchFolder> scratch)
    : options_(std::move(options)), scratch_(std::move(scratch)) {}
PjrtBackend::~PjrtBackend() = default;

absl::StatusOr<std::unique_ptr<PjrtBackend>> PjrtBackend::Create(
    const PjrtBackendOptions& options) {
  PjrtBackendOptions complete = options;
  absl::StatusOr<std::string> plugin = options.plugin.empty() ? FindLibtpu() : options.plugin;
  if (!plugin.ok()) return plugin.status();
  // libtpu would look for one for minutes.
  if (options.plugin.empty() && !HasTpuDevice()) {
    return absl::NotFoundError(
        "no TPU is attached to this machine (neither /dev/accel0 nor /dev/vfio/0 is there); "
        "another "
        "device needs its plugin: --plugin PATH");
  }
  absl::StatusOr<std::string> worker =
      options.worker.empty() ? FindWorkerProgram() : options.worker;
  if (!worker.ok()) return worker.status();
  complete.plugin = *plugin;
  complete.worker = *worker;
  complete.jobs = std::max(1, options.jobs);
  complete.repeats = std::max(1, options.repeats);
  absl::StatusOr<std::unique_ptr<ScratchFolder>> scratch = ScratchFolder::Create("pjrt");
  if (!scratch.ok()) return scratch.status();
  std::unique_ptr<PjrtBackend> backend(new PjrtBackend(std::move(complete), *std::move(scratch)));
  absl::MutexLock lock(&backend->mutex_);
  proto::WorkerRequest request;
  request.mutable_device()->set_plugin(backend->options_.plugin);
  absl::StatusOr<std::variant<proto::WorkerReply, Failure>> answer = backend->Call(request);
  if (!answer.ok()) return answer.status();
  if (const Failure* failure = std::get_if<Failure>(&*answer)) {
    return absl::FailedPreconditionError(absl::StrCat("the plugin ", backend->options_.plugin,
                                                      " does not work: ", failure->message));
  }
  backend->description_ = std::get<proto::WorkerReply>(*answer).device();
  const proto::DeviceReply& device = backend->description_;
  const std::string kind = device.device_kinds_size() > 0 ? device.device_kinds(0) : "";
  backend->capabilities_ = {
      .name = "pjrt",
      .device = DeviceNameOf(device.platform(), kind),
      .versions = absl::StrCat(CompilerVersion(device.platform_version(), backend->options_.plugin),
                               "; PJRT API ", device.api_version()),
      .time_source = TimeSource::kHardware};
  backend->capabilities_.tiles = absl::StartsWith(backend->capabilities_.device, "tpu");
  return backend;
}

absl::Status PjrtBackend::EnsureWorker() {
  if (worker_ != nullptr && worker_->alive()) return absl::OkStatus();
  const absl::Time start = absl::Now();
  worker_.reset();
  scratch_->Empty();
  WorkerOptions options;
  options.program = options_.worker;
  options.environment = scratch_->WorkerEnvironment();
  options.environment.emplace_back("TPU_LOG_DIR", "disabled");
  options.memory_limit_bytes = options_.memory_limit_bytes;
  absl::StatusOr<std::unique_ptr<WorkerProcess>> worker = WorkerProcess::Start(options);
  if (!worker.ok()) return worker.status();
  worker_ = *std::move(worker);
  ++times_.workers_started;
  times_.start += absl::ToDoubleSeconds(absl::Now() - start);
  return absl::OkStatus();
}

absl::StatusOr<std::variant<proto::WorkerReply, Failure>> PjrtBackend::Call(
    const proto::WorkerRequest& request) {
  if (absl::Status status = EnsureWorker(); !status.ok()) return status;
  std::variant<std::string, Failure> answer =
      worker_->Call(request.SerializeAsString(), options_.timeout);
  if (Failure* failure = std::get_if<Failure>(&answer)) return std::move(*failure);
  proto::WorkerReply reply;
  if (!reply.ParseFromString(std::get<std::string>(answer))) {
    return absl::DataLossError("a worker's reply cannot be read");
  }
  const absl::Status status = ReplyStatus(reply);
  if (!status.ok()) return Failure{CompileFailureKind(status), reply.status_message()};
  return reply;
}

std::variant<PjrtBackend::Job, Failure> PjrtBackend::JobFor(const Candidate& candidate) const {
  Job job;
  job.kernel = candidate.kernel;
  if (const TileBounds* bounds = candidate.config.tile()) {
    if (!capabilities_.tiles) {
      return NotFaithful(absl::StrCat("tile bounds mean nothing on ", capabilities_.device));
    }
    job.bounds = bounds;
    job.program = KernelProgram(*candidate.kernel, bounds).SerializeAsString();
    job.reference = KernelProgram(*candidate.kernel, nullptr).SerializeAsString();
    return job;
  }
  const FusionDecision* fusion = candidate.config.fusion();
  if (fusion == nullptr) {
    return NotFaithful(
        absl::StrCat("the pjrt backend measures tiles and cuts, not ", candidate.config.Key()));
  }
  proto::HloModuleProto program = candidate.kernel->module->ToProto();
  FillElidedConstants(&program, /*seed=*/1);
  job.program = program.SerializeAsString();
  if (fusion->cuts.empty()) return job;
  absl::StatusOr<std::unique_ptr<HloModule>> whole = HloModule::FromProto(program);
  if (!whole.ok()) return NotFaithful(std::string(whole.status().message()));
  absl::StatusOr<FusionGraph> graph =
      FusionGraph::Create(std::shared_ptr<const HloModule>(*std::move(whole)));
  if (!graph.ok()) return NotFaithful(std::string(graph.status().message()));
  absl::StatusOr<std::unique_ptr<HloModule>> cut = ApplyFusion(*graph, *fusion);
  if (!cut.ok()) return NotFaithful(std::string(cut.status().message()));
  job.reference = std::exchange(job.program, Serialized(**cut));
  return job;
}

absl::Status PjrtBackend::PrepareJobs(absl::Span<const std::variant<Job, Failure>> jobs) {
  proto::WorkerRequest request;
  proto::DevicePrepareRequest& prepare = *request.mutable_device_prepare();
  prepare.set_plugin(options_.plugin);
  prepare.set_threads(options_.jobs);
  for (const auto& job : jobs) {
    if (const Job* wanted = std::get_if<Job>(&job)) prepare.add_programs(wanted->program);
  }
  if (options_.jobs == 1 || prepare.programs_size() < 2) return absl::OkStatus();
  // Whoever crashed the worker here does so again when it is measured, and is blamed then.
  const auto answer = Call(request);
  if (!answer.ok()) return answer.status();
  if (const auto* reply = std::get_if<proto::WorkerReply>(&*answer)) {
    times_.prepare += reply->device_prepare().wall_seconds();
  }
  return absl::OkStatus();
}

absl::StatusOr<Measurement> PjrtBackend::MeasureJob(const Job& job, int repeats) {
  proto::WorkerRequest request;
  proto::DeviceMeasureRequest& measure = *request.mutable_device_measure();
  measure.set_plugin(options_.plugin);
  measure.set_program(job.program);
  measure.set_reference(job.reference);
  measure.set_seed(options_.seed);
  measure.set_repeats(repeats);
  measure.set_significant_seconds(options_.significant_seconds);
  measure.set_single_calls(options_.single_calls);
  auto answer = Call(request);
  if (!answer.ok()) return answer.status();
  if (const Failure* failure = std::get_if<Failure>(&*answer)) {
    return Measurement::FromFailure(failure->kind, failure->message);
  }
  const proto::DeviceMeasureReply& reply = std::get<proto::WorkerReply>(*answer).device_measure();
  times_.compile += reply.compile_seconds();
  times_.run += std::max(0.0, reply.run_seconds() - reply.compile_seconds());
  if (job.bounds != nullptr && reply.failure_kind().empty()) {
    absl::StatusOr<std::unique_ptr<HloModule>> compiled = ParseModule(reply.optimized_module());
    const absl::Status faithful = compiled.ok()
                                      ? CheckFaithful(*job.kernel, job.bounds, **compiled).status()
                                      : compiled.status();
    if (!faithful.ok()) {
      return Measurement::FromFailure(FailureKind::kNotFaithful, std::string(faithful.message()));
    }
  }
  return FromReply(reply);
}

absl::StatusOr<std::vector<Measurement>> PjrtBackend::Measure(
    absl::Span<const Candidate> candidates) {
  return MeasureEach(candidates, [](size_t, const Measurement&) {});
}

absl::StatusOr<std::vector<Measurement>> PjrtBackend::MeasureEach(
    absl::Span<const Candidate> candidates, ResultSink sink) {
  std::vector<std::variant<Job, Failure>> jobs;
  for (const Candidate& candidate : candidates) jobs.push_back(JobFor(candidate));
  std::vector<Measurement> results;
  absl::MutexLock lock(&mutex_);
  const auto batch = static_cast<size_t>(options_.jobs);
  for (size_t i = 0; i < jobs.size(); ++i) {
    if (i % batch == 0) {
      const absl::Status status = PrepareJobs(absl::MakeSpan(jobs).subspan(i, batch));
      if (!status.ok()) return status;
    }
    if (const Failure* failure = std::get_if<Failure>(&jobs[i])) {
      results.push_back(Measurement::FromFailure(failure->kind, failure->message));
    } else {
      absl::StatusOr<Measurement> result = MeasureJob(std::get<Job>(jobs[i]), options_.repeats);
      if (!result.ok()) return result.status();
      results.push_back(*std::move(result));
    }
    sink(i, results.back());
  }
  return results;
}

absl::StatusOr<Measurement> PjrtBackend::MeasureProgram(const HloModule& program,
                                                        const HloModule* reference) {
  Job job;
  job.program = Serialized(program);
  if (reference != nullptr) job.reference = Serialized(*reference);
  absl::MutexLock lock(&mutex_);
  return MeasureJob(job, options_.repeats);
}

absl::Status PjrtBackend::CompareResults(const HloModule& program, const HloModule& reference) {
  proto::WorkerRequest request;
  proto::DeviceMeasureRequest& measure = *request.mutable_device_measure();
  measure.set_plugin(options_.plugin);
  measure.set_program(Serialized(program));
  measure.set_reference(Serialized(reference));
  measure.set_seed(options_.seed);
  absl::MutexLock lock(&mutex_);
  auto answer = Call(request);
  if (!answer.ok()) return answer.status();
  if (const Failure* failure = std::get_if<Failure>(&*answer)) {
    return absl::FailedPreconditionError(failure->message);
  }
  const proto::DeviceMeasureReply& reply = std::get<proto::WorkerReply>(*answer).device_measure();
  if (reply.failure_kind().empty()) return absl::OkStatus();
  return absl::FailedPreconditionError(reply.failure_message());
}

absl::StatusOr<PjrtCompiled> PjrtBackend::CompileProgram(const HloModule& program, bool serialize) {
  proto::WorkerRequest request;
  proto::DeviceCompileRequest& compile = *request.mutable_device_compile();
  compile.set_plugin(options_.plugin);
  compile.set_program(Serialized(program));
  compile.set_format("hlo");
  compile.set_serialize(serialize);
  absl::MutexLock lock(&mutex_);
  auto answer = Call(request);
  if (!answer.ok()) return answer.status();
  if (const Failure* failure = std::get_if<Failure>(&*answer)) {
    return absl::FailedPreconditionError(absl::StrCat(
        "the program does not compile (", FailureKindName(failure->kind), "): ", failure->message));
  }
  const proto::DeviceCompileReply& reply = std::get<proto::WorkerReply>(*answer).device_compile();
  PjrtCompiled compiled;
  compiled.executable = reply.executable();
  compiled.compile_seconds = reply.compile_seconds();
  if (!reply.optimized_module().empty()) {
    absl::StatusOr<std::unique_ptr<HloModule>> optimized = ParseModule(reply.optimized_module());
    if (!optimized.ok()) return optimized.status();
    compiled.optimized = *std::move(optimized);
  }
  return compiled;
}

PjrtTimes PjrtBackend::times() const {
  absl::MutexLock lock(&mutex_);
  return times_;
}

}  // namespace autotune
