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
    const ContextMap contexts = ReadContexts(sql);
    for (const auto& [id, context] : contexts) {
      if (ContextId(context) == id) continue;
      damaged.push_back({absl::StrCat("context ", id), "its content does not fit its number"});
    }
    ForEachCandidate(sql, "1 = 1", "run, sequence", [&](const StoredCandidateRow& stored) {
      const std::string where =
          absl::StrCat("candidate ", stored.row.sequence, " of run ", stored.row.run);
      const auto context = contexts.find(stored.row.context);
      if (stored.row.Checksum() != stored.checksum) {
        damaged.push_back({where, "its checksum is wrong"});
      } else if (context == contexts.end()) {
        damaged.push_back({where, "its context is not stored"});
      } else if (auto record = CandidateFromRow(stored.row, context->second); !record.ok()) {
        damaged.push_back({where, std::string(record.status().message())});
      }
    });
    for (const std::string& run : DamagedCheckpoints(sql)) {
      damaged.push_back({absl::StrCat("checkpoint of run ", run), "its checksum is wrong"});
    }
    ForEachKernel(sql, [&](const KernelRow& row) {
      const std::string where = absl::StrCat("kernel ", row.name);
      if (TextChecksum({row.name, row.kernel}) != row.checksum) {
        damaged.push_back({where, "its checksum is wrong"});
      } else if (auto kernel = KernelFromText(row.name, row.kernel); !kernel.ok()) {
        damaged.push_back({where, std::string(kernel.status().message())});
      }
    });
    return absl::OkStatus();
  });
  if (!status.ok() && !absl::IsDataLoss(status)) return status;
  if (!status.ok()) damaged.push_back({"the database file", std::string(status.message())});
  return damaged;
}

}  // namespace autotune
