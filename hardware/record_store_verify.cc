#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hardware/record_store_rows.h"
#include "hardware/record_store_sql.h"
#include "hardware/record_store_tables.h"
#include "soci/soci.h"

namespace autotune {
namespace {

// The runs whose checkpoint does not fit its checksum.
std::vector<std::string> DamagedCheckpoints(soci::session& sql) {
  std::vector<std::string> damaged;
  std::string run, state;
  long long checksum = 0;
  soci::statement select =
      (sql.prepare << "SELECT run, state, checksum FROM checkpoints ORDER BY run", soci::into(run),
       soci::into(state), soci::into(checksum));
  select.execute();
  while (select.fetch()) {
    if (checksum != TextChecksum({run, state})) damaged.push_back(run);
  }
  return damaged;
}

// Returns the ids of all runs.
std::set<std::string> VerifyRuns(soci::session& sql, std::vector<DamagedRecord>& damaged) {
  std::set<std::string> ids;
  for (const StoredRun& stored : ReadRuns(sql, "ORDER BY started, id")) {
    ids.insert(stored.run.id);
    if (!stored.IsDamaged()) continue;
    damaged.push_back({absl::StrCat("run ", stored.run.id), "its checksum is wrong"});
  }
  return ids;
}

// What is wrong with a candidate; empty if nothing is.
std::string WrongWith(const StoredCandidateRow& stored, const std::set<std::string>& runs,
                      const ContextMap& contexts) {
  const auto context = contexts.find(stored.row.context);
  if (stored.row.Checksum() != stored.checksum) return "its checksum is wrong";
  if (!runs.contains(stored.row.run)) return "its run is not stored";
  if (context == contexts.end()) return "its context is lost or damaged";
  return std::string(CandidateFromRow(stored.row, context->second).status().message());
}

void VerifyCandidates(soci::session& sql, const std::set<std::string>& runs,
                      std::vector<DamagedRecord>& damaged) {
  std::vector<int64_t> damaged_contexts;
  const ContextMap contexts = ReadContexts(sql, &damaged_contexts);
  for (const int64_t id : damaged_contexts) {
    damaged.push_back({absl::StrCat("context ", id), "its content does not fit its number"});
  }
  ForEachCandidate(sql, "1 = 1", "run, sequence", [&](const StoredCandidateRow& stored) {
    std::string what = WrongWith(stored, runs, contexts);
    if (what.empty()) return;
    damaged.push_back({absl::StrCat("candidate ", stored.row.sequence, " of run ", stored.row.run),
                       std::move(what)});
  });
}

void VerifyKernels(soci::session& sql, std::vector<DamagedRecord>& damaged) {
  ForEachKernel(sql, [&](const KernelRow& row) {
    const std::string where = absl::StrCat("kernel ", row.name);
    if (TextChecksum({row.name, row.kernel}) != row.checksum) {
      damaged.push_back({where, "its checksum is wrong"});
    } else if (auto kernel = KernelFromText(row.name, row.kernel); !kernel.ok()) {
      damaged.push_back({where, std::string(kernel.status().message())});
    } else if (static_cast<int64_t>(kernel->fingerprint) != row.fingerprint) {
      damaged.push_back({where, "its fingerprint is that of another kernel"});
    }
  });
}

}  // namespace

absl::StatusOr<std::vector<DamagedRecord>> SqlRecordStore::Verify() {
  std::vector<DamagedRecord> damaged;
  absl::Status status = session_->Read([&](soci::session& sql) {
    if (session_->location().kind == StoreLocation::Kind::kSqlite) {
      std::vector<std::string> lines(100);
      sql << "PRAGMA integrity_check(100)", soci::into(lines);
      for (const std::string& line : lines) {
        if (line != "ok") damaged.push_back({"the database file", line});
      }
    }
    VerifyCandidates(sql, VerifyRuns(sql, damaged), damaged);
    for (const std::string& run : DamagedCheckpoints(sql)) {
      damaged.push_back({absl::StrCat("checkpoint of run ", run), "its checksum is wrong"});
    }
    VerifyKernels(sql, damaged);
    return absl::OkStatus();
  });
  if (!status.ok() && !absl::IsDataLoss(status)) return status;
  if (!status.ok()) damaged.push_back({"the database file", std::string(status.message())});
  return damaged;
}

}  // namespace autotune
