#include <set>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hardware/record_store_damage.h"
#include "hardware/record_store_sql.h"
#include "hardware/record_store_tables.h"
#include "soci/soci.h"

namespace autotune {
namespace {

using Kind = DamagedRow::Kind;

// A run's row with its damage made known and its checksum right again.
void MendRun(soci::session& sql, const std::string& id) {
  const std::string outcome = kMendedOutcome;
  sql << "UPDATE runs SET outcome = :outcome WHERE id = :id", soci::use(outcome), soci::use(id);
  StoreRunChecksum(sql, id);
}

// A row for candidates that lost theirs: what is known of the run is when they were recorded.
void RestoreRun(soci::session& sql, const std::string& id) {
  long long started = 0;
  sql << "SELECT MIN(recorded) FROM candidates WHERE run = :id", soci::use(id), soci::into(started);
  InsertRun(sql, {.id = id,
                  .program = "unknown",
                  .options_json = "{}",
                  .started_unix_micros = started,
                  .outcome = kMendedOutcome});
}

void DeleteRow(soci::session& sql, const DamagedRow& row) {
  const long long number = row.number;
  switch (row.kind) {
    case Kind::kCandidate:
      sql << "DELETE FROM candidates WHERE run = :run AND sequence = :sequence", soci::use(row.run),
          soci::use(number);
      return;
    case Kind::kCheckpoint:
      sql << "DELETE FROM checkpoints WHERE run = :run", soci::use(row.run);
      return;
    case Kind::kKernel:
      sql << "DELETE FROM kernels WHERE fingerprint = :fingerprint", soci::use(number);
      return;
    case Kind::kContext:
      sql << "DELETE FROM contexts WHERE id = :id", soci::use(number);
      return;
    case Kind::kFile:
    case Kind::kRun:
    case Kind::kLostRun:
      return;
  }
}

// Takes damaged rows out and mends what can be, so that nothing is damaged any more and nothing
// that is well is lost.
PruneCounts TakeOut(soci::session& sql, const std::vector<DamagedRow>& damaged) {
  PruneCounts counts;
  std::set<std::string> restored;
  for (const DamagedRow& row : damaged) {
    counts.damaged.push_back(row.named);
    counts.candidates += row.kind == Kind::kCandidate ? 1 : 0;
    counts.kernels += row.kind == Kind::kKernel ? 1 : 0;
    if (row.kind == Kind::kRun) {
      MendRun(sql, row.run);
      ++counts.mended_runs;
    } else if (row.kind == Kind::kLostRun && restored.insert(row.run).second) {
      RestoreRun(sql, row.run);
      ++counts.mended_runs;
    }
    // Candidates refer to contexts, which therefore go last.
    if (row.kind != Kind::kContext) DeleteRow(sql, row);
  }
  for (const DamagedRow& row : damaged) {
    if (row.kind == Kind::kContext) DeleteRow(sql, row);
  }
  return counts;
}

}  // namespace

absl::StatusOr<PruneCounts> SqlRecordStore::PruneDamaged(bool dry_run) {
  PruneCounts counts;
  const absl::Status status = session_->Write([&](soci::session& sql) -> absl::Status {
    const std::vector<DamagedRow> damaged = FindDamage(sql, session_->location().kind);
    for (const DamagedRow& row : damaged) {
      if (row.kind != Kind::kFile) continue;
      return absl::DataLossError(absl::StrCat(
          "record store ", url(), ": the file itself is damaged (", row.named.what,
          "), not only records in it: `sqlite3 FILE .recover | sqlite3 NEW` reads what is left"));
    }
    counts = TakeOut(sql, damaged);
    // The session undoes it, as after any failure.
    return dry_run ? absl::CancelledError("dry run") : absl::OkStatus();
  });
  if (!status.ok() && !(dry_run && absl::IsCancelled(status))) return status;
  return counts;
}

}  // namespace autotune
