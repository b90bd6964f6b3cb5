#ifndef AUTOTUNE_HARDWARE_RECORD_STORE_SCHEMA_H_
#define AUTOTUNE_HARDWARE_RECORD_STORE_SCHEMA_H_

#include "absl/status/status.h"
#include "hardware/record_store_session.h"

namespace autotune {

// The version of the tables that this program writes. Every change of a table adds a step to
// kMigrations (record_store_schema.cc) and raises it by one.
inline constexpr int kStoreSchemaVersion = 4;

// Brings the database to kStoreSchemaVersion, in one transaction, also when many processes try at
// once. FailedPrecondition if its version is newer than this program, DataLoss if it can be that of
// no program.
absl::Status MigrateStore(StoreSession& session);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_RECORD_STORE_SCHEMA_H_
