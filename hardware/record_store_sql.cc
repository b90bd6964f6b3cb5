#include "hardware/record_store_sql.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "hardware/record_store_rows.h"
#include "hardware/record_store_tables.h"
#include "hlo/fingerprint.h"
#include "soci/soci.h"

namespace autotune {
namespace {

absl::Status NoRun(const std::string& url, const std::string& run_id) {
  return absl::NotFoundError(absl::StrCat("record store ", url, " has no run ", run_id));
}

bool RunExists(soci::session& sql, const std::string& run_id) {
  int count = 0;
  sql << "SELECT COUNT(*) FROM runs WHERE id = :id", soci::use(run_id), soci::into(count);
  return count > 0;
}

// The runs that `where` (SQL after FROM runs) selects; DataLoss if one is damaged.
absl::StatusOr<std::vector<RunRecord>> CheckedRuns(soci::session& sql, const std::string& url,
                                                   const std::string& where) {
  std::vector<RunRecord> runs;
  for (StoredRun& stored : ReadRuns(sql, where)) {
    if (stored.IsDamaged()) {
      return absl::DataLossError(absl::StrCat("record store ", url, ": run ", stored.run.id,
                                              " is damaged: its checksum is wrong", kDamageAdvice));
    }
    runs.push_back(std::move(stored.run));
  }
  return runs;
}

// The record of a row, if it is what was stored.
absl::StatusOr<CandidateRecord> CheckedCandidate(const StoredCandidateRow& stored,
                                                 const ContextMap& contexts) {
  const auto context = contexts.find(stored.row.context);
  if (context == contexts.end()) return absl::DataLossError("its context is lost or damaged");
  absl::StatusOr<CandidateRecord> record = CandidateFromRow(stored.row, context->second);
  if (record.ok() && stored.row.Checksum() != stored.checksum) {
    return absl::DataLossError("its checksum is wrong");
  }
  return record;
}

void SaveCheckpoint(soci::session& sql, const std::string& run_id, const std::string& checkpoint) {
  const std::string state = absl::Base64Escape(checkpoint);
  const long long checksum = TextChecksum({run_id, state});
  sql << "INSERT INTO checkpoints (run, state, checksum) VALUES (:run, :state, :checksum)"
         " ON CONFLICT (run) DO UPDATE SET state = excluded.state, checksum = excluded.checksum",
      soci::use(run_id), soci::use(state), soci::use(checksum);
}

}  // namespace

absl::Status SqlRecordStore::BeginRun(const RunRecord& run) {
  return session_->Write([&](soci::session& sql) -> absl::Status {
    if (RunExists(sql, run.id)) {
      return absl::AlreadyExistsError(
          absl::StrCat("record store ", url(), " already has a run ", run.id));
    }
    InsertRun(sql, run);
    return absl::OkStatus();
  });
}

absl::Status SqlRecordStore::FinishRun(const std::string& run_id, int64_t finished_unix_micros,
                                       const std::string& outcome) {
  return session_->Write([&](soci::session& sql) -> absl::Status {
    if (!RunExists(sql, run_id)) return NoRun(url(), run_id);
    const long long finished = finished_unix_micros;
    const std::string clean = CleanText(outcome);
    sql << "UPDATE runs SET finished = :finished, outcome = :outcome WHERE id = :id",
        soci::use(finished), soci::use(clean), soci::use(run_id);
    StoreRunChecksum(sql, run_id);
    return absl::OkStatus();
  });
}

absl::StatusOr<RunRecord> SqlRecordStore::GetRun(const std::string& run_id) {
  absl::StatusOr<std::vector<RunRecord>> runs = absl::UnknownError("not read");
  absl::Status status = session_->Read([&](soci::session& sql) {
    runs = CheckedRuns(sql, url(), absl::StrCat("WHERE id = ", Quoted(CleanText(run_id))));
    return runs.status();
  });
  if (!status.ok()) return status;
  if (runs->empty()) return NoRun(url(), run_id);
  return runs->front();
}

absl::StatusOr<std::vector<RunRecord>> SqlRecordStore::ListRuns() {
  absl::StatusOr<std::vector<RunRecord>> runs = absl::UnknownError("not read");
  absl::Status status = session_->Read([&](soci::session& sql) {
    runs = CheckedRuns(sql, url(), "ORDER BY started, id");
    return runs.status();
  });
  if (!status.ok()) return status;
  return runs;
}

absl::Status SqlRecordStore::PutKernels(absl::Span<const Kernel> kernels) {
  return session_->Write([&](soci::session& sql) {
    for (const Kernel& kernel : kernels) {
      const KernelRow row = RowFromKernel(kernel);
      const long long fingerprint = row.fingerprint, checksum = row.checksum;
      sql << "INSERT INTO kernels (fingerprint, name, kernel, checksum)"
             " VALUES (:fingerprint, :name, :kernel, :checksum)"
             " ON CONFLICT (fingerprint) DO NOTHING",
          soci::use(fingerprint), soci::use(row.name), soci::use(row.kernel), soci::use(checksum);
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<Kernel> SqlRecordStore::GetKernel(uint64_t fingerprint) {
  std::optional<KernelRow> row;
  absl::Status status = session_->Read([&](soci::session& sql) {
    ForEachKernel(sql, absl::StrCat("WHERE fingerprint = ", static_cast<int64_t>(fingerprint)),
                  [&](const KernelRow& found) { row = found; });
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  if (!row.has_value()) {
    return absl::NotFoundError(
        absl::StrCat("record store ", url(), " has no kernel ", FingerprintText(fingerprint)));
  }
  absl::StatusOr<Kernel> kernel = KernelFromRow(*row);
  if (kernel.ok()) return kernel;
  return absl::DataLossError(absl::StrCat("record store ", url(), ": kernel ", row->name,
                                          " is damaged: ", std::string(kernel.status().message()),
                                          kDamageAdvice));
}

absl::Status SqlRecordStore::Append(absl::Span<const CandidateRecord> records,
                                    std::optional<std::string> checkpoint) {
  if (records.empty() && !checkpoint.has_value()) return absl::OkStatus();
  if (records.empty()) {
    return absl::InvalidArgumentError("record store: a checkpoint needs a record to name its run");
  }
  std::vector<CandidateRow> rows;
  rows.reserve(records.size());
  std::vector<std::string> runs;
  std::vector<MeasurementContext> contexts;
  for (const CandidateRecord& record : records) {
    CandidateRow& row = rows.emplace_back(RowFromCandidate(record));
    const MeasurementContext context = CleanContext(record.context);
    row.context = ContextId(context);
    if (runs.empty() || runs.back() != row.run) runs.push_back(row.run);
    if (contexts.empty() || !(contexts.back() == context)) contexts.push_back(context);
  }
  if (checkpoint.has_value() && runs.size() > 1) {
    return absl::InvalidArgumentError("record store: a checkpoint beside records of several runs");
  }
  return session_->Write([&](soci::session& sql) -> absl::Status {
    for (const std::string& run : runs) {
      if (!RunExists(sql, run)) return NoRun(url(), run);
    }
    if (const CandidateRow* differs = FindDiffering(sql, rows)) {
      return absl::AlreadyExistsError(absl::StrCat("record store ", url(), ": candidate ",
                                                   differs->sequence, " of run ", differs->run,
                                                   " is stored with another content"));
    }
    InsertContexts(sql, contexts);
    InsertCandidates(sql, rows);
    if (checkpoint.has_value()) SaveCheckpoint(sql, runs[0], *checkpoint);
    return absl::OkStatus();
  });
}

absl::StatusOr<std::string> SqlRecordStore::LoadCheckpoint(const std::string& run_id) {
  std::string state, checkpoint;
  long long checksum = 0;
  bool found = false;
  absl::Status status = session_->Read([&](soci::session& sql) {
    sql << "SELECT state, checksum FROM checkpoints WHERE run = :run", soci::use(run_id),
        soci::into(state), soci::into(checksum);
    found = sql.got_data();
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  if (!found) {
    return absl::NotFoundError(
        absl::StrCat("record store ", url(), " has no checkpoint of run ", run_id));
  }
  if (checksum != TextChecksum({run_id, state}) || !absl::Base64Unescape(state, &checkpoint)) {
    return absl::DataLossError(
        absl::StrCat("record store ", url(), ": the checkpoint of run ", run_id, " is damaged"));
  }
  return checkpoint;
}

absl::StatusOr<std::vector<CandidateRecord>> SqlRecordStore::RunCandidates(
    const std::string& run_id) {
  std::vector<CandidateRecord> records;
  absl::Status status = session_->Read([&](soci::session& sql) -> absl::Status {
    if (!RunExists(sql, run_id)) return NoRun(url(), run_id);
    const ContextMap contexts = ReadContexts(sql);
    absl::Status first_error;
    ForEachCandidate(sql, absl::StrCat("run = ", Quoted(CleanText(run_id))), "sequence",
                     [&](const StoredCandidateRow& stored) {
                       absl::StatusOr<CandidateRecord> record = CheckedCandidate(stored, contexts);
                       if (record.ok()) {
                         records.push_back(*std::move(record));
                       } else if (first_error.ok()) {
                         first_error = absl::DataLossError(absl::StrCat(
                             "record store ", url(), ": candidate ", stored.row.sequence,
                             " of run ", run_id, ": ", record.status().message(), kDamageAdvice));
                       }
                     });
    return first_error;
  });
  if (!status.ok()) return status;
  return records;
}

absl::StatusOr<StoreTotals> SqlRecordStore::Totals() {
  long long runs = 0, kernels = 0, candidates = 0, measured = 0;
  absl::Status status = session_->Read([&](soci::session& sql) {
    const std::string fate(FateName(Fate::kMeasured));
    sql << "SELECT CAST(COUNT(*) AS BIGINT) FROM runs", soci::into(runs);
    sql << "SELECT CAST(COUNT(*) AS BIGINT) FROM kernels", soci::into(kernels);
    sql << "SELECT CAST(COUNT(*) AS BIGINT) FROM candidates", soci::into(candidates);
    sql << "SELECT CAST(COUNT(*) AS BIGINT) FROM candidates WHERE fate = :fate", soci::use(fate),
        soci::into(measured);
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  return StoreTotals{runs, kernels, candidates, measured};
}

}  // namespace autotune
