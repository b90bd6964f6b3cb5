// Records as comma-separated values (RFC 4180), and back.

#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "hardware/record_importer.h"
#include "hardware/record_store_rows.h"
#include "hardware/record_transfer.h"
#include "hlo/fingerprint.h"

namespace autotune {
namespace {

// The columns, in order. Those from "program" on are of the run, and filled in its first row only.
constexpr const char* kColumns[] = {"run",
                                    "sequence",
                                    "kernel",
                                    "fingerprint",
                                    "device",
                                    "backend",
                                    "versions",
                                    "flags",
                                    "source",
                                    "config",
                                    "fate",
                                    "median_seconds",
                                    "samples",
                                    "failure",
                                    "message",
                                    "compile_seconds",
                                    "unix_micros",
                                    "derived",
                                    "compiler_estimate_seconds",
                                    "method",
                                    "is_default",
                                    "predictions",
                                    "program",
                                    "options",
                                    "seed",
                                    "started_unix_micros",
                                    "finished_unix_micros",
                                    "outcome"};
constexpr size_t kRunColumns = 6;

// Spreadsheets put it before UTF-8.
constexpr absl::string_view kByteOrderMark = "\xEF\xBB\xBF";

std::string Header() { return absl::StrCat(absl::StrJoin(kColumns, ","), "\n"); }

std::string Field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

// A spreadsheet takes a text that begins so for a formula and runs it; names and messages come from
// programs. An apostrophe makes a text of it, also of one that begins with an apostrophe itself.
std::string Guarded(const std::string& text) {
  const bool risky = !text.empty() && absl::StrContains("=+-@\t\r'", text.substr(0, 1));
  return risky ? absl::StrCat("'", text) : text;
}

// The inverse of Guarded.
std::string Unguarded(const std::string& text) {
  return absl::StartsWith(text, "'") ? text.substr(1) : text;
}

std::vector<std::string> CandidateFields(const CandidateRecord& record) {
  const CandidateRow row = RowFromCandidate(record);
  const MeasurementContext context = CleanContext(record.context);
  std::string median;
  if (record.measurement.has_value() && record.measurement->ok()) {
    median = DoubleToText(record.measurement->MedianSeconds());
  }
  return {Guarded(row.run),
          absl::StrCat(row.sequence),
          Guarded(row.kernel_name),
          FingerprintText(record.kernel_fingerprint),
          Guarded(context.device),
          Guarded(context.backend),
          Guarded(context.versions),
          Guarded(context.flags),
          std::string(TimeSourceName(context.source)),
          row.config,
          row.fate,
          median,
          absl::StrReplaceAll(row.samples, {{",", " "}}),
          row.failure,
          Guarded(row.message),
          row.compile_seconds,
          absl::StrCat(row.recorded),
          row.derived,
          row.compiler_estimate,
          Guarded(row.method),
          row.is_default ? "1" : "0",
          row.predictions};
}

std::vector<std::string> RunFields(const RunRecord& run) {
  return {Guarded(run.program),
          Guarded(run.options_json),
          absl::StrCat(run.seed),
          absl::StrCat(run.started_unix_micros),
          run.finished_unix_micros.has_value() ? absl::StrCat(*run.finished_unix_micros) : "",
          Guarded(run.outcome)};
}

void AppendLine(std::vector<std::string> fields, std::string* csv) {
  for (std::string& field : fields) field = Field(field);
  absl::StrAppend(csv, absl::StrJoin(fields, ","), "\n");
}

// Takes the fields of the next record off `text`; false if a quote does not end.
bool TakeRecord(absl::string_view& text, std::vector<std::string>* fields) {
  fields->assign(1, "");
  bool quoted = false;
  size_t i = 0;
  for (; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
      if (c != '"') {
        fields->back() += c;
      } else if (i + 1 < text.size() && text[i + 1] == '"') {
        fields->back() += text[++i];
      } else {
        quoted = false;
      }
    } else if (c == '"' && fields->back().empty()) {
      quoted = true;
    } else if (c == ',') {
      fields->emplace_back();
    } else if (c == '\n') {
      break;
    } else if (c != '\r') {
      fields->back() += c;
    }
  }
  text.remove_prefix(std::min(i + 1, text.size()));
  return !quoted;
}

// The fields of a record by column.
class Fields {
 public:
  explicit Fields(const std::vector<std::string>& values) {
    for (size_t i = 0; i < std::size(kColumns); ++i) values_.emplace(kColumns[i], values[i]);
  }

  const std::string& Text(const char* column) const { return values_.at(column); }
  // A text that may be anything.
  std::string FreeText(const char* column) const { return Unguarded(Text(column)); }

  int64_t Number(const char* column) {
    int64_t value = 0;
    if (!absl::SimpleAtoi(Text(column), &value)) Fail(column);
    return value;
  }
  uint64_t Unsigned(const char* column) {
    uint64_t value = 0;
    if (!absl::SimpleAtoi(Text(column), &value)) Fail(column);
    return value;
  }
  uint64_t Hexadecimal(const char* column) {
    uint64_t value = 0;
    if (!absl::SimpleHexAtoi(Text(column), &value)) Fail(column);
    return value;
  }
  TimeSource Source(const char* column) {
    const std::optional<TimeSource> source = TimeSourceFromName(Text(column));
    if (!source.has_value()) Fail(column);
    return source.value_or(TimeSource::kHardware);
  }

