#include "hardware/record_importer.h"

#include <string>
#include <utility>

#include "absl/strings/str_cat.h"
#include "hardware/record_store_rows.h"

namespace autotune {
namespace {

constexpr size_t kBatchRecords = 1000;

// What verify would say of the record once it is stored.
absl::Status CheckRecord(const CandidateRecord& record) {
  const absl::Status status =
      CandidateFromRow(RowFromCandidate(record), CleanContext(record.context)).status();
  if (status.ok()) return status;
  return absl::InvalidArgumentError(absl::StrCat("candidate ", record.sequence, " of run ",
                                                 record.run_id, ": ",
                                                 std::string(status.message())));
}

}  // namespace

absl::StatusOr<int64_t> TimeOfImport(RecordStore& store, const std::string& run_id,
                                     int64_t unix_micros) {
  const absl::StatusOr<RunRecord> known = store.GetRun(run_id);
  if (known.ok()) return known->started_unix_micros;
  if (!absl::IsNotFound(known.status())) return known.status();
  return unix_micros;
}

absl::Status RecordImporter::AddRun(const RunRecord& run) {
  if (run.id.empty()) return absl::InvalidArgumentError("a run without a name");
  if (absl::Status status = Flush(); !status.ok()) return status;
  absl::Status status = store_.BeginRun(run);
  if (absl::IsAlreadyExists(status)) return FinishKnownRun(run);
  if (!status.ok()) return status;
  known_[run.id];
  ++counts_.runs;
  return absl::OkStatus();
}

absl::Status RecordImporter::FinishKnownRun(const RunRecord& run) {
  const absl::StatusOr<RunRecord> known = store_.GetRun(run.id);
  if (!known.ok()) return known.status();
  if (!(run.finished_unix_micros > known->finished_unix_micros)) return absl::OkStatus();
  return store_.FinishRun(run.id, *run.finished_unix_micros, run.outcome);
}

absl::Status RecordImporter::AddKernel(const Kernel& kernel) {
  const absl::Status known = store_.GetKernel(kernel.fingerprint).status();
  if (!absl::IsNotFound(known)) return known;
  ++counts_.kernels;
  return store_.PutKernels({kernel});
}

absl::StatusOr<const std::set<int64_t>*> RecordImporter::KnownOf(const std::string& run_id) {
  if (const auto found = known_.find(run_id); found != known_.end()) return &found->second;
  const absl::StatusOr<std::vector<CandidateRecord>> records = store_.RunCandidates(run_id);
  if (absl::IsNotFound(records.status())) {
    return absl::InvalidArgumentError(absl::StrCat("a candidate of run ", run_id,
                                                   ", which is neither in the store nor before it "
                                                   "in the file"));
  }
  if (!records.ok()) return records.status();
  std::set<int64_t>& known = known_[run_id];
  for (const CandidateRecord& record : *records) known.insert(record.sequence);
  return &known;
}

absl::Status RecordImporter::AddCandidate(CandidateRecord record) {
  if (absl::Status status = CheckRecord(record); !status.ok()) return status;
  const absl::StatusOr<const std::set<int64_t>*> known = KnownOf(record.run_id);
  if (!known.ok()) return known.status();
  if (!(*known)->contains(record.sequence)) ++counts_.candidates;
  waiting_.push_back(std::move(record));
  return waiting_.size() < kBatchRecords ? absl::OkStatus() : Flush();
}

absl::Status RecordImporter::Flush() {
  absl::Status status = store_.Append(waiting_);
  waiting_.clear();
  return status;
}

}  // namespace autotune
