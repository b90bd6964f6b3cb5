#include <utility>
#include <vector>

#include "hardware/record_store_damage.h"
#include "hardware/record_store_sql.h"
#include "soci/soci.h"

namespace autotune {

absl::StatusOr<std::vector<DamagedRecord>> SqlRecordStore::Verify() {
  std::vector<DamagedRecord> damaged;
  absl::Status status = session_->Read([&](soci::session& sql) {
    for (DamagedRow& row : FindDamage(sql, session_->location().kind)) {
      damaged.push_back(std::move(row.named));
    }
    return absl::OkStatus();
  });
  if (!status.ok() && !absl::IsDataLoss(status)) return status;
  if (!status.ok()) damaged.push_back({"the database file", std::string(status.message())});
  return damaged;
}

}  // namespace autotune
