#include "hardware/record_transfer_json.h"

#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/escaping.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "hardware/possible_time.h"
#include "hardware/record_store_rows.h"
#include "hardware/recording_forms.h"
#include "hlo/fingerprint.h"
#include "nlohmann/json.hpp"

namespace autotune {
namespace {

using nlohmann::json;

// Reads members of an object; the first error stays.
class MemberReader {
 public:
  explicit MemberReader(const json& object) : object_(object) {}

  std::string Text(const char* name) {
    const json* member = Find(name);
    if (member != nullptr && member->is_string()) return member->get<std::string>();
    Fail(name, "a text");
    return "";
  }

  int64_t Integer(const char* name) {
    const json* member = Find(name);
    // A number beyond would wrap around.
    constexpr uint64_t kLargest = std::numeric_limits<int64_t>::max();
    if (member != nullptr && member->is_number_integer() &&
        !(member->is_number_unsigned() && member->get<uint64_t>() > kLargest)) {
      return member->get<int64_t>();
    }
    Fail(name, "an integer of 64 bits");
    return 0;
  }

  uint64_t HexNumber(const char* name) {
    uint64_t value = 0;
    if (!absl::SimpleHexAtoi(Text(name), &value)) Fail(name, "a hexadecimal number");
    return value;
  }

  std::optional<int64_t> OptionalInteger(const char* name) {
    if (Find(name) == nullptr) return std::nullopt;
    return Integer(name);
  }

  std::optional<double> OptionalNumber(const char* name) {
    const json* member = Find(name);
    if (member == nullptr) return std::nullopt;
    if (member->is_number() && IsPossibleCost(member->get<double>())) return member->get<double>();
    Fail(name, absl::StrCat("a number from 0 to ", kLongestSeconds));
    return 0;
  }

  // Null if it is not there.
  const json* Find(const char* name) const {
    if (!object_.is_object()) return nullptr;
    const auto member = object_.find(name);
    return member == object_.end() ? nullptr : &*member;
  }

  void Fail(const char* name, absl::string_view expected) {
    status_.Update(
        absl::InvalidArgumentError(absl::StrCat("member \"", name, "\" is not ", expected)));
  }

  const absl::Status& status() const { return status_; }

