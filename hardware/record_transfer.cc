#include "hardware/record_transfer.h"

#include <set>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/str_split.h"
#include "hardware/record_store_rows.h"
#include "hardware/record_transfer_json.h"
#include "nlohmann/json.hpp"

namespace autotune {
namespace {

using nlohmann::json;

constexpr int kFormVersion = 1;
constexpr size_t kBatchRecords = 1000;

void AppendLine(const json& object, std::string* lines) {
  absl::StrAppend(lines, object.dump(-1, ' ', false, json::error_handler_t::replace), "\n");
}

// Adds lines in batches, since a transaction for every record would be slow.
class Importer {
 public:
  explicit Importer(RecordStore& store) : store_(store) {}

  absl::Status Add(const json& object) {
    const auto kind = object.is_object() ? object.find("record") : object.end();
    if (kind == object.end() || !kind->is_string()) {
      return absl::InvalidArgumentError("no object with a member \"record\"");
    }
    if (*kind == "candidate") return AddCandidate(object);
    if (absl::Status status = Flush(); !status.ok()) return status;
    if (*kind == "run") return AddRun(object);
    if (*kind == "kernel") return AddKernel(object);
    if (*kind != "store") {
      return absl::InvalidArgumentError(absl::StrCat("unknown record ", kind->dump()));
    }
    const auto version = object.find("version");
    if (version != object.end() && *version == kFormVersion) return absl::OkStatus();
    return absl::InvalidArgumentError(
        absl::StrCat("this program reads version ", kFormVersion, " of this form"));
  }

  absl::Status Flush() {
    absl::Status status = store_.Append(candidates_);
    candidates_.clear();
    return status;
  }

  const ImportCounts& counts() const { return counts_; }

 private:
  absl::Status AddRun(const json& object) {
    const absl::StatusOr<RunRecord> run = RunFromJson(object);
    if (!run.ok()) return run.status();
    absl::Status status = store_.BeginRun(*run);
    if (absl::IsAlreadyExists(status)) return absl::OkStatus();
    if (status.ok()) ++counts_.runs;
    return status;
  }

  absl::Status AddKernel(const json& object) {
    const absl::StatusOr<Kernel> kernel = KernelFromJson(object);
    if (!kernel.ok()) return kernel.status();
    ++counts_.kernels;
    return store_.PutKernels({*kernel});
  }

  absl::Status AddCandidate(const json& object) {
    absl::StatusOr<CandidateRecord> record = CandidateFromJson(object);
    if (!record.ok()) return record.status();
    candidates_.push_back(*std::move(record));
    ++counts_.candidates;
    return candidates_.size() < kBatchRecords ? absl::OkStatus() : Flush();
  }

