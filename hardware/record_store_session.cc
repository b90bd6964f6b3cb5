#include "hardware/record_store_session.h"

#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/escaping.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "absl/strings/strip.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "soci/soci.h"
#include "soci/sqlite3/soci-sqlite3.h"

namespace autotune {
namespace {

using Kind = StoreLocation::Kind;

absl::StatusCode CodeOfSqlite(int result) {
  switch (result & 0xff) {  // the low byte is the primary result code
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_IOERR:
    case SQLITE_PROTOCOL:
      return absl::StatusCode::kUnavailable;
    case SQLITE_FULL:
      return absl::StatusCode::kResourceExhausted;
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
      return absl::StatusCode::kDataLoss;
    case SQLITE_CANTOPEN:
      return absl::StatusCode::kNotFound;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return absl::StatusCode::kPermissionDenied;
    case SQLITE_CONSTRAINT:
      return absl::StatusCode::kAlreadyExists;
    default:
      return absl::StatusCode::kInternal;
  }
}

// A server that is there and lets nobody in, or a URL that names none: waiting does not help.
bool IsRefusedByServer(const std::string& message) {
  for (const char* words :
       {"authentication failed", "no password supplied", "pg_hba.conf", "does not exist",
        "invalid URI", "invalid connection option", "permission denied"}) {
    if (absl::StrContains(message, "onnection") && absl::StrContains(message, words)) return true;
  }
  return false;
}

absl::StatusCode CodeOf(const soci::soci_error& error) {
  if (const auto* sqlite = dynamic_cast<const soci::sqlite3_soci_error*>(&error)) {
    return CodeOfSqlite(sqlite->result());
  }
  const std::string message = error.get_error_message();
  if (IsRefusedByServer(message)) return absl::StatusCode::kPermissionDenied;
  if (absl::StrContains(message, "No space left on device")) {
    return absl::StatusCode::kResourceExhausted;
  }
  switch (error.get_error_category()) {
    case soci::soci_error::connection_error:
    case soci::soci_error::system_error:
    case soci::soci_error::unknown_transaction_state:
      return absl::StatusCode::kUnavailable;
    case soci::soci_error::no_privilege:
      return absl::StatusCode::kPermissionDenied;
    case soci::soci_error::constraint_violation:
      return absl::StatusCode::kAlreadyExists;
    default:
      // libpq reports a connection that broke in the middle of a statement without a category.
      return absl::StrContains(message, "connection") ? absl::StatusCode::kUnavailable
                                                      : absl::StatusCode::kInternal;
  }
}

// What helps the reader beyond the database's own words.
absl::string_view Hint(absl::StatusCode code, Kind kind) {
  switch (code) {
    case absl::StatusCode::kUnavailable:
      return kind == Kind::kSqlite ? " (locked by another process, or the disk fails)"
                                   : " (is the server up?)";
    case absl::StatusCode::kResourceExhausted:
      return " (the disk is full; nothing of this batch was stored)";
    case absl::StatusCode::kDataLoss:
      return " (the file is damaged or no record store)";
    case absl::StatusCode::kNotFound:
      return " (does the folder exist, and may it be written?)";
    case absl::StatusCode::kPermissionDenied:
      return kind == Kind::kSqlite
                 ? " (may the file and its folder be written?)"
                 : " (host, database and user are in the URL, the password in PGPASSWORD or "
                   "~/.pgpass)";
    default:
      return "";
  }
}

// What the database says, without the layers between: SOCI puts the names of its own functions
// before the words of SQLite.
std::string Words(const soci::soci_error& error) {
  if (const auto* sqlite = dynamic_cast<const soci::sqlite3_soci_error*>(&error)) {
    if (sqlite->result() != SQLITE_ERROR) return sqlite_api::sqlite3_errstr(sqlite->result());
  }
  std::string message = error.get_error_message();
  message = message.substr(0, message.find(" while "));
  if (const size_t scope = message.find("::"); scope != std::string::npos) {
    // "sqlite3_statement_backend::prepare: no such table: runs"
    if (const size_t colon = message.find(": ", scope); colon != std::string::npos) {
      message.erase(0, colon + 2);
    }
  }
  std::replace(message.begin(), message.end(), '\n', ' ');
  absl::StripAsciiWhitespace(&message);
  return message;
}

absl::Status StatusOf(const soci::soci_error& error, const StoreLocation& location) {
  const absl::StatusCode code = CodeOf(error);
  return absl::Status(code, absl::StrCat("record store ", location.url, ": ", Words(error),
                                         Hint(code, location.kind)));
}

// Whether a store can only be looked at: write-ahead logging makes files beside it.
bool IsReadOnly(const std::string& path) {
  if (access(path.c_str(), F_OK) != 0) return false;
  const std::string folder = path.substr(0, path.rfind('/') + 1);
  return access(path.c_str(), W_OK) != 0 ||
         access(folder.empty() ? "." : folder.c_str(), W_OK) != 0;
}

// An SQLite URI of a file that nobody changes: it takes neither locks nor files beside it. With a
// log beside it the file alone is not all, and SQLite has to try with that.
std::string ReadOnlyUri(const std::string& path) {
  struct stat log = {};
  const bool has_log = stat(absl::StrCat(path, "-wal").c_str(), &log) == 0 && log.st_size > 0;
  return absl::StrCat(
      "file:", absl::StrReplaceAll(path, {{"%", "%25"}, {"?", "%3f"}, {"#", "%23"}}),
      has_log ? "?mode=ro" : "?immutable=1");
}

// SOCI's connection texts hold values with spaces in double quotes and know no escape.
absl::StatusOr<std::string> SqliteConnection(const std::string& path) {
  if (absl::StrContains(path, '"')) {
    return absl::InvalidArgumentError(
        absl::StrCat("record store: the path ", path, " must not hold a double quote"));
  }
  if (IsReadOnly(path)) return absl::StrCat("dbname=\"", ReadOnlyUri(path), "\" readonly=true");
  return absl::StrCat("dbname=\"", path, "\"");
}

// %70 is p, in URLs.
std::string PercentDecoded(absl::string_view text) {
  std::string decoded;
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%' && i + 2 < text.size() &&
        absl::ascii_isxdigit(static_cast<unsigned char>(text[i + 1])) &&
        absl::ascii_isxdigit(static_cast<unsigned char>(text[i + 2]))) {
      decoded += absl::HexStringToBytes(text.substr(i + 1, 2));
      i += 2;
    } else {
      decoded += text[i];
    }
  }
  return decoded;
}

