#include "hardware/record_store_rows.h"

#include <charconv>
#include <cmath>
#include <cstring>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_split.h"
#include "hardware/possible_time.h"
#include "hlo/fingerprint.h"
#include "nlohmann/json.hpp"

namespace autotune {
namespace {

absl::Status Damaged(absl::string_view column, absl::string_view value) {
  return absl::DataLossError(
      absl::StrCat("column ", column, " holds \"", value.substr(0, 60), "\""));
}

bool ParseDouble(absl::string_view text, double* value) {
  const char* end = text.data() + text.size();
  const auto [stop, error] = std::from_chars(text.data(), end, *value);
  return error == std::errc() && stop == end;
}

std::string JoinDoubles(absl::Span<const double> values) {
  std::string text;
  for (const double value : values) {
    if (!text.empty()) text += ',';
    text += DoubleToText(value);
  }
  return text;
}

std::string OptionalToText(const std::optional<double>& value) {
  return value.has_value() ? DoubleToText(*value) : "";
}

// Seconds that are known or not.
absl::StatusOr<std::optional<double>> OptionalFromText(absl::string_view column,
                                                       absl::string_view text) {
  double value = 0;
  if (text.empty()) return std::optional<double>();
  if (!ParseDouble(text, &value) || !IsPossibleCost(value)) {
    return Damaged(column, text);
  }
  return std::optional<double>(value);
}

// "i=1,2;n=3": what a tile has beyond its key.
std::string DerivedBounds(const Config& config) {
  const TileBounds* tile = config.tile();
  if (tile == nullptr || (tile->input.empty() && tile->iteration.empty())) return "";
  return absl::StrCat("i=", absl::StrJoin(tile->input, ","),
                      ";n=", absl::StrJoin(tile->iteration, ","));
}

bool ReadBounds(absl::string_view text, absl::string_view prefix, WindowBounds* bounds) {
  if (!absl::StartsWith(text, prefix)) return false;
  text.remove_prefix(prefix.size());
  if (text.empty()) return true;
  for (absl::string_view part : absl::StrSplit(text, ',')) {
    int64_t value = 0;
    if (!absl::SimpleAtoi(part, &value)) return false;
    bounds->push_back(value);
  }
  return true;
}

absl::StatusOr<Config> ConfigFromColumns(const std::string& key, const std::string& derived) {
  absl::StatusOr<Config> config = Config::FromKey(key);
  if (!config.ok()) return Damaged("config", key);
  if (derived.empty()) return config;
  const std::vector<std::string> parts = absl::StrSplit(derived, ';');
  if (config->tile() == nullptr || parts.size() != 2) return Damaged("derived", derived);
  TileBounds bounds = *config->tile();
  if (!ReadBounds(parts[0], "i=", &bounds.input) ||
      !ReadBounds(parts[1], "n=", &bounds.iteration)) {
    return Damaged("derived", derived);
  }
  return Config(std::move(bounds));
}

std::string PredictionsToText(const std::vector<Prediction>& predictions) {
  if (predictions.empty()) return "[]";
  nlohmann::json list = nlohmann::json::array();
  for (const Prediction& prediction : predictions) {
    // JSON has no infinity, which is what a model says of an impossible configuration.
    list.push_back({CleanText(prediction.model), DoubleToText(prediction.score), prediction.rank});
  }
  return list.dump();
}

absl::StatusOr<std::vector<Prediction>> PredictionsFromText(const std::string& text) {
  std::vector<Prediction> predictions;
  if (text == "[]") return predictions;
  const nlohmann::json list = nlohmann::json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!list.is_array()) return Damaged("predictions", text);
  for (const nlohmann::json& entry : list) {
    double score = 0;
    if (!entry.is_array() || entry.size() != 3 || !entry[0].is_string() || !entry[1].is_string() ||
        !entry[2].is_number_integer() || entry[2].get<int64_t>() < 0 ||
        !ParseDouble(entry[1].get_ref<const std::string&>(), &score) || std::isnan(score)) {
      return Damaged("predictions", text);
    }
    predictions.push_back({entry[0].get<std::string>(), score, entry[2].get<int64_t>()});
  }
  return predictions;
}

void FillMeasurement(const Measurement& measurement, CandidateRow* row) {
  if (measurement.ok()) {
    row->samples = JoinDoubles(measurement.samples());
  } else {
    row->failure = std::string(FailureKindName(measurement.failure().kind));
    row->message = CleanText(measurement.failure().message);
  }
  row->compile_seconds = OptionalToText(measurement.compile_seconds);
  row->compiler_estimate = OptionalToText(measurement.compiler_estimate_seconds);
  row->method = CleanText(measurement.method);
}

// Bytes of the UTF-8 sequence at the start of `text`, or 0 if there is no valid one (RFC 3629).
size_t Utf8Length(absl::string_view text) {
  const auto byte = [&](size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return first == 0 ? 0 : 1;
  const size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || text.size() < length) return 0;
  for (size_t i = 1; i < length; ++i) {
    if ((byte(i) & 0xc0) != 0x80) return 0;
  }
  const unsigned second = byte(1);
  const bool overlong = (first == 0xe0 && second < 0xa0) || (first == 0xf0 && second < 0x90);
  const bool beyond = (first == 0xed && second > 0x9f) || (first == 0xf4 && second > 0x8f);
  return overlong || beyond ? 0 : length;
}

}  // namespace

