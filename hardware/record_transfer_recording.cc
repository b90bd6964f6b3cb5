#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "hardware/record_importer.h"
#include "hardware/record_transfer.h"

namespace autotune {
namespace {

// One record for what was measured, and one for each failure beside it: a configuration that ran
// once and failed once keeps both.
void AddRecords(const RecordedConfig& config, const CandidateRecord& form,
                std::vector<CandidateRecord>* records) {
  const auto add = [&](Measurement measurement) {
    CandidateRecord& record = records->emplace_back(form);
    record.sequence = static_cast<int64_t>(records->size()) - 1;
    record.config = config.config;
    record.is_default = config.is_default;
    record.measurement = std::move(measurement);
    record.measurement->compile_seconds = config.compile_seconds;
    record.measurement->compiler_estimate_seconds = config.compiler_estimate_seconds;
  };
  if (!config.seconds.empty()) add(Measurement::FromSamples(config.seconds, form.context.source));
  for (const Failure& failure : config.failures) {
    add(Measurement::FromFailure(failure.kind, failure.message));
  }
}

// What a record says as an entry of a recording; false if it is no result on the device.
bool ToRecordedConfig(const CandidateRecord& record, const MeasurementContext& context,
                      RecordedConfig* recorded) {
  if (record.fate != Fate::kMeasured || !record.measurement.has_value()) return false;
  if (record.context.device != context.device || record.context.source != context.source) {
    return false;
  }
  const Measurement& measurement = *record.measurement;
  if (IsNotRecorded(measurement)) return false;
  if (measurement.ok()) {
    recorded->seconds.assign(measurement.samples().begin(), measurement.samples().end());
  } else {
    recorded->failures.push_back(measurement.failure());
  }
  recorded->is_default = record.is_default;
  recorded->compile_seconds = measurement.compile_seconds;
  recorded->compiler_estimate_seconds = measurement.compiler_estimate_seconds;
  return true;
}

}  // namespace

absl::StatusOr<ImportCounts> ImportRecording(RecordStore& store, const Recording& recording,
                                             const std::string& run_id, int64_t unix_micros) {
  const RecordingOrigin& origin = recording.origin();
  RecordImporter importer(store);
  const absl::StatusOr<int64_t> begun = TimeOfImport(store, run_id, unix_micros);
  if (!begun.ok()) return begun.status();
  absl::Status status = importer.AddRun({.id = run_id,
                                         .program = "recording",
                                         .options_json = "{}",
                                         .started_unix_micros = *begun,
                                         .finished_unix_micros = *begun,
                                         .outcome = "done"});
  std::vector<CandidateRecord> records;
  for (const RecordedKernel& kernel : recording.kernels()) {
    if (status.ok()) status = importer.AddKernel(kernel.kernel());
    CandidateRecord form;
    form.run_id = run_id;
    form.kernel_fingerprint = kernel.kernel().fingerprint;
    form.kernel_name = kernel.kernel().name;
    form.context = {origin.device, origin.backend, origin.versions, "", origin.source};
    form.fate = Fate::kMeasured;
    form.unix_micros = *begun;
    for (const RecordedConfig& config : kernel.configs()) AddRecords(config, form, &records);
  }
  for (CandidateRecord& record : records) {
    if (status.ok()) status = importer.AddCandidate(std::move(record));
  }
  if (status.ok()) status = importer.Flush();
  if (!status.ok()) return status;
  return importer.counts();
}

absl::StatusOr<Recording> ExportRecording(RecordStore& store, const MeasurementContext& context) {
  Recording recording({context.device, context.backend, context.versions, context.source});
  const absl::StatusOr<std::vector<RunRecord>> runs = store.ListRuns();
  if (!runs.ok()) return runs.status();
  // Kernels by fingerprint; absent for those whose module is not stored.
  absl::flat_hash_map<uint64_t, std::optional<Kernel>> kernels;
  for (const RunRecord& run : *runs) {
    const auto candidates = store.RunCandidates(run.id);
    if (!candidates.ok()) return candidates.status();
    for (const CandidateRecord& candidate : *candidates) {
      RecordedConfig recorded{candidate.config};
      if (!ToRecordedConfig(candidate, context, &recorded)) continue;
      const auto [known, is_new] = kernels.try_emplace(candidate.kernel_fingerprint);
      if (is_new) {
        absl::StatusOr<Kernel> kernel = store.GetKernel(candidate.kernel_fingerprint);
        if (!kernel.ok() && !absl::IsNotFound(kernel.status())) return kernel.status();
        if (kernel.ok()) known->second = *std::move(kernel);
      }
      if (known->second.has_value()) {
        recording.FindOrAdd(*known->second).Add(std::move(recorded));
      }
    }
  }
  return recording;
}

}  // namespace autotune