  RecordStore& store_;
  std::vector<CandidateRecord> candidates_;
  ImportCounts counts_;
};

std::string CsvField(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  return absl::StrCat("\"", absl::StrReplaceAll(text, {{"\"", "\"\""}}), "\"");
}

std::string CsvLine(const CandidateRecord& record) {
  const CandidateRow row = RowFromCandidate(record);
  const MeasurementContext& context = record.context;
  std::string median;
  if (record.measurement.has_value() && record.measurement->ok()) {
    median = DoubleToText(record.measurement->MedianSeconds());
  }
  std::vector<std::string> fields = {
      row.run,
      absl::StrCat(row.sequence),
      row.kernel_name,
      absl::StrCat(absl::Hex(record.kernel_fingerprint, absl::kZeroPad16)),
      context.device,
      context.backend,
      context.versions,
      context.flags,
      std::string(TimeSourceName(context.source)),
      row.config,
      row.fate,
      median,
      absl::StrReplaceAll(row.samples, {{",", " "}}),
      row.failure,
      row.message,
      row.compile_seconds,
      absl::StrCat(row.recorded)};
  for (std::string& field : fields) field = CsvField(field);
  return absl::StrCat(absl::StrJoin(fields, ","), "\n");
}

}  // namespace

absl::StatusOr<std::string> ExportJsonLines(RecordStore& store) {
  std::string lines;
  AppendLine({{"record", "store"}, {"version", kFormVersion}}, &lines);
  const absl::StatusOr<std::vector<RunRecord>> runs = store.ListRuns();
  if (!runs.ok()) return runs.status();
  std::set<uint64_t> kernels;
  for (const RunRecord& run : *runs) {
    AppendLine(RunToJson(run), &lines);
    const auto candidates = store.RunCandidates(run.id);
    if (!candidates.ok()) return candidates.status();
    for (const CandidateRecord& candidate : *candidates) {
      if (!kernels.insert(candidate.kernel_fingerprint).second) continue;
      const absl::StatusOr<Kernel> kernel = store.GetKernel(candidate.kernel_fingerprint);
      if (absl::IsNotFound(kernel.status())) continue;
      if (!kernel.ok()) return kernel.status();
      AppendLine(KernelToJson(*kernel), &lines);
    }
    for (const CandidateRecord& candidate : *candidates) {
      AppendLine(CandidateToJson(candidate), &lines);
    }
  }
  return lines;
}

absl::StatusOr<ImportCounts> ImportJsonLines(RecordStore& store, absl::string_view text,
                                             const std::string& name) {
  Importer importer(store);
  int64_t number = 0;
  for (absl::string_view line : absl::StrSplit(text, '\n')) {
    ++number;
    if (line.empty()) continue;
    const json object = json::parse(line.begin(), line.end(), nullptr, /*allow_exceptions=*/false);
    const absl::Status status =
        object.is_discarded() ? absl::InvalidArgumentError("no JSON") : importer.Add(object);
    if (!status.ok()) {
      return absl::Status(status.code(), absl::StrCat(name, ":", number, ": ", status.message()));
    }
  }
  if (absl::Status status = importer.Flush(); !status.ok()) return status;
  return importer.counts();
}

absl::StatusOr<std::string> ExportCsv(RecordStore& store) {
  std::string csv =
      "run,sequence,kernel,fingerprint,device,backend,versions,flags,source,config,fate,"
      "median_seconds,samples,failure,message,compile_seconds,unix_micros\n";
  const absl::StatusOr<std::vector<RunRecord>> runs = store.ListRuns();
  if (!runs.ok()) return runs.status();
  for (const RunRecord& run : *runs) {
    const auto candidates = store.RunCandidates(run.id);
    if (!candidates.ok()) return candidates.status();
    for (const CandidateRecord& candidate : *candidates) csv += CsvLine(candidate);
  }
  return csv;
}

absl::StatusOr<ImportCounts> ImportRecording(RecordStore& store, const Recording& recording,
                                             const std::string& run_id, int64_t unix_micros) {
  const RecordingOrigin& origin = recording.origin();
  absl::Status status = store.BeginRun({.id = run_id,
                                        .program = "recording",
                                        .options_json = "{}",
                                        .started_unix_micros = unix_micros,
                                        .finished_unix_micros = unix_micros,
                                        .outcome = "done"});
  if (!status.ok()) return status;
  std::vector<Kernel> kernels;
  std::vector<CandidateRecord> records;
  for (const RecordedKernel& kernel : recording.kernels()) {
    kernels.push_back(kernel.kernel());
    for (const RecordedConfig& config : kernel.configs()) {
      CandidateRecord& record = records.emplace_back();
      record.run_id = run_id;
      record.sequence = static_cast<int64_t>(records.size()) - 1;
      record.kernel_fingerprint = kernel.kernel().fingerprint;
      record.kernel_name = kernel.kernel().name;
      record.context = {origin.device, origin.backend, origin.versions, "", origin.source};
      record.config = config.config;
      record.fate = Fate::kMeasured;
      record.measurement = config.ToMeasurement(origin.source);
      record.unix_micros = unix_micros;
    }
  }
  status = store.PutKernels(kernels);
  if (status.ok()) status = store.Append(records);
  if (!status.ok()) return status;
  return ImportCounts{1, static_cast<int64_t>(kernels.size()),
                      static_cast<int64_t>(records.size())};
}

absl::StatusOr<Recording> ExportRecording(RecordStore& store, const MeasurementContext& context) {
  Recording recording({context.device, context.backend, context.versions, context.source});
  const absl::StatusOr<std::vector<RunRecord>> runs = store.ListRuns();
  if (!runs.ok()) return runs.status();
  std::set<uint64_t> seen;
  for (const RunRecord& run : *runs) {
    const auto candidates = store.RunCandidates(run.id);
    if (!candidates.ok()) return candidates.status();
    for (const CandidateRecord& candidate : *candidates) {
      const uint64_t fingerprint = candidate.kernel_fingerprint;
      if (!seen.insert(fingerprint).second) continue;
      const absl::StatusOr<Kernel> kernel = store.GetKernel(fingerprint);
      if (absl::IsNotFound(kernel.status())) continue;
      if (!kernel.ok()) return kernel.status();
      auto results = store.Lookup(fingerprint, context, VersionMatch::kLoose);
      if (!results.ok()) return results.status();
      for (StoredResult& result : *results) {
        RecordedConfig recorded{std::move(result.config)};
        if (result.measurement.ok()) {
          const auto samples = result.measurement.samples();
          recorded.seconds.assign(samples.begin(), samples.end());
        } else {
          recorded.failures.push_back(result.measurement.failure());
        }
        recording.FindOrAdd(*kernel).Add(std::move(recorded));
      }
    }
  }
  return recording;
}

}  // namespace autotune
