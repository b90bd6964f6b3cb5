#include "hardware/record_store_damage.h"

#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "hardware/record_store_rows.h"
#include "hardware/record_store_tables.h"
#include "soci/soci.h"

namespace autotune {
namespace {

using Kind = DamagedRow::Kind;

constexpr char kWrongChecksum[] = "its checksum is wrong";

void CheckFile(soci::session& sql, std::vector<DamagedRow>& damaged) {
  std::vector<std::string> lines(100);
  sql << "PRAGMA integrity_check(100)", soci::into(lines);
  for (const std::string& line : lines) {
    if (line != "ok") damaged.push_back({Kind::kFile, {"the database file", line}, "", 0});
  }
}

// Returns the ids of all runs.
std::set<std::string> CheckRuns(soci::session& sql, std::vector<DamagedRow>& damaged) {
  std::set<std::string> ids;
  for (const StoredRun& stored : ReadRuns(sql, "ORDER BY started, id")) {
    const std::string& id = stored.run.id;
    ids.insert(id);
    if (!stored.IsDamaged()) continue;
    damaged.push_back({Kind::kRun, {absl::StrCat("run ", id), kWrongChecksum}, id, 0});
  }
  return ids;
}

// What is wrong with a candidate itself; empty if nothing is.
std::string WrongWith(const StoredCandidateRow& stored, const ContextMap& contexts) {
  const auto context = contexts.find(stored.row.context);
  if (stored.row.Checksum() != stored.checksum) return kWrongChecksum;
  if (context == contexts.end()) return "its context is lost or damaged";
  return std::string(CandidateFromRow(stored.row, context->second).status().message());
}

void CheckCandidates(soci::session& sql, const std::set<std::string>& runs,
                     std::vector<DamagedRow>& damaged) {
  std::vector<int64_t> damaged_contexts;
  const ContextMap contexts = ReadContexts(sql, &damaged_contexts);
  for (const int64_t id : damaged_contexts) {
    damaged.push_back({Kind::kContext,
                       {absl::StrCat("context ", id), "its content does not fit its number"},
                       "",
                       id});
  }
  ForEachCandidate(sql, "1 = 1", "run, sequence", [&](const StoredCandidateRow& stored) {
    const CandidateRow& row = stored.row;
    std::string what = WrongWith(stored, contexts);
    const Kind kind = what.empty() ? Kind::kLostRun : Kind::kCandidate;
    if (what.empty() && runs.contains(row.run)) return;
    if (what.empty()) what = "its run is not stored";
    damaged.push_back({kind,
                       {absl::StrCat("candidate ", row.sequence, " of run ", row.run), what},
                       row.run,
                       row.sequence});
  });
}

void CheckCheckpoints(soci::session& sql, std::vector<DamagedRow>& damaged) {
  std::string run, state;
  long long checksum = 0;
  soci::statement select =
      (sql.prepare << "SELECT run, state, checksum FROM checkpoints ORDER BY run", soci::into(run),
       soci::into(state), soci::into(checksum));
  select.execute();
  while (select.fetch()) {
    if (checksum == TextChecksum({run, state})) continue;
    damaged.push_back(
        {Kind::kCheckpoint, {absl::StrCat("checkpoint of run ", run), kWrongChecksum}, run, 0});
  }
}

void CheckKernels(soci::session& sql, std::vector<DamagedRow>& damaged) {
  ForEachKernel(sql, "ORDER BY fingerprint", [&](const KernelRow& row) {
    const absl::Status status = KernelFromRow(row).status();
    if (status.ok()) return;
    damaged.push_back({Kind::kKernel,
                       {absl::StrCat("kernel ", row.name), std::string(status.message())},
                       "",
                       row.fingerprint});
  });
}

}  // namespace

std::vector<DamagedRow> FindDamage(soci::session& sql, StoreLocation::Kind kind) {
  std::vector<DamagedRow> damaged;
  if (kind == StoreLocation::Kind::kSqlite) CheckFile(sql, damaged);
  CheckCandidates(sql, CheckRuns(sql, damaged), damaged);
  CheckCheckpoints(sql, damaged);
  CheckKernels(sql, damaged);
  return damaged;
}

}  // namespace autotune
