#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hardware/record_store_rows.h"
#include "hardware/record_store_sql.h"
#include "hardware/record_store_tables.h"
#include "soci/soci.h"

namespace autotune {
namespace {

constexpr char kUnusedKernels[] =
    "kernels WHERE NOT EXISTS (SELECT 1 FROM candidates WHERE candidates.kernel = "
    "kernels.fingerprint)";

int64_t Count(soci::session& sql, const std::string& from_where) {
  long long count = 0;
  sql << "SELECT CAST(COUNT(*) AS BIGINT) FROM " << from_where, soci::into(count);
  return count;
}

}  // namespace

absl::StatusOr<PruneCounts> SqlRecordStore::Prune(const PruneRequest& request) {
  const bool runs = !request.runs.empty() || request.proposed_only;
  if (request.damaged && runs) {
    return absl::InvalidArgumentError("record store: prune either runs or what is damaged");
  }
  absl::StatusOr<PruneCounts> counts =
      request.damaged ? PruneDamaged(request.dry_run) : PruneRuns(request);
  const bool changed = counts.ok() && (runs || !counts->damaged.empty());
  if (!changed || request.dry_run) return counts;
  if (absl::Status compacted = session_->Compact(); !compacted.ok()) return compacted;
  return counts;
}

absl::StatusOr<PruneCounts> SqlRecordStore::PruneRuns(const PruneRequest& request) {
  PruneCounts counts;
  if (request.runs.empty()) return counts;
  std::vector<std::string> quoted;
  quoted.reserve(request.runs.size());
  for (const std::string& run : request.runs) quoted.push_back(Quoted(CleanText(run)));
  const std::string list = absl::StrCat("(", absl::StrJoin(quoted, ", "), ")");
  std::string candidates = absl::StrCat("candidates WHERE run IN ", list);
  if (request.proposed_only) {
    absl::StrAppend(&candidates, " AND fate = ", Quoted(FateName(Fate::kProposed)));
  }
  const auto body = [&](soci::session& sql) -> absl::Status {
    for (size_t i = 0; i < quoted.size(); ++i) {
      // Candidates whose run is lost can still be taken out under its name.
      if (Count(sql, absl::StrCat("runs WHERE id = ", quoted[i])) > 0) continue;
      if (Count(sql, absl::StrCat("candidates WHERE run = ", quoted[i])) > 0) continue;
      return absl::NotFoundError(
          absl::StrCat("record store ", url(), " has no run ", request.runs[i]));
    }
    counts.candidates = Count(sql, candidates);
    sql << "DELETE FROM " << candidates;
    if (!request.proposed_only) {
      counts.runs = Count(sql, absl::StrCat("runs WHERE id IN ", list));
      sql << "DELETE FROM checkpoints WHERE run IN " << list;
      sql << "DELETE FROM runs WHERE id IN " << list;
    }
    counts.kernels = Count(sql, kUnusedKernels);
    sql << "DELETE FROM " << kUnusedKernels;
    sql << "DELETE FROM contexts WHERE NOT EXISTS"
           " (SELECT 1 FROM candidates WHERE candidates.context = contexts.id)";
    // The session undoes it, as after any failure.
    return request.dry_run ? absl::CancelledError("dry run") : absl::OkStatus();
  };
  const absl::Status status = session_->Write(body);
  if (absl::IsCancelled(status) && request.dry_run) return counts;
  if (!status.ok()) return status;
  return counts;
}

}  // namespace autotune
