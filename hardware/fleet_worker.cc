#include "hardware/fleet_worker.h"

#include <unistd.h>

#include <cstdlib>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "hardware/aot_backend.h"
#include "hardware/atomic_file.h"
#include "hardware/device_spec.h"
#include "hardware/fleet_messages.h"
#include "hardware/pjrt_backend.h"
#include "hardware/worker_frames.h"
#include "hlo/fingerprint.h"
#include "nlohmann/json.hpp"

namespace autotune {
namespace {

using nlohmann::json;

// Sleeps, and invents a time from the candidate: for trying a fleet without devices. Estimates, so
// that nobody takes them for measurements.
class SleepBackend : public MeasurementBackend {
 public:
  SleepBackend(absl::Duration pause, std::string device) : pause_(pause) {
    capabilities_.name = "sleep";
    capabilities_.device = std::move(device);
    capabilities_.versions = "invented";
    capabilities_.time_source = TimeSource::kEstimate;
  }

  const Capabilities& capabilities() const override { return capabilities_; }

  absl::StatusOr<std::vector<Measurement>> Measure(
      absl::Span<const Candidate> candidates) override {
    std::vector<Measurement> results;
    for (const Candidate& candidate : candidates) {
      absl::SleepFor(pause_);
      const uint64_t draw = Fingerprinter()
                                .AddInt(candidate.kernel->fingerprint)
                                .AddText(candidate.config.Key())
                                .Get();
      results.push_back(Measurement::FromSamples({1e-6 * static_cast<double>(1 + draw % 1'000'000)},
                                                 TimeSource::kEstimate));
    }
    return results;
  }

 private:
  const absl::Duration pause_;
  Capabilities capabilities_;
};

// The members of a configuration; wrong types and unknown names are errors.
class ConfigReader {
 public:
  explicit ConfigReader(const json& object) : object_(object) {}

  std::string Text(const char* name, const std::string& otherwise) {
    const auto member = Find(name);
    if (member == object_.end()) return otherwise;
    if (member->is_string()) return member->get<std::string>();
    Fail(absl::StrCat("\"", name, "\" is no text"));
    return otherwise;
  }

  double Number(const char* name, double otherwise) {
    const auto member = Find(name);
    if (member == object_.end()) return otherwise;
    if (member->is_number() && member->get<double>() >= 0 && member->get<double>() < 1e6) {
      return member->get<double>();
    }
    Fail(absl::StrCat("\"", name, "\" is no number from 0 to 1e6"));
    return otherwise;
  }

  absl::Status Finish() {
    if (used_ < object_.size()) Fail("it holds a member that no backend of this name knows");
    return status_;
  }

 private:
  json::const_iterator Find(const char* name) {
    const auto member = object_.find(name);
    if (member != object_.end()) ++used_;
    return member;
  }

  void Fail(const std::string& what) {
    status_.Update(
        absl::InvalidArgumentError(absl::StrCat("the configuration of the worker: ", what)));
  }

  const json& object_;
  size_t used_ = 0;
  absl::Status status_;
};

template <typename Backend>
absl::StatusOr<std::unique_ptr<MeasurementBackend>> Upcast(
    absl::StatusOr<std::unique_ptr<Backend>> backend) {
  if (!backend.ok()) return backend.status();
  return std::unique_ptr<MeasurementBackend>(*std::move(backend));
}

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "unknown";
}

absl::StatusOr<std::string> ReadConfiguration() {
  const char* path = std::getenv("AUTOTUNE_FLEET_CONFIG");
  if (path == nullptr) {
    return absl::NotFoundError("AUTOTUNE_FLEET_CONFIG does not name the worker's configuration");
  }
  return ReadWholeFile(path);
}

}  // namespace

absl::StatusOr<std::unique_ptr<MeasurementBackend>> FleetWorkerBackend(
    const std::string& config_json) {
  const json config = json::parse(config_json, nullptr, /*allow_exceptions=*/false);
  if (!config.is_object()) {
    return absl::InvalidArgumentError("the configuration of the worker is no JSON object");
  }
  ConfigReader reader(config);
  const std::string backend = reader.Text("backend", "");
  if (backend == "sleep") {
    const double milliseconds = reader.Number("milliseconds", 100);
    const absl::StatusOr<DeviceSpec> device = FindDeviceSpec(reader.Text("target", "v5e"));
    if (absl::Status status = reader.Finish(); !status.ok()) return status;
    if (!device.ok()) return device.status();
    return std::make_unique<SleepBackend>(absl::Milliseconds(milliseconds), device->name);
  }
  const std::string plugin = reader.Text("plugin", "");
  const std::string worker = reader.Text("worker", "");
  const absl::Duration timeout = absl::Seconds(reader.Number("timeout_seconds", 120));
  if (backend == "aot") {
    const std::string target = reader.Text("target", "v5e");
    if (absl::Status status = reader.Finish(); !status.ok()) return status;
    return Upcast(AotBackend::Create(
        {.target = target, .plugin = plugin, .worker = worker, .timeout = timeout}));
  }
  if (backend == "pjrt") {
    const int repeats = static_cast<int>(reader.Number("repeats", 10));
    if (absl::Status status = reader.Finish(); !status.ok()) return status;
    return Upcast(PjrtBackend::Create(
        {.plugin = plugin, .worker = worker, .repeats = repeats, .timeout = timeout}));
  }
  return absl::InvalidArgumentError(absl::StrCat(
      "the configuration of the worker: \"backend\" is pjrt, aot or sleep, not \"", backend, "\""));
}

std::string AnswerFleetRequest(MeasurementBackend& backend, const std::string& host,
                               absl::string_view request, FleetKernelCache* cache) {
  const absl::StatusOr<FleetRequestContent> content = ParseFleetRequest(request, cache);
  if (!content.ok()) return FleetErrorBytes(std::string(content.status().message()));
  FleetAnswer answer;
  answer.host = host;
  answer.capabilities = backend.capabilities();
  if (!content->candidates.empty()) {
    absl::StatusOr<std::vector<Measurement>> results = backend.Measure(content->candidates);
    if (!results.ok()) return FleetErrorBytes(std::string(results.status().message()));
    answer.results = *std::move(results);
  }
  return FleetReplyBytes(answer, content->candidates);
}

int ServeFleetWorker() {
  absl::StatusOr<std::unique_ptr<MeasurementBackend>> backend = absl::UnknownError("not made");
  const absl::StatusOr<std::string> config = ReadConfiguration();
  backend = config.ok() ? FleetWorkerBackend(*config) : config.status();
  const std::string host = HostName();
  FleetKernelCache cache;
  for (;;) {
    const absl::StatusOr<std::string> request = ReadFrame(kWorkerSocket);
    if (!request.ok()) return absl::IsUnavailable(request.status()) ? 0 : 1;
    // A backend that could not start is an answer too: the driver shows why.
    const std::string reply =
        backend.ok()
            ? AnswerFleetRequest(**backend, host, *request, &cache)
            : FleetErrorBytes(absl::StrCat(host, ": ", std::string(backend.status().message())));
    if (!WriteFrame(kWorkerSocket, reply).ok()) return 0;
    if (!backend.ok()) return 1;  // the next one reads the configuration again
  }
}

}  // namespace autotune
