#include "hardware/pjrt_session.h"

#include <algorithm>
#include <atomic>
#include <thread>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "hardware/aot_compiler.h"
#include "hardware/device_profile.h"
#include "hlo/shape.h"

namespace autotune {
namespace {

// A call this long is timed as it is: what it costs beside the program does not show.
constexpr double kLongCallSeconds = 0.05;

double SecondsSince(absl::Time start) { return absl::ToDoubleSeconds(absl::Now() - start); }

void Fail(FailureKind kind, const absl::Status& status, proto::DeviceMeasureReply* reply) {
  reply->set_failure_kind(std::string(FailureKindName(kind)));
  reply->set_failure_message(std::string(status.message()));
}

// The kind of failure behind an error while a program ran.
FailureKind RunFailureKind(const absl::Status& status) {
  if (absl::IsDataLoss(status)) return FailureKind::kWrongResult;
  const FailureKind kind = CompileFailureKind(status);
  return kind == FailureKind::kOutOfMemory ? kind : FailureKind::kCrash;
}

std::vector<const PjrtBuffer*> Arguments(const std::vector<std::unique_ptr<PjrtBuffer>>& buffers) {
  std::vector<const PjrtBuffer*> arguments;
  arguments.reserve(buffers.size());
  for (const auto& buffer : buffers) arguments.push_back(buffer.get());
  return arguments;
}

// What may be run again and again with the same inputs: nothing is donated or aliased.
void KeepInputs(proto::HloModuleProto* module) {
  module->clear_input_output_alias();
  module->clear_buffer_donor();
}

}  // namespace

PjrtSession::PjrtSession(std::string api_version, std::unique_ptr<PjrtClient> client,
                         std::unique_ptr<PjrtProfiler> profiler, double start_seconds)
    : api_version_(std::move(api_version)),
      client_(std::move(client)),
      profiler_(std::move(profiler)),
      start_seconds_(start_seconds) {}

absl::StatusOr<std::unique_ptr<PjrtSession>> PjrtSession::Create(const PjrtPlugin& plugin) {
  const absl::Time start = absl::Now();
  absl::StatusOr<std::unique_ptr<PjrtClient>> client = PjrtClient::Create(plugin);
  if (!client.ok()) return client.status();
  absl::StatusOr<std::unique_ptr<PjrtProfiler>> profiler = PjrtProfiler::Create(plugin);
  return std::unique_ptr<PjrtSession>(
      new PjrtSession(plugin.api_version(), *std::move(client),
                      profiler.ok() ? *std::move(profiler) : nullptr, SecondsSince(start)));
}

proto::DeviceReply PjrtSession::Describe() const {
  proto::DeviceReply reply;
  reply.set_platform(client_->PlatformName());
  reply.set_platform_version(client_->PlatformVersion());
  reply.set_api_version(api_version_);
  reply.set_start_seconds(start_seconds_);
  for (const std::string& kind : client_->DeviceKinds()) reply.add_device_kinds(kind);
  return reply;
}

absl::StatusOr<proto::DeviceCompileReply> PjrtSession::Compile(
    const proto::DeviceCompileRequest& request) const {
  absl::StatusOr<std::unique_ptr<PjrtExecutable>> executable = client_->Compile(
      PjrtProgram{request.program(), request.format()},
      request.compile_options().empty() ? SingleDeviceCompileOptions() : request.compile_options());
  if (!executable.ok()) return executable.status();
  proto::DeviceCompileReply reply;
  reply.set_compile_seconds((*executable)->compile_seconds());
  if (const HloModule* optimized = (*executable)->optimized()) {
    reply.set_optimized_module(optimized->ToProto().SerializeAsString());
  }
  if (request.serialize()) {
    absl::StatusOr<std::string> bytes = (*executable)->Serialize();
    if (!bytes.ok()) return bytes.status();
    reply.set_executable(*std::move(bytes));
  }
  return reply;
}

PjrtSession::Executable PjrtSession::CompileModule(const proto::HloModuleProto& module) const {
  absl::StatusOr<std::unique_ptr<PjrtExecutable>> executable = client_->Compile(
      PjrtProgram{module.SerializeAsString(), "hlo"}, SingleDeviceCompileOptions());
  if (!executable.ok()) return executable.status();
  return std::shared_ptr<const PjrtExecutable>(*std::move(executable));
}

absl::StatusOr<std::shared_ptr<PjrtSession::Prepared>> PjrtSession::PrepareProgram(
    const std::string& program) const {
  proto::HloModuleProto module;
  if (!module.ParseFromString(program)) {
    return absl::InvalidArgumentError("the program cannot be read");
  }
  KeepInputs(&module);
  absl::StatusOr<std::unique_ptr<HloModule>> parsed = HloModule::FromProto(module);
  if (!parsed.ok()) return parsed.status();
  auto prepared = std::make_shared<Prepared>();
  prepared->module = *std::move(parsed);
  prepared->alone = CompileModule(module);
  if (!prepared->alone.ok()) return prepared;
  absl::StatusOr<LoopProgram> loop = MakeLoopProgram(*prepared->module, LoopLink::kBarrier);
  if (loop.ok()) {
    prepared->results = std::move(loop->results);
    prepared->loop = CompileModule(loop->module);
  } else {
    prepared->loop = loop.status();
  }
  return prepared;
}

proto::DevicePrepareReply PjrtSession::Prepare(const proto::DevicePrepareRequest& request) {
  const absl::Time start = absl::Now();
  std::vector<absl::StatusOr<std::shared_ptr<Prepared>>> results(
      static_cast<size_t>(request.programs_size()), absl::UnknownError("not compiled"));
  std::atomic<int> next = 0;
  const auto work = [&] {
    for (int i = next++; i < request.programs_size(); i = next++) {
      results[static_cast<size_t>(i)] = PrepareProgram(request.programs(i));
    }
  };
  std::vector<std::thread> threads;
  const int extra = std::min(request.threads(), request.programs_size());
  for (int i = 1; i < extra; ++i) threads.emplace_back(work);
  work();
  for (std::thread& thread : threads) thread.join();
  for (size_t i = 0; i < results.size(); ++i) {
    if (results[i].ok()) prepared_[request.programs(static_cast<int>(i))] = *results[i];
  }
  proto::DevicePrepareReply reply;
  reply.set_wall_seconds(SecondsSince(start));
  return reply;
}

absl::StatusOr<std::shared_ptr<PjrtSession::Prepared>> PjrtSession::TakePrepared(
    const std::string& program) {
  const auto found = prepared_.find(program);
  if (found == prepared_.end()) return PrepareProgram(program);
  std::shared_ptr<Prepared> prepared = std::move(found->second);
  prepared_.erase(found);
  return prepared;
}

absl::StatusOr<PjrtSession::Buffers> PjrtSession::Upload(const std::vector<HostArray>& arrays,
                                                         const PjrtExecutable& executable) const {
  // The layouts that the compiled program expects.
  std::vector<Shape> expected;
  if (const HloModule* optimized = executable.optimized()) {
    for (const auto& parameter : optimized->entry_computation_layout().parameters()) {
      expected.push_back(Shape::FromProto(parameter));
    }
  }
  Buffers buffers;
  for (size_t i = 0; i < arrays.size(); ++i) {
    const bool known = i < expected.size() && expected[i].has_layout();
    absl::StatusOr<std::unique_ptr<PjrtBuffer>> buffer =
        client_->Upload(arrays[i], known ? &expected[i].layout() : nullptr);
    if (!buffer.ok()) return buffer.status();
    buffers.push_back(*std::move(buffer));
  }
  return buffers;
}

absl::StatusOr<std::vector<HostArray>> PjrtSession::RunOnce(const PjrtExecutable& executable,
                                                            const std::vector<HostArray>& inputs,
                                                            double* seconds) const {
  absl::StatusOr<Buffers> buffers = Upload(inputs, executable);
  if (!buffers.ok()) return buffers.status();
  absl::StatusOr<PjrtExecutable::Outcome> outcome = executable.Run(Arguments(*buffers));
  if (!outcome.ok()) return outcome.status();
  *seconds = outcome->seconds;
  std::vector<HostArray> outputs;
  for (const auto& output : outcome->outputs) {
    absl::StatusOr<HostArray> array = output->Download();
    if (!array.ok()) return array.status();
    outputs.push_back(*std::move(array));
  }
  return outputs;
}

absl::Status PjrtSession::SetReference(const proto::DeviceMeasureRequest& request,
                                       const Prepared& program, FailureKind* kind) {
  *kind = FailureKind::kCompileError;
  // The unmodified program is measured without a reference, and is one afterwards: then its outputs
  // are wanted too.
  const std::string key = request.reference().empty()
                              ? absl::StrCat(request.seed(), " inputs ", request.program())
                              : absl::StrCat(request.seed(), " outputs ", request.reference());
  if (reference_.key == key) return absl::OkStatus();
  absl::StatusOr<std::vector<HostArray>> inputs = RandomInputs(*program.module, request.seed());
  if (!inputs.ok()) return inputs.status();
  std::vector<HostArray> outputs;
  if (!request.reference().empty()) {
    proto::HloModuleProto module;
    if (!module.ParseFromString(request.reference())) {
      return absl::InvalidArgumentError("the reference cannot be read");
    }
    KeepInputs(&module);
    Executable executable = CompileModule(module);
    if (!executable.ok()) {
      *kind = CompileFailureKind(executable.status());
      return executable.status();
    }
    double seconds = 0;
    absl::StatusOr<std::vector<HostArray>> results = RunOnce(**executable, *inputs, &seconds);
    if (!results.ok()) {
      *kind = RunFailureKind(results.status());
      return results.status();
    }
    outputs = *std::move(results);
  }
  reference_ = Reference{key, *std::move(inputs), std::move(outputs)};
  return absl::OkStatus();
}

absl::StatusOr<SlopeResult> PjrtSession::TimeLoop(const Prepared& program,
                                                  const PjrtExecutable& loop, LoopLink link,
                                                  const SlopeOptions& options) const {
  std::vector<HostArray> arrays = reference_.inputs;
  for (const Shape& shape : program.results) arrays.push_back(ZeroArray(shape));
  arrays.push_back(HostArray{proto::S32, {}, std::string(4, '\0')});
  const size_t trips_at = arrays.size() - 1;
  if (link == LoopLink::kUpdate) {
    arrays.push_back(HostArray{proto::PRED, {}, std::string(1, '\0')});
  }
  absl::StatusOr<Buffers> buffers = Upload(arrays, loop);
  if (!buffers.ok()) return buffers.status();
  int64_t uploaded_trips = -1;
  const auto run = [&](int64_t trips) -> absl::StatusOr<double> {
    if (trips != uploaded_trips) {
      for (size_t i = 0; i < 4; ++i) {
        arrays[trips_at].bytes[i] = static_cast<char>(trips >> (8 * i));
      }
      absl::StatusOr<std::unique_ptr<PjrtBuffer>> count =
          client_->Upload(arrays[trips_at], nullptr);
      if (!count.ok()) return count.status();
      (*buffers)[trips_at] = *std::move(count);
      uploaded_trips = trips;
    }
    absl::StatusOr<PjrtExecutable::Outcome> outcome = loop.Run(Arguments(*buffers));
    if (!outcome.ok()) return outcome.status();
    return outcome->seconds;
  };
  return TimeBySlope(run, options);
}

absl::Status PjrtSession::TimeByProfiler(const Prepared& program, int repeats,
                                         proto::DeviceMeasureReply* reply) const {
  const PjrtExecutable& executable = **program.alone;
  if (executable.optimized() == nullptr) {
    return absl::UnimplementedError("the plugin does not show what it compiled");
  }
  absl::StatusOr<Buffers> buffers = Upload(reference_.inputs, executable);
  if (!buffers.ok()) return buffers.status();
  const std::vector<const PjrtBuffer*> arguments = Arguments(*buffers);
  const int runs = repeats + 1;  // the first one warms up
  absl::StatusOr<std::string> bytes = profiler_->Watch([&] {
    absl::Status status;
    for (int i = 0; i < runs && status.ok(); ++i) status = executable.Run(arguments).status();
    return status;
  });
  if (!bytes.ok()) return bytes.status();
  absl::StatusOr<DeviceProfile> profile = ReadDeviceProfile(*bytes);
  if (!profile.ok()) return profile.status();
  absl::StatusOr<std::vector<double>> seconds = RunSeconds(*profile, *executable.optimized(), runs);
  if (!seconds.ok()) return seconds.status();
  reply->mutable_seconds()->Assign(seconds->begin() + 1, seconds->end());
  reply->set_method("profiler");
  return absl::OkStatus();
}

absl::StatusOr<bool> PjrtSession::TimeByLoop(const proto::DeviceMeasureRequest& request,
                                             Prepared& program, absl::Status* unfit,
                                             proto::DeviceMeasureReply* reply) const {
  SlopeOptions options;
  options.repeats = request.repeats();
  if (request.significant_seconds() > 0)
    options.significant_seconds = request.significant_seconds();
  const HloModule* alone = (*program.alone)->optimized();
  for (LoopLink link : {LoopLink::kBarrier, LoopLink::kUpdate}) {
    if (link == LoopLink::kUpdate) {
      absl::StatusOr<LoopProgram> loop = MakeLoopProgram(*program.module, link);
      program.loop = loop.ok() ? CompileModule(loop->module) : loop.status();
    }
    *unfit = program.loop.status();
    if (!unfit->ok()) continue;
    reply->set_compile_seconds(reply->compile_seconds() + (*program.loop)->compile_seconds());
    const HloModule* compiled = (*program.loop)->optimized();
    if (alone == nullptr || compiled == nullptr) {
      *unfit = absl::UnimplementedError("the plugin does not show what it compiled");
      return false;
    }
    *unfit = CheckLoopBody(*alone, *compiled);
    if (!unfit->ok()) continue;
    absl::StatusOr<SlopeResult> slope = TimeLoop(program, **program.loop, link, options);
    if (!slope.ok()) return slope.status();
    reply->mutable_seconds()->Assign(slope->seconds.begin(), slope->seconds.end());
    reply->set_method(std::string(LoopLinkName(link)));
    return true;
  }
  return false;
}

absl::Status PjrtSession::TimeCalls(const Prepared& program, int repeats,
                                    proto::DeviceMeasureReply* reply) const {
  absl::StatusOr<Buffers> buffers = Upload(reference_.inputs, **program.alone);
  if (!buffers.ok()) return buffers.status();
  const std::vector<const PjrtBuffer*> arguments = Arguments(*buffers);
  for (int i = 0; i <= repeats; ++i) {
    absl::StatusOr<PjrtExecutable::Outcome> outcome = (*program.alone)->Run(arguments);
    if (!outcome.ok()) return outcome.status();
    if (i > 0) reply->add_seconds(outcome->seconds);  // the first one warms up
  }
  reply->set_method("single calls");
  return absl::OkStatus();
}

absl::Status PjrtSession::Time(const proto::DeviceMeasureRequest& request, Prepared& program,
                               double call_seconds, proto::DeviceMeasureReply* reply) {
  // Why a better way than the one taken did not do.
  std::string why;
  const auto add_why = [&](const absl::Status& status) {
    absl::StrAppend(&why, why.empty() ? " (" : "; ", std::string(status.message()));
  };
  if (profiler_ != nullptr && !request.single_calls()) {
    const absl::Status status = TimeByProfiler(program, request.repeats(), reply);
    if (status.ok()) return status;
    add_why(status);
  }
  absl::StatusOr<bool> looped = false;
  if (!request.single_calls() && call_seconds <= kLongCallSeconds) {
    absl::Status unfit;
    looped = TimeByLoop(request, program, &unfit, reply);
    if (!looped.ok()) return looped.status();
    if (!*looped) add_why(unfit);
  }
  if (!*looped) {
    absl::Status status = TimeCalls(program, request.repeats(), reply);
    if (!status.ok()) return status;
  }
  if (!why.empty()) reply->set_method(absl::StrCat(reply->method(), why, ")"));
  return absl::OkStatus();
}

absl::StatusOr<proto::DeviceMeasureReply> PjrtSession::Measure(
    const proto::DeviceMeasureRequest& request) {
  proto::DeviceMeasureReply reply;
  const absl::Time start = absl::Now();
  absl::StatusOr<std::shared_ptr<Prepared>> prepared = TakePrepared(request.program());
  if (!prepared.ok()) return prepared.status();
  Prepared& program = **prepared;
  if (!program.alone.ok()) {
    Fail(CompileFailureKind(program.alone.status()), program.alone.status(), &reply);
    return reply;
  }
  reply.set_compile_seconds((*program.alone)->compile_seconds());
  if (const HloModule* optimized = (*program.alone)->optimized()) {
    reply.set_optimized_module(optimized->ToProto().SerializeAsString());
  }
  double call_seconds = 0;
  FailureKind kind = FailureKind::kCompileError;
  absl::Status status = SetReference(request, program, &kind);
  if (!status.ok()) {
    Fail(kind, status, &reply);
    return reply;
  }
  absl::StatusOr<std::vector<HostArray>> outputs =
      RunOnce(**program.alone, reference_.inputs, &call_seconds);
  status = outputs.status();
  if (status.ok() && !request.reference().empty()) {
    status = CompareOutputs(reference_.outputs, *outputs);
  }
  if (status.ok() && request.repeats() > 0) {
    status = Time(request, program, call_seconds, &reply);
  }
  if (!status.ok()) Fail(RunFailureKind(status), status, &reply);
  reply.set_run_seconds(SecondsSince(start));
  return reply;
}

}  // namespace autotune
