#include "hardware/worker_service.h"

#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <filesystem>
#include <thread>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "hardware/scratch_folder.h"
#include "hardware/worker_frames.h"

namespace autotune {
namespace {

namespace fs = std::filesystem;

// True for the static schedule of a kernel: not of the program around it, nor of what the compiler
// puts before and after it.
bool IsKernelSchedule(const std::string& name) {
  if (!absl::EndsWith(name, "final_bundles.txt")) return false;
  return !absl::StrContains(name, "schedule-analysis") && !absl::StrContains(name, "-TLP-") &&
         !absl::StrContains(name, "<late-");
}

// The kernels' schedules in the order in which they were compiled (names start with a time stamp).
// Empties the directory.
absl::Status TakeSchedules(const std::string& directory, proto::AotCompileReply* reply) {
  std::error_code error;
  std::vector<fs::path> paths;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory, error)) {
    paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  absl::Status status;
  for (const fs::path& path : paths) {
    reply->set_dump_bytes(reply->dump_bytes() + static_cast<int64_t>(fs::file_size(path, error)));
    if (status.ok() && IsKernelSchedule(path.filename())) {
      absl::StatusOr<BundleSchedule> schedule = ReadBundleSchedule(path);
      if (schedule.ok()) ToRecord(*schedule, reply->add_schedules());
      status = schedule.status();
    }
    fs::remove(path, error);
  }
  return status;
}

// Ends the process, and its group, when the parent is gone, whatever a plugin is doing, and removes
// the folder that the parent would have removed.
void DieWithParent() {
  std::thread([] {
    for (;;) {
      pollfd parent = {.fd = kWorkerSocket, .events = POLLRDHUP, .revents = 0};
      poll(&parent, 1, -1);
      if (parent.revents != 0) {
        RemoveScratchOfDeadParent();
        kill(0, SIGKILL);
        _exit(1);
      }
    }
  }).detach();
}

}  // namespace

void ToRecord(const BundleSchedule& schedule, proto::BundleScheduleRecord* record) {
  record->set_kernel(schedule.kernel);
  record->set_static_bundles(schedule.static_bundles);
  record->set_weighted_bundles(schedule.weighted_bundles);
  record->set_weighted_delays(schedule.weighted_delays);
  record->set_conditional_cycles(schedule.conditional_cycles);
  for (const ScheduledLoop& loop : schedule.loops) {
    proto::ScheduledLoopRecord& out = *record->add_loops();
    out.set_depth(loop.depth);
    if (loop.trip_count.has_value()) out.set_trip_count(*loop.trip_count);
    out.set_assumed_trips(loop.assumed_trips);
    out.set_body_bundles(loop.body_bundles);
    out.set_body_delays(loop.body_delays);
  }
  for (const ScheduledTransfer& transfer : schedule.transfers) {
    proto::ScheduledTransferRecord& out = *record->add_transfers();
    out.set_direction(static_cast<int>(transfer.direction));
    out.set_window_bytes(transfer.window_bytes);
    out.set_contiguous_runs(transfer.contiguous_runs);
    out.set_executions(transfer.executions);
  }
}

BundleSchedule FromRecord(const proto::BundleScheduleRecord& record) {
  BundleSchedule schedule;
  schedule.kernel = record.kernel();
  schedule.static_bundles = record.static_bundles();
  schedule.weighted_bundles = record.weighted_bundles();
  schedule.weighted_delays = record.weighted_delays();
  schedule.conditional_cycles = record.conditional_cycles();
  for (const proto::ScheduledLoopRecord& in : record.loops()) {
    ScheduledLoop loop;
    loop.depth = in.depth();
    if (in.has_trip_count()) loop.trip_count = in.trip_count();
    loop.assumed_trips = in.assumed_trips();
    loop.body_bundles = in.body_bundles();
    loop.body_delays = in.body_delays();
    schedule.loops.push_back(loop);
  }
  for (const proto::ScheduledTransferRecord& in : record.transfers()) {
    ScheduledTransfer transfer;
    transfer.direction = static_cast<ScheduledTransfer::Direction>(in.direction());
    transfer.window_bytes = in.window_bytes();
    transfer.contiguous_runs = in.contiguous_runs();
    transfer.executions = in.executions();
    schedule.transfers.push_back(transfer);
  }
  return schedule;
}

absl::StatusOr<PjrtPlugin*> WorkerService::Plugin(const std::string& path) {
  std::unique_ptr<PjrtPlugin>& plugin = plugins_[path];
  if (plugin == nullptr) {
    absl::StatusOr<std::unique_ptr<PjrtPlugin>> loaded = PjrtPlugin::Load(path);
    if (!loaded.ok()) return loaded.status();
    plugin = *std::move(loaded);
  }
  return plugin.get();
}

absl::StatusOr<PjrtTopology*> WorkerService::Topology(const std::string& plugin,
                                                      const std::string& name) {
  std::unique_ptr<PjrtTopology>& topology = topologies_[{plugin, name}];
  if (topology == nullptr) {
    absl::StatusOr<PjrtPlugin*> loaded = Plugin(plugin);
    if (!loaded.ok()) return loaded.status();
    absl::StatusOr<std::unique_ptr<PjrtTopology>> created = (*loaded)->CreateTopology(name);
    if (!created.ok()) return created.status();
    topology = *std::move(created);
  }
  return topology.get();
}

