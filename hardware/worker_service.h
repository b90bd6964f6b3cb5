#ifndef AUTOTUNE_HARDWARE_WORKER_SERVICE_H_
#define AUTOTUNE_HARDWARE_WORKER_SERVICE_H_

#include <map>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "hardware/bundle_schedule.h"
#include "hardware/pjrt_plugin.h"
#include "hardware/pjrt_session.h"
#include "proto/worker.pb.h"

namespace autotune {

// What a worker process does: it answers requests with the plugins that it has loaded. Runs in the
// worker only, because a plugin may abort. Not thread-safe.
class WorkerService {
 public:
  // Answers one request. An error of the request is part of the reply.
  proto::WorkerReply Handle(const proto::WorkerRequest& request);

 private:
  absl::StatusOr<proto::AotCompileReply> AotCompile(const proto::AotCompileRequest& request);
  absl::Status HandleDevice(const proto::WorkerRequest& request, proto::WorkerReply* reply);
  absl::StatusOr<PjrtSession*> Session(const std::string& plugin);
  absl::StatusOr<PjrtPlugin*> Plugin(const std::string& path);
  absl::StatusOr<PjrtTopology*> Topology(const std::string& plugin, const std::string& name);

  std::map<std::string, std::unique_ptr<PjrtPlugin>> plugins_;
  // By plugin path and name. Declared after the plugins: they go first.
  std::map<std::pair<std::string, std::string>, std::unique_ptr<PjrtTopology>> topologies_;
  std::map<std::string, std::unique_ptr<PjrtSession>> sessions_;  // by plugin path
};

// Serves requests on descriptor 3 until the parent is gone. Returns the exit code.
int ServeWorker();

// Between the plain and the wire form of a schedule.
void ToRecord(const BundleSchedule& schedule, proto::BundleScheduleRecord* record);
BundleSchedule FromRecord(const proto::BundleScheduleRecord& record);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_WORKER_SERVICE_H_
