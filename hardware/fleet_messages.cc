#include "hardware/fleet_messages.h"

#include <map>
#include <optional>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hardware/recording_forms.h"
#include "proto/fleet.pb.h"

namespace autotune {
namespace {

bool Parse(absl::string_view bytes, google::protobuf::MessageLite* message) {
  return message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()));
}

void ResultToProto(const Config& config, const Measurement& measurement,
                   proto::FleetResult* result) {
  RecordedConfig recorded{config};
  if (measurement.ok()) {
    recorded.seconds.assign(measurement.samples().begin(), measurement.samples().end());
  } else {
    recorded.failures.push_back(measurement.failure());
  }
  recorded.compile_seconds = measurement.compile_seconds;
  recorded.compiler_estimate_seconds = measurement.compiler_estimate_seconds;
  RecordedConfigToProto(recorded, result->mutable_measured());
  result->set_method(measurement.method);
}

absl::StatusOr<Measurement> ResultFromProto(const proto::FleetResult& result, TimeSource source) {
  const absl::StatusOr<RecordedConfig> recorded = RecordedConfigFromProto(result.measured());
  if (!recorded.ok()) return absl::DataLossError(recorded.status().message());
  Measurement measurement = recorded->ToMeasurement(source);
  measurement.method = result.method();
  return measurement;
}

}  // namespace

std::string FleetRequestBytes(absl::Span<const Candidate> candidates) {
  proto::FleetRequest request;
  std::map<uint64_t, uint32_t> positions;
  for (const Candidate& candidate : candidates) {
    const auto [known, is_new] =
        positions.emplace(candidate.kernel->fingerprint, request.kernels_size());
    if (is_new) KernelToProto(*candidate.kernel, request.add_kernels());
    proto::FleetCandidate& message = *request.add_candidates();
    message.set_kernel(known->second);
    RecordedConfigToProto(RecordedConfig{candidate.config}, message.mutable_config());
  }
  return request.SerializeAsString();
}

absl::StatusOr<std::shared_ptr<const Kernel>> FleetKernelCache::Get(const std::string& bytes) {
  if (const auto known = kernels_.find(bytes); known != kernels_.end()) return known->second;
  proto::KernelRecord record;
  if (!Parse(bytes, &record)) return absl::InvalidArgumentError("a kernel cannot be parsed");
  absl::StatusOr<Kernel> kernel = KernelFromProto(record);
  if (!kernel.ok()) return kernel.status();
  // A driver asks for one kernel after another: what is old is not asked for again soon.
  if (kernels_.size() >= kMost) kernels_.clear();
  auto shared = std::make_shared<const Kernel>(*std::move(kernel));
  kernels_.emplace(bytes, shared);
  return shared;
}

absl::StatusOr<FleetRequestContent> ParseFleetRequest(absl::string_view bytes,
                                                      FleetKernelCache* cache) {
  proto::FleetRequest request;
  if (!Parse(bytes, &request)) return absl::InvalidArgumentError("the request cannot be parsed");
  FleetRequestContent content;
  content.kernels.reserve(static_cast<size_t>(request.kernels_size()));
  FleetKernelCache own;
  if (cache == nullptr) cache = &own;
  for (const proto::KernelRecord& record : request.kernels()) {
    absl::StatusOr<std::shared_ptr<const Kernel>> kernel =
        cache->Get(SerializeDeterministically(record));
    if (!kernel.ok()) return kernel.status();
    content.kernels.push_back(*std::move(kernel));
  }
  for (const proto::FleetCandidate& message : request.candidates()) {
    if (message.kernel() >= content.kernels.size()) {
      return absl::InvalidArgumentError("the request names a kernel that it does not hold");
    }
    // The reader wants a result beside the configuration.
    proto::ConfigRecord record = message.config();
    record.clear_seconds();
    record.add_seconds(1);
    absl::StatusOr<RecordedConfig> config = RecordedConfigFromProto(record);
    if (!config.ok()) return config.status();
    content.candidates.push_back(
        {content.kernels[message.kernel()].get(), std::move(config->config)});
  }
  return content;
}

std::string FleetReplyBytes(const FleetAnswer& answer, absl::Span<const Candidate> candidates) {
  proto::FleetReply reply;
  reply.set_host(answer.host);
  reply.set_backend(answer.capabilities.name);
  reply.set_device(answer.capabilities.device);
  reply.set_versions(answer.capabilities.versions);
  reply.set_source(std::string(TimeSourceName(answer.capabilities.time_source)));
  reply.set_tiles(answer.capabilities.tiles);
  for (size_t i = 0; i < answer.results.size(); ++i) {
    ResultToProto(candidates[i].config, answer.results[i], reply.add_results());
  }
  return reply.SerializeAsString();
}

std::string FleetErrorBytes(const std::string& error) {
  proto::FleetReply reply;
  reply.set_error(error);
  return reply.SerializeAsString();
}

absl::StatusOr<FleetAnswer> ParseFleetReply(absl::string_view bytes, size_t candidates) {
  proto::FleetReply reply;
  if (!Parse(bytes, &reply)) return absl::DataLossError("a worker's reply cannot be parsed");
  if (!reply.error().empty()) return absl::InternalError(reply.error());
  const std::optional<TimeSource> source = TimeSourceFromName(reply.source());
  if (!source.has_value() || static_cast<size_t>(reply.results_size()) != candidates) {
    return absl::DataLossError(absl::StrCat("a worker answers ", reply.results_size(),
                                            " results to ", candidates, " candidates"));
  }
  FleetAnswer answer;
  answer.host = reply.host();
  answer.capabilities.name = reply.backend();
  answer.capabilities.device = reply.device();
  answer.capabilities.versions = reply.versions();
  answer.capabilities.time_source = *source;
  answer.capabilities.tiles = reply.tiles();
  for (const proto::FleetResult& result : reply.results()) {
    absl::StatusOr<Measurement> measurement = ResultFromProto(result, *source);
    if (!measurement.ok()) return measurement.status();
    answer.results.push_back(*std::move(measurement));
  }
  return answer;
}

std::string WordsOfRay(const std::string& text) {
  std::string line = text.substr(0, text.find('\n'));
  constexpr absl::string_view kThrown = "std::runtime_error: ";
  const size_t thrown = line.rfind(std::string(kThrown));
  if (thrown != std::string::npos) line.erase(0, thrown + kThrown.size());
  return line;
}

}  // namespace autotune
