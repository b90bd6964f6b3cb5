#ifndef AUTOTUNE_HARDWARE_RECORD_STORE_TABLES_H_
#define AUTOTUNE_HARDWARE_RECORD_STORE_TABLES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "absl/functional/function_ref.h"
#include "absl/strings/string_view.h"
#include "hardware/record_store.h"
#include "hardware/record_store_rows.h"
#include "hardware/record_store_session.h"
#include "soci/soci.h"

namespace autotune {

// Reading and writing the tables of a store inside a transaction. All of these throw
// soci::soci_error; StoreSession turns that into a status.

// A row of `candidates` with its stored checksum.
struct StoredCandidateRow {
  CandidateRow row;
  int64_t checksum = 0;
};

// A row of `runs` with its stored checksum.
struct StoredRun {
  RunRecord run;
  int64_t checksum = 0;
  bool IsDamaged() const { return RunChecksum(run) != checksum; }
};
// The runs that `where` (SQL after FROM runs) selects.
std::vector<StoredRun> ReadRuns(soci::session& sql, const std::string& where);
void InsertRun(soci::session& sql, const RunRecord& run);
// After a change of the run's row.
void StoreRunChecksum(soci::session& sql, const std::string& run_id);

// Contexts by id.
using ContextMap = std::map<int64_t, MeasurementContext>;
// All that fit their number; the numbers of the others go to `damaged`, which may be null.
ContextMap ReadContexts(soci::session& sql, std::vector<int64_t>* damaged = nullptr);
// Inserts those that are not there.
void InsertContexts(soci::session& sql, const std::vector<MeasurementContext>& contexts);

// Inserts rows; one whose (run, sequence) is there already is left as it is.
void InsertCandidates(soci::session& sql, const std::vector<CandidateRow>& rows);

// The first of the rows that is stored with other content, or null. REQUIRES: not empty.
const CandidateRow* FindDiffering(soci::session& sql, const std::vector<CandidateRow>& rows);

// Calls `visit` with each row that `where` (SQL after "WHERE", with literal values) selects, in
// `order` (SQL after "ORDER BY").
void ForEachCandidate(soci::session& sql, const std::string& where, const std::string& order,
                      const std::function<void(const StoredCandidateRow&)>& visit);

// Calls `visit` with the configuration's key and the outcome of each row that `where` selects, in
// `order`. The outcome is the samples, or "!" with the failure's name, ":" and its message: two
// columns instead of all, and for SQLite its own interface instead of SOCI's, which copies every
// text twice, make look-ups of many rows several times faster.
void ForEachOutcome(soci::session& sql, StoreLocation::Kind kind, const std::string& where,
                    const std::string& order,
                    absl::FunctionRef<void(absl::string_view, absl::string_view)> visit);

// Calls `visit` with each kernel that `where` (SQL after FROM kernels, with literal values)
// selects.
void ForEachKernel(soci::session& sql, const std::string& where,
                   const std::function<void(const KernelRow&)>& visit);

// What a message about damage ends with: how to go on.
inline constexpr char kDamageAdvice[] =
    "; `autotune records verify` names all that is damaged, `autotune records prune --damaged` "
    "takes it out";

// A text as an SQL literal.
std::string Quoted(absl::string_view text);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_RECORD_STORE_TABLES_H_