absl::StatusOr<PjrtSession*> WorkerService::Session(const std::string& plugin) {
  std::unique_ptr<PjrtSession>& session = sessions_[plugin];
  if (session == nullptr) {
    absl::StatusOr<PjrtPlugin*> loaded = Plugin(plugin);
    if (!loaded.ok()) return loaded.status();
    absl::StatusOr<std::unique_ptr<PjrtSession>> created = PjrtSession::Create(**loaded);
    if (!created.ok()) return created.status();
    session = *std::move(created);
  }
  return session.get();
}

absl::Status WorkerService::HandleDevice(const proto::WorkerRequest& request,
                                         proto::WorkerReply* reply) {
  const std::string& plugin = request.has_device()           ? request.device().plugin()
                              : request.has_device_compile() ? request.device_compile().plugin()
                              : request.has_device_prepare() ? request.device_prepare().plugin()
                                                             : request.device_measure().plugin();
  absl::StatusOr<PjrtSession*> session = Session(plugin);
  if (!session.ok()) return session.status();
  if (request.has_device()) {
    *reply->mutable_device() = (*session)->Describe();
  } else if (request.has_device_compile()) {
    absl::StatusOr<proto::DeviceCompileReply> compiled =
        (*session)->Compile(request.device_compile());
    if (!compiled.ok()) return compiled.status();
    *reply->mutable_device_compile() = *std::move(compiled);
  } else if (request.has_device_prepare()) {
    *reply->mutable_device_prepare() = (*session)->Prepare(request.device_prepare());
  } else {
    absl::StatusOr<proto::DeviceMeasureReply> measured =
        (*session)->Measure(request.device_measure());
    if (!measured.ok()) return measured.status();
    *reply->mutable_device_measure() = *std::move(measured);
  }
  return absl::OkStatus();
}

absl::StatusOr<proto::AotCompileReply> WorkerService::AotCompile(
    const proto::AotCompileRequest& request) {
  proto::AotCompileReply reply;
  const absl::Time start = absl::Now();
  absl::StatusOr<PjrtTopology*> topology = Topology(request.plugin(), request.topology());
  if (!topology.ok()) return topology.status();
  reply.set_start_seconds(absl::ToDoubleSeconds(absl::Now() - start));
  reply.set_compiler((*topology)->PlatformVersion());
  absl::StatusOr<AheadOfTimeResult> result =
      (*topology)->Compile(PjrtProgram{request.program(), request.format()},
                           request.compile_options(), request.serialize());
  const absl::Time compiled = absl::Now();
  absl::Status status;
  if (!request.dump_directory().empty()) {
    status = TakeSchedules(request.dump_directory(), &reply);
  }
  if (!result.ok()) return result.status();
  if (!status.ok() && request.want_schedules()) return status;
  reply.set_parse_seconds(absl::ToDoubleSeconds(absl::Now() - compiled));
  reply.set_compile_seconds(result->compile_seconds);
  reply.set_read_back_seconds(result->read_back_seconds);
  reply.set_optimized_module(std::move(result->optimized_module));
  reply.set_executable(std::move(result->executable));
  return reply;
}

proto::WorkerReply WorkerService::Handle(const proto::WorkerRequest& request) {
  proto::WorkerReply reply;
  absl::Status status;
  switch (request.request_case()) {
    case proto::WorkerRequest::kAotCompile: {
      absl::StatusOr<proto::AotCompileReply> compiled = AotCompile(request.aot_compile());
      status = compiled.status();
      if (status.ok()) *reply.mutable_aot_compile() = *std::move(compiled);
      break;
    }
    case proto::WorkerRequest::kDevice:
    case proto::WorkerRequest::kDeviceCompile:
    case proto::WorkerRequest::kDevicePrepare:
    case proto::WorkerRequest::kDeviceMeasure:
      status = HandleDevice(request, &reply);
      break;
    case proto::WorkerRequest::REQUEST_NOT_SET:
      status = absl::InvalidArgumentError("a request without content");
      break;
  }
  reply.set_status_code(static_cast<int>(status.code()));
  reply.set_status_message(std::string(status.message()));
  return reply;
}

int ServeWorker() {
  DieWithParent();
  WorkerService service;
  for (;;) {
    absl::StatusOr<std::string> message = ReadFrame(kWorkerSocket);
    if (!message.ok()) {
      pollfd parent = {.fd = kWorkerSocket, .events = POLLRDHUP, .revents = 0};
      if (poll(&parent, 1, 0) == 1) RemoveScratchOfDeadParent();
      return 0;
    }
    proto::WorkerRequest request;
    proto::WorkerReply reply;
    if (request.ParseFromString(*message)) {
      reply = service.Handle(request);
    } else {
      reply.set_status_code(static_cast<int>(absl::StatusCode::kInvalidArgument));
      reply.set_status_message("a request that cannot be read");
    }
    if (!WriteFrame(kWorkerSocket, reply.SerializeAsString()).ok()) return 0;
  }
}

}  // namespace autotune