absl::Status RefusePassword(const std::string& url) {
  const size_t start = url.find("://") + 3;
  const std::string authority = url.substr(start, url.find_first_of("/?", start) - start);
  const size_t at = authority.rfind('@');
  const bool in_user = at != std::string::npos && absl::StrContains(authority.substr(0, at), ':');
  if (!in_user && !absl::StrContains(absl::AsciiStrToLower(PercentDecoded(url)), "password=")) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError(
      "record store: a password does not belong into the URL, where other users and logs see it; "
      "set PGPASSWORD or use ~/.pgpass");
}

}  // namespace

absl::StatusOr<StoreLocation> ParseStoreUrl(const std::string& url) {
  absl::string_view rest = url;
  if (absl::ConsumePrefix(&rest, "sqlite:")) {
    if (rest.empty()) {
      return absl::InvalidArgumentError("record store: sqlite: needs a path, as in sqlite:runs.db");
    }
    return StoreLocation{Kind::kSqlite, url, std::string(rest)};
  }
  if (absl::StartsWith(url, "postgresql://") || absl::StartsWith(url, "postgres://")) {
    if (absl::Status status = RefusePassword(url); !status.ok()) return status;
    std::string target = url;
    if (!absl::StrContains(url, "connect_timeout=")) {
      absl::StrAppend(&target, absl::StrContains(url, '?') ? "&" : "?", "connect_timeout=10");
    }
    return StoreLocation{Kind::kPostgres, url, std::move(target)};
  }
  const bool is_path = access(url.c_str(), F_OK) == 0;
  return absl::InvalidArgumentError(absl::StrCat(
      "record store: \"", url, "\" is neither sqlite:PATH nor postgresql://USER@HOST/DATABASE",
      is_path ? absl::StrCat("; did you mean sqlite:", url, "?") : ""));
}

StoreSession::StoreSession(StoreLocation location, int64_t busy_timeout_ms)
    : location_(std::move(location)), busy_timeout_ms_(busy_timeout_ms) {}

StoreSession::~StoreSession() = default;

absl::StatusOr<std::unique_ptr<StoreSession>> StoreSession::Connect(StoreLocation location,
                                                                    int64_t busy_timeout_ms) {
  std::unique_ptr<StoreSession> session(new StoreSession(std::move(location), busy_timeout_ms));
  absl::MutexLock lock(&session->mutex_);
  if (absl::Status status = session->Open(); !status.ok()) return status;
  return session;
}