int64_t RunChecksum(const RunRecord& run) {
  const std::string finished =
      run.finished_unix_micros.has_value() ? absl::StrCat(*run.finished_unix_micros) : "";
  return TextChecksum({CleanText(run.id), CleanText(run.program), CleanText(run.options_json),
                       absl::StrCat(run.seed), absl::StrCat(run.started_unix_micros), finished,
                       CleanText(run.outcome)});
}

std::string DoubleToText(double value) {
  char buffer[32];
  const auto result = std::to_chars(buffer, buffer + sizeof(buffer), value);
  return std::string(buffer, result.ptr);
}

std::string CleanText(absl::string_view text) {
  std::string clean;
  clean.reserve(text.size());
  while (!text.empty()) {
    const size_t length = Utf8Length(text);
    if (length == 0) {
      clean += '?';
      text.remove_prefix(1);
    } else {
      clean.append(text.data(), length);
      text.remove_prefix(length);
    }
  }
  return clean;
}

int64_t TextChecksum(std::initializer_list<absl::string_view> texts) {
  Fingerprinter fingerprint;
  for (absl::string_view text : texts) fingerprint.AddText(text);
  return static_cast<int64_t>(fingerprint.Get());
}

MeasurementContext CleanContext(const MeasurementContext& context) {
  return {CleanText(context.device), CleanText(context.backend), CleanText(context.versions),
          CleanText(context.flags), context.source};
}

int64_t ContextId(const MeasurementContext& context) {
  return TextChecksum({context.device, context.backend, context.versions, context.flags,
                       TimeSourceName(context.source)});
}

int64_t CandidateRow::Checksum() const {
  Fingerprinter fingerprint;
  for (const std::string* text : {&run, &kernel_name, &config, &derived, &fate, &samples, &failure,
                                  &message, &compile_seconds, &compiler_estimate, &predictions}) {
    fingerprint.AddText(*text);
  }
  for (const int64_t number : {sequence, kernel, context, recorded}) {
    fingerprint.AddInt(static_cast<uint64_t>(number));
  }
  if (!method.empty()) fingerprint.AddText("method").AddText(method);
  if (is_default) fingerprint.AddText("default");
  return static_cast<int64_t>(fingerprint.Get());
}

CandidateRow RowFromCandidate(const CandidateRecord& record) {
  CandidateRow row;
  row.run = CleanText(record.run_id);
  row.sequence = record.sequence;
  row.kernel = static_cast<int64_t>(record.kernel_fingerprint);
  row.kernel_name = CleanText(record.kernel_name);
  row.context = ContextId(record.context);
  row.config = record.config.Key();
  row.derived = DerivedBounds(record.config);
  row.fate = std::string(FateName(record.fate));
  if (record.measurement.has_value()) FillMeasurement(*record.measurement, &row);
  row.predictions = PredictionsToText(record.predictions);
  row.recorded = record.unix_micros;
  row.is_default = record.is_default;
  return row;
}

absl::StatusOr<Measurement> MeasurementFromColumns(absl::string_view samples,
                                                   absl::string_view failure,
                                                   absl::string_view message, TimeSource source) {
  if (!failure.empty()) {
    const std::optional<FailureKind> kind = FailureKindFromName(failure);
    if (!kind.has_value() || !samples.empty()) return Damaged("failure", failure);
    return Measurement::FromFailure(*kind, std::string(message));
  }
  std::vector<double> seconds;
  for (absl::string_view text : absl::StrSplit(samples, ',')) {
    double value = 0;
    if (!ParseDouble(text, &value) || !IsPossibleTime(value)) {
      return Damaged("samples", samples);
    }
    seconds.push_back(value);
  }
  return Measurement::FromSamples(std::move(seconds), source);
}

absl::StatusOr<CandidateRecord> CandidateFromRow(const CandidateRow& row,
                                                 const MeasurementContext& context) {
  CandidateRecord record;
  record.run_id = row.run;
  record.sequence = row.sequence;
  record.kernel_fingerprint = static_cast<uint64_t>(row.kernel);
  record.kernel_name = row.kernel_name;
  record.context = context;
  record.unix_micros = row.recorded;
  record.is_default = row.is_default;
  if (row.sequence < 0) return Damaged("sequence", absl::StrCat(row.sequence));
  absl::StatusOr<Config> config = ConfigFromColumns(row.config, row.derived);
  if (!config.ok()) return config.status();
  record.config = *std::move(config);
  const std::optional<Fate> fate = FateFromName(row.fate);
  if (!fate.has_value()) return Damaged("fate", row.fate);
  record.fate = *fate;
  auto predictions = PredictionsFromText(row.predictions);
  if (!predictions.ok()) return predictions.status();
  record.predictions = *std::move(predictions);
  if (row.samples.empty() && row.failure.empty()) {
    if (*fate == Fate::kProposed) return record;
    return absl::DataLossError(absl::StrCat("it is ", row.fate, " and holds no result"));
  }
  if (*fate == Fate::kProposed) {
    return absl::DataLossError("it is proposed, which is before a result, and holds one");
  }

  absl::StatusOr<Measurement> measurement =
      MeasurementFromColumns(row.samples, row.failure, row.message, context.source);
  if (!measurement.ok()) return measurement.status();
  auto compile = OptionalFromText("compile_seconds", row.compile_seconds);
  if (!compile.ok()) return compile.status();
  auto estimate = OptionalFromText("compiler_estimate", row.compiler_estimate);
  if (!estimate.ok()) return estimate.status();
  measurement->compile_seconds = *compile;
  measurement->compiler_estimate_seconds = *estimate;
  measurement->method = row.method;
  record.measurement = *std::move(measurement);
  return record;
}

}  // namespace autotune