  const absl::Status& status() const { return status_; }

 private:
  void Fail(const char* column) {
    status_.Update(absl::InvalidArgumentError(
        absl::StrCat("column ", column, " holds \"", Text(column).substr(0, 60), "\"")));
  }

  std::map<absl::string_view, std::string> values_;
  absl::Status status_;
};

absl::StatusOr<CandidateRecord> CandidateOf(Fields& fields) {
  CandidateRow row;
  row.run = fields.FreeText("run");
  row.sequence = fields.Number("sequence");
  row.kernel = static_cast<int64_t>(fields.Hexadecimal("fingerprint"));
  row.kernel_name = fields.FreeText("kernel");
  row.config = fields.Text("config");
  row.derived = fields.Text("derived");
  row.fate = fields.Text("fate");
  row.samples = absl::StrReplaceAll(fields.Text("samples"), {{" ", ","}});
  row.failure = fields.Text("failure");
  row.message = fields.FreeText("message");
  row.compile_seconds = fields.Text("compile_seconds");
  row.compiler_estimate = fields.Text("compiler_estimate_seconds");
  row.predictions = fields.Text("predictions");
  row.recorded = fields.Number("unix_micros");
  row.method = fields.FreeText("method");
  row.is_default = fields.Number("is_default") != 0;
  const MeasurementContext context = {fields.FreeText("device"), fields.FreeText("backend"),
                                      fields.FreeText("versions"), fields.FreeText("flags"),
                                      fields.Source("source")};
  if (!fields.status().ok()) return fields.status();
  return CandidateFromRow(row, context);
}

absl::StatusOr<RunRecord> RunOf(Fields& fields) {
  RunRecord run;
  run.id = fields.FreeText("run");
  run.program = fields.FreeText("program");
  run.options_json = fields.FreeText("options");
  run.seed = fields.Unsigned("seed");
  run.started_unix_micros = fields.Number("started_unix_micros");
  if (!fields.Text("finished_unix_micros").empty()) {
    run.finished_unix_micros = fields.Number("finished_unix_micros");
  }
  run.outcome = fields.FreeText("outcome");
  if (!fields.status().ok()) return fields.status();
  return run;
}

absl::Status AddRow(const std::vector<std::string>& values, std::set<std::string>& runs,
                    RecordImporter& importer) {
  if (values.size() != std::size(kColumns)) {
    return absl::InvalidArgumentError(
        absl::StrCat("it has ", values.size(), " fields, not ", std::size(kColumns)));
  }
  Fields fields(values);
  if (runs.insert(fields.Text("run")).second) {
    const absl::StatusOr<RunRecord> run = RunOf(fields);
    if (!run.ok()) return run.status();
    if (absl::Status status = importer.AddRun(*run); !status.ok()) return status;
  }
  absl::StatusOr<CandidateRecord> record = CandidateOf(fields);
  if (!record.ok()) return absl::InvalidArgumentError(record.status().message());
  return importer.AddCandidate(*std::move(record));
}

}  // namespace

absl::StatusOr<std::string> ExportCsv(RecordStore& store) {
  std::string csv = Header();
  const absl::StatusOr<std::vector<RunRecord>> runs = store.ListRuns();
  if (!runs.ok()) return runs.status();
  for (const RunRecord& run : *runs) {
    const auto candidates = store.RunCandidates(run.id);
    if (!candidates.ok()) return candidates.status();
    for (size_t i = 0; i < candidates->size(); ++i) {
      std::vector<std::string> fields = CandidateFields((*candidates)[i]);
      const std::vector<std::string> of_run =
          i == 0 ? RunFields(run) : std::vector<std::string>(kRunColumns);
      fields.insert(fields.end(), of_run.begin(), of_run.end());
      AppendLine(std::move(fields), &csv);
    }
  }
  return csv;
}

bool LooksLikeRecordCsv(absl::string_view text) {
  absl::ConsumePrefix(&text, kByteOrderMark);
  return absl::StartsWith(text, "run,sequence,kernel,fingerprint,");
}

absl::StatusOr<ImportCounts> ImportCsv(RecordStore& store, absl::string_view text,
                                       const std::string& name) {
  std::vector<std::string> fields;
  absl::ConsumePrefix(&text, kByteOrderMark);
  TakeRecord(text, &fields);
  if (absl::StrCat(absl::StrJoin(fields, ","), "\n") != Header()) {
    return absl::InvalidArgumentError(
        absl::StrCat(name, ":1: not the columns that `records export --to csv` writes"));
  }
  RecordImporter importer(store);
  std::set<std::string> runs;
  for (int64_t number = 2; !text.empty(); ++number) {
    absl::Status status = TakeRecord(text, &fields)
                              ? AddRow(fields, runs, importer)
                              : absl::InvalidArgumentError("a quoted field has no end");
    if (!status.ok()) {
      return absl::Status(status.code(), absl::StrCat(name, ": record ", number, ": ",
                                                      std::string(status.message())));
    }
  }
  if (absl::Status status = importer.Flush(); !status.ok()) return status;
  return importer.counts();
}

}  // namespace autotune
