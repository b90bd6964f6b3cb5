#include "tuner/report_reader.h"

#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hlo/fingerprint.h"
#include "nlohmann/json.hpp"
#include "tuner/best_config.h"

namespace autotune {
namespace {

using nlohmann::json;

constexpr char kSchema[] = "autotune.tune/1";

// Thrown and caught within this file, as the JSON library's errors are: a document has hundreds of
// places where it can be wrong, and one place where that matters.
struct BadMember : std::runtime_error {
  using std::runtime_error::runtime_error;
};

template <typename T>
T Get(const json& object, const char* member) {
  if (!object.is_object() || !object.contains(member)) {
    throw BadMember(absl::StrCat("\"", member, "\" is missing"));
  }
  try {
    return object[member].get<T>();
  } catch (const json::exception&) {
    throw BadMember(absl::StrCat("\"", member, "\" is of the wrong type"));
  }
}

template <typename T>
std::optional<T> GetIf(const json& object, const char* member) {
  if (!object.contains(member)) return std::nullopt;
  return Get<T>(object, member);
}

// JSON has no infinity: it is written as null.
double GetNumber(const json& object, const char* member) {
  const bool null = object.is_object() && object.contains(member) && object[member].is_null();
  return null ? std::numeric_limits<double>::infinity() : Get<double>(object, member);
}

const json& List(const json& object, const char* member) {
  if (!object.contains(member) || !object[member].is_array()) {
    throw BadMember(absl::StrCat("\"", member, "\" is no list"));
  }
  return object[member];
}

template <typename T>
T Named(const std::optional<T>& value, const std::string& name, const char* member) {
  if (!value) throw BadMember(absl::StrCat("\"", member, "\" cannot be \"", name, "\""));
  return *value;
}

Config ReadConfig(const json& object) {
  absl::StatusOr<Config> config = Config::FromJson(Get<json>(object, "config"));
  if (!config.ok()) throw BadMember(std::string(config.status().message()));
  return *std::move(config);
}

FailureKind ReadFailureKind(const json& object) {
  const std::string kind = Get<std::string>(object, "kind");
  return Named(FailureKindFromName(kind), kind, "kind");
}

Measurement ReadMeasurement(const json& object, TimeSource source) {
  if (object.contains("failure")) {
    const json& failure = object["failure"];
    return Measurement::FromFailure(ReadFailureKind(failure), Get<std::string>(failure, "message"));
  }
  std::vector<double> samples = Get<std::vector<double>>(object, "samples");
  if (samples.empty()) throw BadMember("\"samples\" is empty");
  for (double sample : samples) {
    if (!std::isfinite(sample) || !(sample > 0)) throw BadMember("\"samples\" must be positive");
  }
  Measurement measurement = Measurement::FromSamples(std::move(samples), source);
  measurement.compile_seconds = GetIf<double>(object, "compile_seconds");
  measurement.compiler_estimate_seconds = GetIf<double>(object, "compiler_estimate_seconds");
  measurement.method = GetIf<std::string>(object, "method").value_or("");
  return measurement;
}

std::optional<ConfigResult> ReadResult(const json& kernel, const char* member, TimeSource source) {
  if (!kernel.contains(member)) return std::nullopt;
  return ConfigResult{ReadConfig(kernel[member]), ReadMeasurement(kernel[member], source)};
}

std::optional<SpeedupInterval> ReadInterval(const json& object) {
  if (!object.contains("speedup_interval")) return std::nullopt;
  const json& interval = object["speedup_interval"];
  return SpeedupInterval{Get<double>(interval, "low"), Get<double>(interval, "high"),
                         Get<double>(interval, "confidence"), Get<int64_t>(interval, "kernels"),
                         Get<int64_t>(interval, "kernels_without_repeats")};
}

void ReadRun(const json& run, TuningReport& report) {
  report.run_id = Get<std::string>(run, "id");
  report.autotune_version = Get<std::string>(run, "autotune_version");
  report.program = Get<std::string>(run, "program");
  report.program_name = Get<std::string>(run, "program_name");
  report.backend = Get<std::string>(run, "backend");
  report.backend_reason = Get<std::string>(run, "backend_reason");
  report.device = Get<std::string>(run, "device");
  report.versions = Get<std::string>(run, "versions");
  const std::string source = Get<std::string>(run, "time_source");
  report.time_source = Named(TimeSourceFromName(source), source, "time_source");
  report.strategy = Get<std::string>(run, "strategy");
  report.model = Get<std::string>(run, "model");
  report.space = Get<std::string>(run, "space");
  report.seed = Get<uint64_t>(run, "seed");
  report.budget = GetIf<int64_t>(run, "budget");
  report.budget_seconds = GetIf<double>(run, "budget_seconds");
  report.started_unix_micros = Get<int64_t>(run, "started_unix_micros");
  report.wall_seconds = Get<double>(run, "wall_seconds");
  const std::string outcome = Get<std::string>(run, "outcome");
  report.outcome = Named(RunOutcomeFromName(outcome), outcome, "outcome");
  report.error = GetIf<std::string>(run, "error").value_or("");
  report.recordings = Get<std::vector<std::string>>(run, "recordings");
  report.output_directory = Get<std::string>(run, "output_directory");
  report.host = Get<std::string>(run, "host");
}

ModelChoice ReadChoice(const json& object) {
  return {.model = Get<std::string>(object, "model"),
          .config = ReadConfig(object),
          .score = GetNumber(object, "score"),
          .seconds = GetIf<double>(object, "seconds")};
}

KernelReport ReadKernel(const json& object, TimeSource source) {
  KernelReport kernel;
  kernel.name = Get<std::string>(object, "name");
  kernel.kind = Get<std::string>(object, "kind");
  kernel.count = Get<int64_t>(object, "count");
  const std::string fingerprint = Get<std::string>(object, "fingerprint");
  kernel.fingerprint = Named(FingerprintFromText(fingerprint), fingerprint, "fingerprint");
  kernel.opaque = Get<bool>(object, "opaque");
  kernel.space = Get<std::string>(object, "space");
  kernel.space_size = GetIf<int64_t>(object, "space_size");
  kernel.not_tuned = GetIf<std::string>(object, "not_tuned").value_or("");
  kernel.compiler_default = ReadResult(object, "default", source);
  kernel.best = ReadResult(object, "best", source);
  kernel.best_known = ReadResult(object, "best_known", source);
  for (const json& choice : List(object, "model_choices")) {
    kernel.model_choices.push_back(ReadChoice(choice));
  }
  if (object.contains("cost")) {
    const json& cost = object["cost"];
    kernel.cost = KernelCost{Get<double>(cost, "flops"), Get<double>(cost, "transcendentals"),
                             Get<double>(cost, "bytes"), Get<double>(cost, "roofline_seconds")};
  }
  kernel.compiler_estimate_seconds = GetIf<double>(object, "compiler_estimate_seconds");
  kernel.measurements = Get<int64_t>(object, "measurements");
  kernel.reused = Get<int64_t>(object, "reused");
  for (const json& failure : List(object, "failures")) {
    kernel.failures.push_back({ReadFailureKind(failure), Get<int64_t>(failure, "count"),
                               Get<std::string>(failure, "first_message")});
  }
  kernel.model_tau = GetIf<double>(object, "model_tau");
  kernel.speedup_interval = ReadInterval(object);
  return kernel;
}

CandidateOutcome ReadCandidate(const json& object, const TuningReport& report) {
  CandidateOutcome outcome;
  outcome.sequence = Get<int64_t>(object, "sequence");
  outcome.kernel = Get<size_t>(object, "kernel");
  if (outcome.kernel >= report.kernels.size()) throw BadMember("\"kernel\" names none");
  outcome.config = ReadConfig(object);
  const std::string role = Get<std::string>(object, "role");
  outcome.role = Named(CandidateRoleFromName(role), role, "role");
  const std::string fate = Get<std::string>(object, "fate");
  outcome.fate = Named(FateFromName(fate), fate, "fate");
  if (object.contains("predictions")) {
    for (const json& prediction : List(object, "predictions")) {
      outcome.predictions.push_back({Get<std::string>(prediction, "model"),
                                     GetNumber(prediction, "score"),
                                     Get<int64_t>(prediction, "rank")});
    }
  }
  if (object.contains("result")) {
    outcome.measurement = ReadMeasurement(object["result"], report.time_source);
  }
  outcome.wall_seconds = Get<double>(object, "wall_seconds");
  outcome.device_seconds = Get<double>(object, "device_seconds");
  outcome.measurements = Get<int64_t>(object, "measurements");
  return outcome;
}

ProgramReport ReadProgram(const json& object, const TuningReport& report) {
  ProgramReport program;
  program.path = Get<std::string>(object, "path");
  program.name = Get<std::string>(object, "name");
  for (const json& part : List(object, "kernels")) {
    program.kernels.push_back({Get<size_t>(part, "kernel"), Get<int64_t>(part, "count")});
    if (program.kernels.back().kernel >= report.kernels.size()) {
      throw BadMember("\"kernel\" names none");
    }
  }
  program.default_seconds = GetIf<double>(object, "default_seconds");
  program.best_seconds = GetIf<double>(object, "best_seconds");
  return program;
}

void ReadFindings(const json& document, TuningReport& report) {
  for (const json& total : List(document, "totals")) {
    report.totals.push_back({Get<std::string>(total, "name"), Get<double>(total, "seconds"),
                             Get<int64_t>(total, "kernels")});
  }
  // Documents of the first release do not have it.
  if (document.contains("models")) {
    for (const json& model : List(document, "models")) {
      report.models.push_back({Get<std::string>(model, "name"),
                               Get<std::string>(model, "prediction_unit") == "log-seconds"});
    }
  }
  for (const json& kernel : List(document, "kernels")) {
    report.kernels.push_back(ReadKernel(kernel, report.time_source));
  }
  if (document.contains("programs")) {
    for (const json& program : List(document, "programs")) {
      report.programs.push_back(ReadProgram(program, report));
    }
  }
  for (const json& point : List(document, "progress")) {
    report.progress.push_back(
        {Get<int64_t>(point, "measurements"), Get<double>(point, "wall_seconds"),
         Get<double>(point, "device_seconds"), GetNumber(point, "program_seconds")});
  }
  for (const json& candidate : List(document, "candidates")) {
    report.candidates.push_back(ReadCandidate(candidate, report));
  }
  report.measurements = Get<int64_t>(document, "measurements");
  report.speedup_interval = ReadInterval(document);
}

TuningReport ReadReport(const json& document) {
  TuningReport report;
  ReadRun(Get<json>(document, "run"), report);
  const json store = Get<json>(document, "store");
  report.store = Get<std::string>(store, "url");
  report.store_hits = Get<int64_t>(store, "hits");
  report.store_misses = Get<int64_t>(store, "misses");
  report.warnings = Get<std::vector<std::string>>(document, "warnings");
  const json commands = Get<json>(document, "commands");
  report.commands = {Get<std::string>(commands, "reproduce"), Get<std::string>(commands, "resume"),
                     Get<std::string>(commands, "apply")};
  ReadFindings(document, report);
  const json time = Get<json>(document, "time");
  report.time = {
      Get<double>(time, "load_seconds"),           Get<double>(time, "search_seconds"),
      Get<double>(time, "measure_seconds"),        Get<double>(time, "store_seconds"),
      Get<double>(time, "device_compile_seconds"), Get<double>(time, "device_run_seconds")};
  return report;
}

}  // namespace

absl::StatusOr<TuningReport> ParseReport(const std::string& text, const std::string& name) {
  const json document = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (document.is_discarded()) {
    return absl::InvalidArgumentError(absl::StrCat(name, " is not JSON, or cut off"));
  }
  if (document.is_object() && document.value("schema", json()) == "autotune.fusion/1") {
    return absl::InvalidArgumentError(
        absl::StrCat(name,
                     " is of a run of fusions, which has no page: best.json and tuned.hlo "
                     "beside it hold what was chosen (docs/fusion.md)"));
  }
  if (!document.is_object() || document.value("schema", json()) != kSchema) {
    return absl::InvalidArgumentError(absl::StrCat(name, " is not a file of schema ", kSchema));
  }
  try {
    return ReadReport(document);
  } catch (const std::exception& error) {
    return absl::InvalidArgumentError(absl::StrCat(name, ": ", error.what()));
  }
}

}  // namespace autotune
