#ifndef AUTOTUNE_HARDWARE_RECORD_STORE_SESSION_H_
#define AUTOTUNE_HARDWARE_RECORD_STORE_SESSION_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/synchronization/mutex.h"

namespace soci {
class session;
}

namespace autotune {

// Where a store lives, as its URL says.
struct StoreLocation {
  enum class Kind { kSqlite, kPostgres };
  Kind kind = Kind::kSqlite;
  std::string url;
  // The file of an SQLite store; the connection text of a PostgreSQL one.
  std::string target;
};

// Reads "sqlite:PATH" or "postgresql://..." (or "postgres://..."). InvalidArgument for anything
// else and for a password in the URL, which it does not repeat.
absl::StatusOr<StoreLocation> ParseStoreUrl(const std::string& url);

// One database connection whose exceptions end here: the border between SOCI, which throws, and
// absl::Status. Thread-safe; one transaction at a time.
class StoreSession {
 public:
  // Connects (makes an SQLite file that is missing) and prepares the connection: for SQLite
  // write-ahead logging, full synchronisation and a wait for other writers. A file that must not be
  // written, or whose folder must not, is opened for reading.
  static absl::StatusOr<std::unique_ptr<StoreSession>> Connect(StoreLocation location,
                                                               int64_t busy_timeout_ms);
  ~StoreSession();

  const StoreLocation& location() const { return location_; }

  using Body = std::function<absl::Status(soci::session&)>;

  // Runs `body` in a transaction that is the only writing one (SQLite) from its start. Commits if
  // `body` returns OK; else, or if it throws, nothing of it stays. A lost connection is opened
  // again at the next call.
  absl::Status Write(const Body& body);

  // Runs `body`, which only reads, on one snapshot.
  absl::Status Read(const Body& body);

  // Gives the space of deleted rows back. Waits for other writers as Write does.
  absl::Status Compact();

  // The sqlite3* of a session, for statements that go past SOCI. REQUIRES: an SQLite store, inside
  // a body.
  static void* SqliteHandle(soci::session& session);
  // Throws what SOCI throws when a statement of its own gives `result`.
  [[noreturn]] static void ThrowSqliteError(soci::session& session, int result);

 private:
  StoreSession(StoreLocation location, int64_t busy_timeout_ms);

  absl::Status Open() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void OpenOrThrow() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  absl::Status InTransaction(const std::string& begin, const Body& body);
  absl::Status RunAndCommit(const std::string& begin, const Body& body)
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);

  const StoreLocation location_;
  const int64_t busy_timeout_ms_;
  absl::Mutex mutex_;
  std::unique_ptr<soci::session> session_ ABSL_GUARDED_BY(mutex_);  // null: not connected
};

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_RECORD_STORE_SESSION_H_