 private:
  const json& object_;
  absl::Status status_;
};

json MeasurementToJson(const Measurement& measurement) {
  json result = json::object();
  if (measurement.ok()) {
    result["seconds"] =
        std::vector<double>(measurement.samples().begin(), measurement.samples().end());
  } else {
    result["failure"] = std::string(FailureKindName(measurement.failure().kind));
    result["message"] = CleanText(measurement.failure().message);
  }
  if (measurement.compile_seconds.has_value()) {
    result["compile_seconds"] = *measurement.compile_seconds;
  }
  if (measurement.compiler_estimate_seconds.has_value()) {
    result["compiler_estimate_seconds"] = *measurement.compiler_estimate_seconds;
  }
  if (!measurement.method.empty()) result["method"] = CleanText(measurement.method);
  return result;
}

std::optional<std::vector<double>> SecondsFromJson(const json& list) {
  std::vector<double> seconds;
  if (!list.is_array() || list.empty()) return std::nullopt;
  for (const json& value : list) {
    if (!value.is_number() || !IsPossibleTime(value.get<double>())) return std::nullopt;
    seconds.push_back(value.get<double>());
  }
  return seconds;
}

absl::StatusOr<Measurement> MeasurementFromJson(const json& object, TimeSource source) {
  MemberReader reader(object);
  std::optional<Measurement> measurement;
  if (const json* list = reader.Find("seconds"); list != nullptr) {
    std::optional<std::vector<double>> seconds = SecondsFromJson(*list);
    if (!seconds.has_value()) {
      reader.Fail("seconds", absl::StrCat("a list of numbers from ", kShortestSeconds, " to ",
                                          kLongestSeconds));
      return reader.status();
    }
    measurement = Measurement::FromSamples(*std::move(seconds), source);
  } else {
    const std::optional<FailureKind> kind = FailureKindFromName(reader.Text("failure"));
    if (!kind.has_value()) reader.Fail("failure", "the name of a kind of failure");
    const std::string message = reader.Text("message");
    if (!reader.status().ok()) return reader.status();
    measurement = Measurement::FromFailure(*kind, message);
  }
  measurement->compile_seconds = reader.OptionalNumber("compile_seconds");
  measurement->compiler_estimate_seconds = reader.OptionalNumber("compiler_estimate_seconds");
  if (reader.Find("method") != nullptr) measurement->method = reader.Text("method");
  if (!reader.status().ok()) return reader.status();
  return *std::move(measurement);
}

absl::StatusOr<std::vector<Prediction>> PredictionsFromJson(const json& list) {
  std::vector<Prediction> predictions;
  for (const json& entry : list) {
    MemberReader reader(entry);
    Prediction prediction;
    prediction.model = reader.Text("model");
    // As text, since JSON has no infinity.
    if (!absl::SimpleAtod(reader.Text("score"), &prediction.score)) {
      reader.Fail("score", "the text of a number");
    }
    prediction.rank = reader.Integer("rank");
    if (!reader.status().ok()) return reader.status();
    predictions.push_back(std::move(prediction));
  }
  return predictions;
}

MeasurementContext ReadContext(MemberReader* reader) {
  MeasurementContext context;
  context.device = reader->Text("device");
  context.backend = reader->Text("backend");
  context.versions = reader->Text("versions");
  context.flags = reader->Text("flags");
  const std::optional<TimeSource> source = TimeSourceFromName(reader->Text("source"));
  if (!source.has_value()) reader->Fail("source", "hardware or estimate");
  context.source = source.value_or(TimeSource::kHardware);
  return context;
}

}  // namespace

json RunToJson(const RunRecord& run) {
  json object = {{"record", "run"},
                 {"id", run.id},
                 {"program", run.program},
                 {"options", run.options_json},
                 {"seed", FingerprintText(run.seed)},
                 {"started", run.started_unix_micros},
                 {"outcome", run.outcome}};
  if (run.finished_unix_micros.has_value()) object["finished"] = *run.finished_unix_micros;
  return object;
}

absl::StatusOr<RunRecord> RunFromJson(const json& object) {
  MemberReader reader(object);
  RunRecord run;
  run.id = reader.Text("id");
  run.program = reader.Text("program");
  run.options_json = reader.Text("options");
  run.seed = reader.HexNumber("seed");
  run.started_unix_micros = reader.Integer("started");
  run.finished_unix_micros = reader.OptionalInteger("finished");
  run.outcome = reader.Text("outcome");
  if (!reader.status().ok()) return reader.status();
  return run;
}

json CandidateToJson(const CandidateRecord& record) {
  const MeasurementContext& context = record.context;
  json object = {{"record", "candidate"},
                 {"run", record.run_id},
                 {"sequence", record.sequence},
                 {"kernel", FingerprintText(record.kernel_fingerprint)},
                 {"kernel_name", record.kernel_name},
                 {"device", context.device},
                 {"backend", context.backend},
                 {"versions", context.versions},
                 {"flags", context.flags},
                 {"source", std::string(TimeSourceName(context.source))},
                 {"config", record.config.ToJson()},
                 {"fate", std::string(FateName(record.fate))},
                 {"time", record.unix_micros}};
  if (record.is_default) object["default"] = true;
  for (const Prediction& prediction : record.predictions) {
    object["predictions"].push_back({{"model", prediction.model},
                                     {"score", DoubleToText(prediction.score)},
                                     {"rank", prediction.rank}});
  }
  if (record.measurement.has_value()) {
    object["measurement"] = MeasurementToJson(*record.measurement);
  }
  return object;
}

absl::StatusOr<CandidateRecord> CandidateFromJson(const json& object) {
  MemberReader reader(object);
  CandidateRecord record;
  record.run_id = reader.Text("run");
  record.sequence = reader.Integer("sequence");
  record.kernel_fingerprint = reader.HexNumber("kernel");
  record.kernel_name = reader.Text("kernel_name");
  record.context = ReadContext(&reader);
  record.unix_micros = reader.Integer("time");
  const std::optional<Fate> fate = FateFromName(reader.Text("fate"));
  if (!fate.has_value()) reader.Fail("fate", "proposed, measured or reused");
  if (reader.Find("config") == nullptr) reader.Fail("config", "there");
  if (!reader.status().ok()) return reader.status();
  record.fate = *fate;
  if (const json* mark = reader.Find("default"); mark != nullptr) {
    record.is_default = mark->is_boolean() && mark->get<bool>();
  }
  absl::StatusOr<Config> config = Config::FromJson(*reader.Find("config"));
  if (!config.ok()) return config.status();
  record.config = *std::move(config);
  if (const json* list = reader.Find("predictions"); list != nullptr) {
    absl::StatusOr<std::vector<Prediction>> predictions = PredictionsFromJson(*list);
    if (!predictions.ok()) return predictions.status();
    record.predictions = *std::move(predictions);
  }
  if (const json* inner = reader.Find("measurement"); inner != nullptr) {
    absl::StatusOr<Measurement> measurement = MeasurementFromJson(*inner, record.context.source);
    if (!measurement.ok()) return measurement.status();
    record.measurement = *std::move(measurement);
  }
  return record;
}

json KernelToJson(const Kernel& kernel) {
  proto::KernelRecord record;
  KernelToProto(kernel, &record);
  return {{"record", "kernel"},
          {"fingerprint", FingerprintText(kernel.fingerprint)},
          {"name", kernel.name},
          {"kernel", absl::Base64Escape(Gzip(SerializeDeterministically(record)))}};
}

absl::StatusOr<Kernel> KernelFromJson(const json& object) {
  MemberReader reader(object);
  const std::string name = reader.Text("name");
  std::string compressed;
  if (!absl::Base64Unescape(reader.Text("kernel"), &compressed)) {
    reader.Fail("kernel", "base64 text");
  }
  if (!reader.status().ok()) return reader.status();
  const absl::StatusOr<std::string> bytes = Gunzip(compressed, absl::StrCat("kernel ", name));
  if (!bytes.ok()) return bytes.status();
  proto::KernelRecord record;
  if (!record.ParseFromString(*bytes)) {
    return absl::InvalidArgumentError(absl::StrCat("kernel ", name, " cannot be parsed"));
  }
  return KernelFromProto(record);
}

}  // namespace autotune
