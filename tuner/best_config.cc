#include "tuner/best_config.h"

#include <utility>

#include "absl/status/status.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "hlo/fingerprint.h"
#include "nlohmann/json.hpp"

namespace autotune {
namespace {

using nlohmann::json;

constexpr char kSchema[] = "autotune.best/1";

absl::Status Bad(const std::string& member, const std::string& what) {
  return absl::InvalidArgumentError(absl::StrCat("\"", member, "\": ", what));
}

// Reads members of an object and remembers the first that is not as it should be.
class ObjectReader {
 public:
  ObjectReader(const json& object, std::string where) : object_(object), where_(std::move(where)) {}

  std::string Text(const char* member) {
    const json* value = Find(member, true);
    if (value == nullptr) return "";
    if (value->is_string()) return value->get<std::string>();
    Fail(member, "expected a string");
    return "";
  }
  int64_t Integer(const char* member) {
    const json* value = Find(member, true);
    if (value == nullptr) return 0;
    if (value->is_number_integer()) return value->get<int64_t>();
    Fail(member, "expected an integer");
    return 0;
  }
  std::optional<double> Number(const char* member) {
    const json* value = Find(member, false);
    if (value == nullptr) return std::nullopt;
    if (value->is_number()) return value->get<double>();
    Fail(member, "expected a number");
    return std::nullopt;
  }
  std::optional<Config> Configuration(const char* member) {
    const json* value = Find(member, false);
    if (value == nullptr) return std::nullopt;
    absl::StatusOr<Config> config = Config::FromJson(*value);
    if (config.ok()) return *std::move(config);
    Fail(member, std::string(config.status().message()));
    return std::nullopt;
  }
  void Fail(const std::string& member, const std::string& what) {
    status_.Update(Bad(absl::StrCat(where_, member), what));
  }
  const absl::Status& status() const { return status_; }

 private:
  const json* Find(const char* member, bool required) {
    const auto it = object_.find(member);
    if (it != object_.end()) return &*it;
    if (required) Fail(member, "is missing");
    return nullptr;
  }

  const json& object_;
  std::string where_;
  absl::Status status_;
};

json ToJson(const BestConfig::KernelEntry& kernel) {
  json entry = {{"name", kernel.name},
                {"kind", kernel.kind},
                {"count", kernel.count},
                {"fingerprint", FingerprintText(kernel.fingerprint)}};
  if (kernel.config) entry["config"] = kernel.config->ToJson();
  if (kernel.seconds) entry["seconds"] = *kernel.seconds;
  if (kernel.default_config) entry["default_config"] = kernel.default_config->ToJson();
  if (kernel.default_seconds) entry["default_seconds"] = *kernel.default_seconds;
  return entry;
}

absl::StatusOr<BestConfig::KernelEntry> EntryFromJson(const json& entry, size_t position) {
  const std::string where = absl::StrCat("kernels[", position, "]");
  if (!entry.is_object()) return Bad(where, "expected an object");
  ObjectReader reader(entry, where + ".");
  BestConfig::KernelEntry kernel;
  kernel.name = reader.Text("name");
  kernel.kind = reader.Text("kind");
  kernel.count = reader.Integer("count");
  const std::string fingerprint = reader.Text("fingerprint");
  if (const std::optional<uint64_t> value = FingerprintFromText(fingerprint)) {
    kernel.fingerprint = *value;
  } else {
    reader.Fail("fingerprint", "expected 16 hexadecimal digits");
  }
  kernel.config = reader.Configuration("config");
  kernel.seconds = reader.Number("seconds");
  kernel.default_config = reader.Configuration("default_config");
  kernel.default_seconds = reader.Number("default_seconds");
  if (!reader.status().ok()) return reader.status();
  return kernel;
}

}  // namespace

BestConfig BestConfig::FromReport(const TuningReport& report) {
  BestConfig best;
  best.program = report.program;
  best.program_name = report.program_name;
  best.run_id = report.run_id;
  best.device = report.device;
  best.backend = report.backend;
  best.versions = report.versions;
  best.time_source = report.time_source;
  for (const KernelReport& kernel : report.kernels) {
    KernelEntry entry = {.name = kernel.name,
                         .kind = kernel.kind,
                         .count = kernel.count,
                         .fingerprint = kernel.fingerprint};
    if (kernel.best && kernel.best->measurement.ok()) {
      entry.config = kernel.best->config;
      entry.seconds = kernel.best->measurement.MedianSeconds();
    }
    if (kernel.compiler_default) {
      entry.default_config = kernel.compiler_default->config;
      if (kernel.compiler_default->measurement.ok()) {
        entry.default_seconds = kernel.compiler_default->measurement.MedianSeconds();
      }
    }
    best.kernels.push_back(std::move(entry));
  }
  return best;
}

json BestConfig::ToJson() const {
  json kernel_list = json::array();
  for (const KernelEntry& kernel : kernels) kernel_list.push_back(autotune::ToJson(kernel));
  return {{"schema", kSchema},
          {"program", program},
          {"program_name", program_name},
          {"run", run_id},
          {"device", device},
          {"backend", backend},
          {"versions", versions},
          {"time_source", std::string(TimeSourceName(time_source))},
          {"kernels", std::move(kernel_list)}};
}

absl::StatusOr<BestConfig> BestConfig::FromJson(const json& document) {
  if (!document.is_object()) return absl::InvalidArgumentError("expected an object");
  ObjectReader reader(document, "");
  BestConfig best;
  if (const std::string schema = reader.Text("schema"); schema != kSchema) {
    reader.Fail("schema", absl::StrCat("expected \"", kSchema, "\", got \"", schema, "\""));
  }
  best.program = reader.Text("program");
  best.program_name = reader.Text("program_name");
  best.run_id = reader.Text("run");
  best.device = reader.Text("device");
  best.backend = reader.Text("backend");
  best.versions = reader.Text("versions");
  const std::string source = reader.Text("time_source");
  if (source == std::string(TimeSourceName(TimeSource::kEstimate))) {
    best.time_source = TimeSource::kEstimate;
  } else if (source != std::string(TimeSourceName(TimeSource::kHardware))) {
    reader.Fail("time_source", "expected \"hardware\" or \"estimate\"");
  }
  const auto kernels = document.find("kernels");
  if (kernels == document.end() || !kernels->is_array()) reader.Fail("kernels", "expected a list");
  if (!reader.status().ok()) return reader.status();
  for (size_t i = 0; i < kernels->size(); ++i) {
    absl::StatusOr<KernelEntry> entry = EntryFromJson((*kernels)[i], i);
    if (!entry.ok()) return entry.status();
    best.kernels.push_back(*std::move(entry));
  }
  return best;
}

absl::StatusOr<BestConfig> BestConfig::Parse(const std::string& text, const std::string& name) {
  const json document = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": not valid JSON"));
  }
  absl::StatusOr<BestConfig> best = FromJson(document);
  if (best.ok()) return best;
  return absl::Status(best.status().code(),
                      absl::StrCat(name, ": ", std::string(best.status().message())));
}

}  // namespace autotune
