#include <sqlite3.h>

#include <algorithm>
#include <limits>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/hash/hash.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "absl/strings/strip.h"
#include "hardware/record_store_rows.h"
#include "hardware/record_store_sql.h"
#include "hardware/record_store_tables.h"
#include "hlo/fingerprint.h"
#include "soci/soci.h"

namespace autotune {
namespace {

bool Matches(const MeasurementContext& stored, const MeasurementContext& wanted,
             VersionMatch match) {
  if (match == VersionMatch::kStrict) return stored == wanted;
  return stored.device == wanted.device && stored.source == wanted.source;
}

// Collects the rows of one kernel into one result per configuration.
class ResultCollector {
 public:
  ResultCollector() = default;
  ResultCollector(const ResultCollector&) = delete;
  ResultCollector& operator=(const ResultCollector&) = delete;

  // Makes room for so many: growing as they come costs as much as reading them.
  void Reserve(int64_t results) {
    constexpr int64_t kMost = int64_t{1} << 20;
    results_.reserve(static_cast<size_t>(std::min(results, kMost)));
    index_.reserve(results_.capacity());
  }

  // Key and outcome as ForEachOutcome gives them.
  absl::Status Add(absl::string_view key, absl::string_view outcome, TimeSource source) {
    absl::StatusOr<Measurement> measurement = MeasurementOf(outcome, source);
    if (!measurement.ok()) return measurement.status();
    if (IsNotRecorded(*measurement)) return absl::OkStatus();
    if (const auto found = index_.find(key); found != index_.end()) {
      Measurement& known = results_[*found].measurement;
      known = JoinMeasurements(known, *measurement);
      return absl::OkStatus();
    }
    absl::StatusOr<Config> config = Config::FromKey(key);
    if (!config.ok()) return config.status();
    results_.push_back({*std::move(config), *std::move(measurement)});
    index_.insert(results_.size() - 1);
    return absl::OkStatus();
  }

  std::vector<StoredResult> Take() {
    index_.clear();
    return std::move(results_);
  }

 private:
  static absl::StatusOr<Measurement> MeasurementOf(absl::string_view outcome, TimeSource source) {
    if (!absl::ConsumePrefix(&outcome, "!")) return MeasurementFromColumns(outcome, "", "", source);
    const size_t colon = outcome.find(':');
    return MeasurementFromColumns("", outcome.substr(0, colon), outcome.substr(colon + 1), source);
  }

  // Positions in results_, found by the configuration's key.
  struct KeyOf {
    const std::vector<StoredResult>* results;
    absl::string_view operator()(size_t position) const {
      return (*results)[position].config.Key();
    }
    absl::string_view operator()(absl::string_view key) const { return key; }
  };
  struct Hash : KeyOf {
    using is_transparent = void;
    template <typename T>
    size_t operator()(const T& entry) const {
      return absl::Hash<absl::string_view>()(KeyOf::operator()(entry));
    }
  };
  struct Equal : KeyOf {
    using is_transparent = void;
    template <typename A, typename B>
    bool operator()(const A& a, const B& b) const {
      return KeyOf::operator()(a) == KeyOf::operator()(b);
    }
  };

  std::vector<StoredResult> results_;
  absl::flat_hash_set<size_t, Hash, Equal> index_{0, Hash{{&results_}}, Equal{{&results_}}};
};

using OutcomeVisitor = absl::FunctionRef<void(absl::string_view, absl::string_view)>;

void ForEachOutcomeOfPostgres(soci::session& sql, const std::string& query, OutcomeVisitor visit) {
  constexpr size_t kBatchRows = 1024;
  std::vector<std::string> configs(kBatchRows), outcomes(kBatchRows);
  soci::statement select = (sql.prepare << query, soci::into(configs), soci::into(outcomes));
  select.execute();
  while (select.fetch()) {
    for (size_t i = 0; i < configs.size(); ++i) visit(configs[i], outcomes[i]);
    configs.resize(kBatchRows);
    outcomes.resize(kBatchRows);
  }
}

absl::string_view ColumnText(sqlite3_stmt* statement, int column) {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement, column));
  if (text == nullptr) return "";
  return {text, static_cast<size_t>(sqlite3_column_bytes(statement, column))};
}

