#include "hardware/record_store_sql.h"

#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "hardware/record_store_rows.h"
#include "hardware/record_store_tables.h"
#include "soci/soci.h"

namespace autotune {
namespace {

absl::Status NoRun(const std::string& url, const std::string& run_id) {
  return absl::NotFoundError(absl::StrCat("record store ", url, " has no run ", run_id));
}

// How to go on after damage.
constexpr char kAdvice[] =
    "; `autotune records verify` names all that is damaged, `autotune records prune --run` takes a "
    "run out";

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
                                              " is damaged: its checksum is wrong", kAdvice));
    }
    runs.push_back(std::move(stored.run));
  }
  return runs;
}

void StoreRunChecksum(soci::session& sql, const std::string& run_id) {
  for (const StoredRun& stored : ReadRuns(sql, absl::StrCat("WHERE id = ", Quoted(run_id)))) {
    const long long checksum = RunChecksum(stored.run);
    sql << "UPDATE runs SET checksum = :checksum WHERE id = :id", soci::use(checksum),
        soci::use(run_id);
  }
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
    const std::string id = CleanText(run.id), program = CleanText(run.program);
    const std::string options = CleanText(run.options_json), outcome = CleanText(run.outcome);
    const long long seed = static_cast<int64_t>(run.seed), started = run.started_unix_micros;
    const long long finished = run.finished_unix_micros.value_or(0);
    soci::indicator has_finished = run.finished_unix_micros.has_value() ? soci::i_ok : soci::i_null;
    const long long checksum = RunChecksum(run);
    sql << "INSERT INTO runs (id, program, options, seed, started, finished, outcome, checksum)"
           " VALUES (:id, :program, :options, :seed, :started, :finished, :outcome, :checksum)",
        soci::use(id), soci::use(program), soci::use(options), soci::use(seed), soci::use(started),
        soci::use(finished, has_finished), soci::use(outcome), soci::use(checksum);
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
      const long long fingerprint = static_cast<int64_t>(kernel.fingerprint);
      const std::string name = CleanText(kernel.name);
      const std::string text = KernelText(kernel);
      const long long checksum = TextChecksum({name, text});
      sql << "INSERT INTO kernels (fingerprint, name, kernel, checksum)"
             " VALUES (:fingerprint, :name, :kernel, :checksum)"
             " ON CONFLICT (fingerprint) DO NOTHING",
          soci::use(fingerprint), soci::use(name), soci::use(text), soci::use(checksum);
    }
    return absl::OkStatus();
  });
}

absl::StatusOr<Kernel> SqlRecordStore::GetKernel(uint64_t fingerprint) {
  std::string name, text;
  bool found = false;
  absl::Status status = session_->Read([&](soci::session& sql) {
    const long long key = static_cast<int64_t>(fingerprint);
    sql << "SELECT name, kernel FROM kernels WHERE fingerprint = :key", soci::use(key),
        soci::into(name), soci::into(text);
    found = sql.got_data();
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  if (!found) {
    return absl::NotFoundError(absl::StrCat("record store ", url(), " has no kernel ",
                                            absl::Hex(fingerprint, absl::kZeroPad16)));
  }
  return KernelFromText(name, text);
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
                             " of run ", run_id, ": ", record.status().message(), kAdvice));
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
