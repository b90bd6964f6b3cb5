#include "hardware/record_store_schema.h"

#include <string>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "hardware/record_store_rows.h"
#include "hardware/record_store_tables.h"
#include "soci/soci.h"

namespace autotune {
namespace {

// Integers are BIGINT everywhere: SOCI reads a column declared INTEGER as 32 bit. Fingerprints and
// checksums are unsigned 64-bit numbers, stored as the signed number with the same bits.
constexpr const char* kVersion1[] = {
    // One row, rewritten by each migration.
    "CREATE TABLE schema_info (version BIGINT NOT NULL)",
    "CREATE TABLE runs ("
    " id TEXT PRIMARY KEY,"
    " program TEXT NOT NULL,"
    " options TEXT NOT NULL,"
    " seed BIGINT NOT NULL,"
    " started BIGINT NOT NULL,"  // microseconds since 1970, as all times here
    " finished BIGINT,"
    " outcome TEXT NOT NULL)",
    "CREATE TABLE kernels ("
    " fingerprint BIGINT PRIMARY KEY,"
    " name TEXT NOT NULL,"
    " kernel TEXT NOT NULL,"  // base64 of a serialised proto::KernelRecord
    " checksum BIGINT NOT NULL)",
    "CREATE TABLE contexts ("
    " id BIGINT PRIMARY KEY,"  // the fingerprint of the other columns
    " device TEXT NOT NULL,"
    " backend TEXT NOT NULL,"
    " versions TEXT NOT NULL,"
    " flags TEXT NOT NULL,"
    " source TEXT NOT NULL)",
    "CREATE TABLE candidates ("
    " run TEXT NOT NULL REFERENCES runs (id),"
    " sequence BIGINT NOT NULL,"
    " kernel BIGINT NOT NULL,"
    " kernel_name TEXT NOT NULL,"
    " context BIGINT NOT NULL REFERENCES contexts (id),"
    " config TEXT NOT NULL,"             // Config::Key
    " derived TEXT NOT NULL,"            // a tile's input and iteration bounds: "i=...;n=..."
    " fate TEXT NOT NULL,"               // FateName
    " samples TEXT NOT NULL,"            // seconds, separated by commas
    " failure TEXT NOT NULL,"            // FailureKindName, or empty
    " message TEXT NOT NULL,"            // of the failure
    " compile_seconds TEXT NOT NULL,"    // empty if not known
    " compiler_estimate TEXT NOT NULL,"  // seconds, empty if not known
    " predictions TEXT NOT NULL,"        // [["model", score, rank], ...]
    " recorded BIGINT NOT NULL,"
    " checksum BIGINT NOT NULL,"
    " PRIMARY KEY (run, sequence))",
    "CREATE INDEX candidates_of_kernel ON candidates (kernel, recorded)",
    // The one table whose rows are replaced: the newest state of each run.
    "CREATE TABLE checkpoints ("
    " run TEXT PRIMARY KEY REFERENCES runs (id),"
    " state TEXT NOT NULL,"  // base64
    " checksum BIGINT NOT NULL)",
};

constexpr const char* kVersion2[] = {
    "ALTER TABLE candidates ADD COLUMN method TEXT NOT NULL DEFAULT ''",  // Measurement::method
    "ALTER TABLE candidates ADD COLUMN is_default BIGINT NOT NULL DEFAULT 0",
};

// Look-ups come in the index's order: sorting a kernel of 100,000 records took as long as reading
// it.
constexpr const char* kVersion3[] = {
    "CREATE INDEX candidates_in_order ON candidates (kernel, recorded, run, sequence)",
    "DROP INDEX candidates_of_kernel",
};

// RunChecksum; the program fills it (FillRunChecksums).
constexpr const char* kVersion4[] = {
    "ALTER TABLE runs ADD COLUMN checksum BIGINT NOT NULL DEFAULT 0",
};

// Step i holds the statements that turn version i into version i + 1; version 0 is an empty
// database. Statements are in the SQL that SQLite and PostgreSQL share.
constexpr absl::Span<const char* const> kMigrations[] = {kVersion1, kVersion2, kVersion3,
                                                         kVersion4};
static_assert(std::size(kMigrations) == kStoreSchemaVersion);

bool HasSchema(soci::session& sql, StoreLocation::Kind kind) {
  const char* query = kind == StoreLocation::Kind::kSqlite
                          ? "SELECT COUNT(*) FROM sqlite_master WHERE name = 'schema_info'"
                          : "SELECT COUNT(*) FROM information_schema.tables"
                            " WHERE table_name = 'schema_info'"
                            " AND table_schema = current_schema()";
  int tables = 0;
  sql << query, soci::into(tables);
  return tables > 0;
}

// 0 for an empty database; negative if it says none that there was.
long long SchemaVersion(soci::session& sql, StoreLocation::Kind kind) {
  if (!HasSchema(sql, kind)) return 0;
  long long version = 0;
  sql << "SELECT version FROM schema_info", soci::into(version);
  return version > 0 ? version : -1;
}

void FillRunChecksums(soci::session& sql) {
  for (const StoredRun& run : ReadRuns(sql, "")) {
    const long long checksum = RunChecksum(run.run);
    sql << "UPDATE runs SET checksum = :checksum WHERE id = :id", soci::use(checksum),
        soci::use(run.run.id);
  }
}

absl::Status Migrate(soci::session& sql, const StoreLocation& location) {
  if (location.kind == StoreLocation::Kind::kPostgres) {
    // One process at a time; the lock ends with the transaction. The number is arbitrary.
    sql << "SELECT pg_advisory_xact_lock(706521)";
  }
  const long long version = SchemaVersion(sql, location.kind);
  if (version < 0) {
    return absl::DataLossError(
        absl::StrCat("record store ", location.url, ": the version of its schema is damaged"));
  }
  if (version > kStoreSchemaVersion) {
    return absl::FailedPreconditionError(absl::StrCat(
        "record store ", location.url, " has schema version ", version,
        "; this program knows versions up to ", kStoreSchemaVersion, ": use a newer autotune"));
  }
  for (long long step = version; step < kStoreSchemaVersion; ++step) {
    for (const char* statement : kMigrations[step]) sql << statement;
    if (step == 3) FillRunChecksums(sql);
  }
  if (version == 0) {
    sql << "INSERT INTO schema_info (version) VALUES (" << kStoreSchemaVersion << ")";
  } else if (version < kStoreSchemaVersion) {
    sql << "UPDATE schema_info SET version = " << kStoreSchemaVersion;
  }
  return absl::OkStatus();
}

}  // namespace

absl::Status MigrateStore(StoreSession& session) {
  // Most openings find the tables as they should be: a look costs no lock.
  bool current = false;
  const StoreLocation& location = session.location();
  absl::Status status = session.Read([&](soci::session& sql) {
    current = SchemaVersion(sql, location.kind) == kStoreSchemaVersion;
    return absl::OkStatus();
  });
  if (!status.ok() || current) return status;
  status = session.Write([&](soci::session& sql) { return Migrate(sql, location); });
  if (!absl::IsPermissionDenied(status)) return status;
  return absl::PermissionDeniedError(
      absl::StrCat(std::string(status.message()), "; its tables are of another version than ",
                   kStoreSchemaVersion, " and have to be changed before it can be read"));
}

}  // namespace autotune