void ForEachOutcomeOfSqlite(soci::session& sql, const std::string& query, OutcomeVisitor visit) {
  auto* connection = static_cast<sqlite3*>(StoreSession::SqliteHandle(sql));
  sqlite3_stmt* statement = nullptr;
  int result = sqlite3_prepare_v2(connection, query.c_str(), -1, &statement, nullptr);
  if (result == SQLITE_OK) {
    while ((result = sqlite3_step(statement)) == SQLITE_ROW) {
      visit(ColumnText(statement, 0), ColumnText(statement, 1));
    }
  }
  sqlite3_finalize(statement);
  if (result != SQLITE_DONE) StoreSession::ThrowSqliteError(sql, result);
}

// SQL after WHERE for what was measured under a matching context before a moment; empty if there is
// no such context.
std::string WhereMeasured(soci::session& sql, const MeasurementContext& context, VersionMatch match,
                          int64_t unix_micros) {
  const MeasurementContext wanted = CleanContext(context);
  std::vector<int64_t> ids;
  for (const auto& [id, stored] : ReadContexts(sql)) {
    if (Matches(stored, wanted, match)) ids.push_back(id);
  }
  if (ids.empty()) return "";
  std::string where = absl::StrCat("context IN (", absl::StrJoin(ids, ", "),
                                   ") AND fate = ", Quoted(FateName(Fate::kMeasured)));
  if (unix_micros != std::numeric_limits<int64_t>::max()) {
    absl::StrAppend(&where, " AND recorded < ", unix_micros);
  }
  return where;
}

}  // namespace

void ForEachOutcome(soci::session& sql, StoreLocation::Kind kind, const std::string& where,
                    const std::string& order, OutcomeVisitor visit) {
  const std::string query = absl::StrCat(
      "SELECT config, CASE WHEN failure = '' THEN samples"
      " ELSE '!' || failure || ':' || message END FROM candidates WHERE ",
      where, " ORDER BY ", order);
  if (kind == StoreLocation::Kind::kSqlite) return ForEachOutcomeOfSqlite(sql, query, visit);
  ForEachOutcomeOfPostgres(sql, query, visit);
}

absl::StatusOr<std::vector<StoredResult>> SqlRecordStore::LookupBefore(
    uint64_t kernel_fingerprint, const MeasurementContext& context, VersionMatch match,
    int64_t unix_micros) {
  ResultCollector collector;
  absl::Status status = session_->Read([&](soci::session& sql) {
    const std::string measured = WhereMeasured(sql, context, match, unix_micros);
    if (measured.empty()) return absl::OkStatus();
    absl::Status first_error;
    const std::string of_kernel =
        absl::StrCat("kernel = ", static_cast<int64_t>(kernel_fingerprint));
    long long records = 0;  // answered by the index alone
    sql << "SELECT COUNT(*) FROM candidates WHERE " << of_kernel, soci::into(records);
    collector.Reserve(records);
    const std::string where = absl::StrCat(of_kernel, " AND ", measured);
    ForEachOutcome(
        sql, session_->location().kind, where, "recorded, run, sequence",
        [&](absl::string_view key, absl::string_view outcome) {
          absl::Status error = collector.Add(key, outcome, context.source);
          if (error.ok() || !first_error.ok()) return;
          first_error = absl::DataLossError(absl::StrCat(
              "record store ", url(), ": a record of kernel ", FingerprintText(kernel_fingerprint),
              ", configuration ", key, ", is damaged: ", error.message(), kDamageAdvice));
        });
    return first_error;
  });
  if (!status.ok()) return status;
  return collector.Take();
}

absl::StatusOr<std::vector<uint64_t>> SqlRecordStore::MeasuredKernels(
    const MeasurementContext& context, VersionMatch match, int64_t unix_micros) {
  std::vector<uint64_t> kernels;
  absl::Status status = session_->Read([&](soci::session& sql) {
    const std::string where = WhereMeasured(sql, context, match, unix_micros);
    if (where.empty()) return absl::OkStatus();
    // From the few kernels to their candidates, whose index is by kernel.
    const std::string query = absl::StrCat(
        "SELECT fingerprint FROM kernels WHERE EXISTS (SELECT 1 FROM candidates"
        " WHERE candidates.kernel = kernels.fingerprint AND ",
        where, ")");
    long long kernel = 0;
    soci::statement select = (sql.prepare << query, soci::into(kernel));
    select.execute();
    while (select.fetch()) kernels.push_back(static_cast<uint64_t>(kernel));
    return absl::OkStatus();
  });
  if (!status.ok()) return status;
  std::sort(kernels.begin(), kernels.end());
  return kernels;
}

}  // namespace autotune
