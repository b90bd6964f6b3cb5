#include "hardware/aot_compiler.h"

#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "hardware/compiler_version.h"
#include "hardware/vmem_staging.h"
#include "hardware/worker_service.h"
#include "proto/hlo.pb.h"
#include "proto/worker.pb.h"

namespace autotune {
namespace {

// The compiler's option that places buffers in VMEM, by the generation of the topology; null for
// generations whose compiler does not do that.
const char* VmemPlacementOption(absl::string_view topology) {
  static constexpr std::pair<const char*, const char*> kOptions[] = {
      {"v5e:", "xla_vf_vmem_memory_space_assignment"},
      {"v5p:", "xla_vf_vmem_memory_space_assignment"},
      {"v6e:", "xla_gf_vmem_memory_space_assignment"},
      {"tpu7x:", "xla_gf_vmem_memory_space_assignment"}};
  for (const auto& [generation, option] : kOptions) {
    if (absl::StartsWith(topology, generation)) return option;
  }
  return nullptr;
}

// The compiler ends itself where it cannot write its schedules: not the candidate's fault.
bool DiskIsFull(const Failure& failure) {
  return failure.kind == FailureKind::kCrash &&
         (absl::StrContains(failure.message, "No space left on device") ||
          absl::StrContains(failure.message, "Disk quota exceeded"));
}

std::string CompileOptionsFor(const PjrtProgram& program, absl::string_view topology) {
  const char* placement = program.memory_assigned ? VmemPlacementOption(topology) : nullptr;
  if (placement == nullptr) return SingleDeviceCompileOptions();
  return SingleDeviceCompileOptions({{placement, false}});
}

}  // namespace

const BundleSchedule* AotProgram::ScheduleOf(absl::string_view kernel) const {
  for (const BundleSchedule& schedule : schedules) {
    if (schedule.kernel == kernel) return &schedule;
  }
  const bool only =
      schedules.size() == 1 && !absl::StartsWith(schedules.front().kernel, kStagingPrefix);
  return only ? &schedules.front() : nullptr;
}

std::vector<std::pair<std::string, std::string>> LibtpuEnvironment(const ScratchFolder& scratch) {
  auto environment = scratch.WorkerEnvironment();
  // Not to ask a metadata server that is not there, to let several processes load it, and to leave
  // no logs behind (but for what it writes to its TMPDIR all the same).
  environment.insert(environment.end(), {{"TPU_SKIP_MDS_QUERY", "1"},
                                         {"ALLOW_MULTIPLE_LIBTPU_LOAD", "1"},
                                         {"TPU_LOG_DIR", "disabled"}});
  return environment;
}

absl::StatusOr<std::unique_ptr<WorkerProcess>> StartAotWorker(const AotCompilerOptions& options,
                                                              const ScratchFolder& scratch) {
  WorkerOptions worker;
  worker.program = options.worker;
  worker.environment = LibtpuEnvironment(scratch);
  worker.environment.emplace_back(
      "LIBTPU_INIT_ARGS", absl::StrCat("--xla_jf_dump_to=", scratch.work(),
                                       " --xla_jf_dump_llo_text=true "
                                       "--xla_jf_dump_llo_pass_label_regex=.*final_bundles.* ",
                                       options.flags));
  worker.memory_limit_bytes = options.memory_limit_bytes;
  return WorkerProcess::Start(worker);
}

AotTimes& AotTimes::operator+=(const AotTimes& other) {
  start += other.start;
  compile += other.compile;
  read_back += other.read_back;
  parse += other.parse;
  workers_started += other.workers_started;
  dump_bytes += other.dump_bytes;
  return *this;
}

FailureKind CompileFailureKind(const absl::Status& status) {
  if (absl::IsResourceExhausted(status)) return FailureKind::kOutOfMemory;
  for (absl::string_view text :
       {"out of memory", "Ran out of memory", "exceeded scoped vmem limit"}) {
    if (absl::StrContains(status.message(), text)) return FailureKind::kOutOfMemory;
  }
  return FailureKind::kCompileError;
}

absl::StatusOr<std::unique_ptr<AotCompiler>> AotCompiler::Create(
    const AotCompilerOptions& options) {
  absl::StatusOr<std::unique_ptr<ScratchFolder>> scratch = ScratchFolder::Create("aot");
  if (!scratch.ok()) return scratch.status();
  return std::unique_ptr<AotCompiler>(new AotCompiler(options, *std::move(scratch)));
}

AotCompiler::AotCompiler(const AotCompilerOptions& options, std::unique_ptr<ScratchFolder> scratch)
    : options_(options), scratch_(std::move(scratch)) {}

absl::Status AotCompiler::StartWorker() {
  worker_.reset();
  scratch_->Empty();
  absl::StatusOr<std::unique_ptr<WorkerProcess>> worker = StartAotWorker(options_, *scratch_);
  if (!worker.ok()) return worker.status();
  worker_ = *std::move(worker);
  return absl::OkStatus();
}

absl::StatusOr<std::variant<std::string, Failure>> AotCompiler::Ask(const PjrtProgram& program,
                                                                    bool serialize,
                                                                    absl::Duration timeout) {
  proto::WorkerRequest request;
  proto::AotCompileRequest& compile = *request.mutable_aot_compile();
  compile.set_plugin(options_.plugin);
  compile.set_topology(options_.topology);
  compile.set_program(program.code);
  compile.set_format(program.format);
  compile.set_compile_options(CompileOptionsFor(program, options_.topology));
  compile.set_dump_directory(scratch_->work());
  compile.set_want_schedules(true);
  compile.set_serialize(serialize);
  std::variant<std::string, Failure> answer = worker_->Call(request.SerializeAsString(), timeout);
  const Failure* failure = std::get_if<Failure>(&answer);
  if (failure != nullptr && DiskIsFull(*failure)) {
    return absl::ResourceExhaustedError(
        absl::StrCat("the compiler cannot write to ", scratch_->work(), ": ", failure->message));
  }
  return answer;
}

absl::StatusOr<std::variant<AotProgram, Failure>> AotCompiler::Read(const std::string& answer) {
  proto::WorkerReply reply;
  if (!reply.ParseFromString(answer)) {
    return absl::DataLossError("a worker's reply cannot be read");
  }
  if (reply.status_code() != 0) {
    const absl::Status status(static_cast<absl::StatusCode>(reply.status_code()),
                              reply.status_message());
    return Failure{CompileFailureKind(status), reply.status_message()};
  }
  const proto::AotCompileReply& compiled = reply.aot_compile();
  proto::HloModuleProto module;
  if (!module.ParseFromString(compiled.optimized_module())) {
    return Failure{FailureKind::kCompileError, "the optimised program cannot be read"};
  }
  absl::StatusOr<std::unique_ptr<HloModule>> parsed = HloModule::FromProto(module);
  if (!parsed.ok()) {
    return Failure{FailureKind::kCompileError, std::string(parsed.status().message())};
  }
  AotProgram result;
  result.module = *std::move(parsed);
  for (const auto& schedule : compiled.schedules())
    result.schedules.push_back(FromRecord(schedule));
  if (compiled.compiler() != reported_) {
    reported_ = compiled.compiler();
    version_ = CompilerVersion(reported_, options_.plugin);
  }
  result.compiler = version_;
  result.executable = compiled.executable();
  result.times.compile = compiled.compile_seconds();
  result.times.read_back = compiled.read_back_seconds();
  result.times.parse = compiled.parse_seconds();
  result.times.dump_bytes = compiled.dump_bytes();
  return result;
}

absl::StatusOr<std::variant<AotProgram, Failure>> AotCompiler::Compile(
    const PjrtProgram& program, bool serialize, std::optional<absl::Duration> timeout) {
  const absl::Time start = absl::Now();
  const bool starts = worker_ == nullptr || !worker_->alive();
  if (starts) {
    if (absl::Status status = StartWorker(); !status.ok()) return status;
  }
  absl::StatusOr<std::variant<std::string, Failure>> answer =
      Ask(program, serialize, timeout.value_or(options_.timeout));
  if (!answer.ok()) return answer.status();
  if (Failure* failure = std::get_if<Failure>(&*answer)) return std::move(*failure);
  absl::StatusOr<std::variant<AotProgram, Failure>> result = Read(std::get<std::string>(*answer));
  if (!starts || !result.ok() || !std::holds_alternative<AotProgram>(*result)) return result;
  AotTimes& times = std::get<AotProgram>(*result).times;
  times.workers_started = 1;
  times.start =
      absl::ToDoubleSeconds(absl::Now() - start) - times.compile - times.read_back - times.parse;
  return result;
}

}  // namespace autotune