void StoreSession::OpenOrThrow() {
  if (location_.kind == Kind::kPostgres) {
    session_ = std::make_unique<soci::session>("postgresql", location_.target);
    // Its library prints notices to standard error; errors come as exceptions.
    *session_ << "SET client_min_messages = error";
    return;
  }
  const std::string connection = SqliteConnection(location_.target).value();
  session_ = std::make_unique<soci::session>(soci::sqlite3, connection);
  *session_ << absl::StrCat("PRAGMA busy_timeout = ", busy_timeout_ms_);
  if (absl::StrContains(connection, "\" readonly=true")) return;
  // Every commit is on the disk before it is acknowledged.
  *session_ << "PRAGMA synchronous = FULL";
  // Changing to write-ahead logging needs the file alone for a moment and does not wait for it.
  const absl::Time deadline = absl::Now() + absl::Milliseconds(busy_timeout_ms_);
  for (;;) {
    try {
      *session_ << "PRAGMA journal_mode = WAL";
      return;
    } catch (const soci::sqlite3_soci_error& error) {
      if (CodeOf(error) != absl::StatusCode::kUnavailable || absl::Now() >= deadline) throw;
      absl::SleepFor(absl::Milliseconds(5));
    }
  }
}

absl::Status StoreSession::Open() {
  if (location_.kind == Kind::kSqlite) {
    if (auto connection = SqliteConnection(location_.target); !connection.ok()) {
      return connection.status();
    }
  }
  try {
    OpenOrThrow();
    return absl::OkStatus();
  } catch (const soci::soci_error& error) {
    session_ = nullptr;
    return StatusOf(error, location_);
  } catch (const std::exception& error) {
    session_ = nullptr;
    return absl::InternalError(absl::StrCat("record store ", location_.url, ": ", error.what()));
  }
}

absl::Status StoreSession::RunAndCommit(const std::string& begin, const Body& body) {
  absl::Status status;
  try {
    *session_ << begin;
    status = body(*session_);
    if (status.ok()) {
      *session_ << "COMMIT";
      return status;
    }
  } catch (const soci::soci_error& error) {
    status = StatusOf(error, location_);
  } catch (const std::exception& error) {
    status = absl::InternalError(absl::StrCat("record store ", location_.url, ": ", error.what()));
  }
  try {
    *session_ << "ROLLBACK";
  } catch (const std::exception&) {
    // SQLite rolls back by itself when the disk is full, and a lost connection has nothing left to
    // roll back. A new connection is clean in any case.
    session_ = nullptr;
  }
  return status;
}

absl::Status StoreSession::InTransaction(const std::string& begin, const Body& body) {
  absl::MutexLock lock(&mutex_);
  if (session_ == nullptr) {
    if (absl::Status status = Open(); !status.ok()) return status;
  }
  absl::Status status = RunAndCommit(begin, body);
  // A connection that failed may be half dead even if it took the ROLLBACK.
  if (absl::IsUnavailable(status) && location_.kind == Kind::kPostgres) session_ = nullptr;
  return status;
}

absl::Status StoreSession::Compact() {
  // PostgreSQL's own service does it in the background.
  if (location_.kind == Kind::kPostgres) return absl::OkStatus();
  absl::MutexLock lock(&mutex_);
  if (session_ == nullptr) {
    if (absl::Status status = Open(); !status.ok()) return status;
  }
  try {
    *session_ << "VACUUM";
    *session_ << "PRAGMA wal_checkpoint(TRUNCATE)";
    return absl::OkStatus();
  } catch (const soci::soci_error& error) {
    return StatusOf(error, location_);
  } catch (const std::exception& error) {
    return absl::InternalError(absl::StrCat("record store ", location_.url, ": ", error.what()));
  }
}

void* StoreSession::SqliteHandle(soci::session& session) {
  return static_cast<soci::sqlite3_session_backend*>(session.get_backend())->conn_;
}

void StoreSession::ThrowSqliteError(soci::session& session, int result) {
  auto* backend = static_cast<soci::sqlite3_session_backend*>(session.get_backend());
  throw soci::sqlite3_soci_error(sqlite_api::sqlite3_errmsg(backend->conn_), result);
}

absl::Status StoreSession::Write(const Body& body) {
  return InTransaction(location_.kind == Kind::kSqlite ? "BEGIN IMMEDIATE" : "BEGIN", body);
}

absl::Status StoreSession::Read(const Body& body) {
  return InTransaction(
      location_.kind == Kind::kSqlite ? "BEGIN" : "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
      body);
}

}  // namespace autotune
