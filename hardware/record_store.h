#ifndef AUTOTUNE_HARDWARE_RECORD_STORE_H_
#define AUTOTUNE_HARDWARE_RECORD_STORE_H_

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hardware/config.h"
#include "hardware/measurement.h"
#include "hlo/kernel.h"

namespace autotune {

// What became of a candidate in a run.
enum class Fate {
  kProposed,  // proposed and ranked, not chosen for measuring
  kMeasured,  // sent to a backend; the measurement says what it gave, failures included
  kReused,    // answered from the store; cost no budget
};

// "proposed", "measured" or "reused"; stable.
absl::string_view FateName(Fate fate);
std::optional<Fate> FateFromName(absl::string_view name);

// What one cost model said of a candidate when it was proposed.
struct Prediction {
  std::string model;  // "analytical"
  double score = 0;   // in the model's unit, lower is better
  int64_t rank = 0;   // among the candidates of the same round, from 0
  friend bool operator==(const Prediction&, const Prediction&) = default;
};

// Under what a measurement was made: what must agree for two of them to be comparable.
struct MeasurementContext {
  std::string device;    // "tpu-v3"
  std::string backend;   // "replay", "aot", ...
  std::string versions;  // of compiler and libraries
  std::string flags;     // for the compiler
  TimeSource source = TimeSource::kHardware;
  friend bool operator==(const MeasurementContext&, const MeasurementContext&) = default;
};

// One candidate of one run with its fate. A plain value.
struct CandidateRecord {
  std::string run_id;
  // Position in the run, chosen by the writer: (run_id, sequence) identifies the record, and
  // appending the same record again changes nothing, which makes retries safe.
  int64_t sequence = 0;
  uint64_t kernel_fingerprint = 0;
  std::string kernel_name;
  MeasurementContext context;
  Config config{OpaqueConfig{}};
  Fate fate = Fate::kProposed;
  std::vector<Prediction> predictions;
  std::optional<Measurement> measurement;  // absent for kProposed
  bool is_default = false;                 // the compiler's own choice for the kernel
  int64_t unix_micros = 0;
};

// A run of the tuner. A plain value.
struct RunRecord {
  std::string id;       // unique; NewRunId() makes one
  std::string program;  // path or name
  std::string options_json;
  uint64_t seed = 0;
  int64_t started_unix_micros = 0;
  std::optional<int64_t> finished_unix_micros;
  std::string outcome;  // empty while it runs; "done", "interrupted", "failed: ..."
};

// What is known of one configuration: every sample that the store holds of it, or a failure.
struct StoredResult {
  Config config;
  Measurement measurement;
};

// How much of the context a look-up asks to agree. Kernel, device and time source always must.
enum class VersionMatch {
  kStrict,  // also backend, versions and flags: the times are comparable to the last digit
  kLoose,   // nothing else: good for a warm start, to be confirmed
};

// "strict" or "loose"; stable.
absl::string_view VersionMatchName(VersionMatch match);
std::optional<VersionMatch> VersionMatchFromName(absl::string_view name);

// A damaged record found by Verify.
struct DamagedRecord {
  std::string where;  // "candidate 17 (run r-..., sequence 4)"
  std::string what;
};

// How much a store holds.
struct StoreTotals {
  int64_t runs = 0;
  int64_t kernels = 0;
  int64_t candidates = 0;
  int64_t measured = 0;
};

// What Prune takes out of a store.
struct PruneRequest {
  // Their candidates; NotFound if one of them is not stored.
  std::vector<std::string> runs;
  // True: the runs stay, with all that was measured or reused; only candidates that were proposed
  // and never measured go.
  bool proposed_only = false;
  // Instead of these, everything that Verify names. A run whose own row is damaged or lost stays,
  // with kMendedOutcome: its candidates that are well are kept. DataLoss if the database file
  // itself is damaged. REQUIRES: no runs, not proposed_only.
  bool damaged = false;
  // Count, and change nothing.
  bool dry_run = false;
};

// The outcome of a run whose own row was damaged or lost; its other members may be wrong.
inline constexpr char kMendedOutcome[] = "mended: its own record was damaged";

// What Prune took out.
struct PruneCounts {
  int64_t runs = 0;
  int64_t kernels = 0;
  int64_t candidates = 0;
  // Of a request for what is damaged: what was, and how many runs stay with kMendedOutcome.
  std::vector<DamagedRecord> damaged;
  int64_t mended_runs = 0;
};

// How to open a store.
struct RecordStoreOptions {
  // How long a call waits for other writers before it gives up with Unavailable.
  int64_t busy_timeout_ms = 30'000;
};

// The durable, append-only history of everything proposed and measured, in an SQLite file or a
// PostgreSQL database. What Append acknowledged survives the death of the process at any moment
// and, on a disk that honours syncs, of the machine. Any number of processes and threads may write
// at once. Thread-safe (one connection, one statement at a time).
//
// Errors: Unavailable for a locked or lost database and ResourceExhausted for a full disk (nothing
// of the call was stored: try again), DataLoss for a damaged database, InvalidArgument for a wrong
// URL, FailedPrecondition for a schema newer than this program.
class RecordStore {
 public:
  virtual ~RecordStore() = default;

  // "sqlite:PATH" (made if missing, together with its tables) or "postgresql://USER@HOST/DB", whose
  // password comes from PGPASSWORD or ~/.pgpass and is refused inside the URL. An older schema is
  // migrated.
  static absl::StatusOr<std::unique_ptr<RecordStore>> Open(const std::string& url,
                                                           const RecordStoreOptions& options = {});

  // The URL that was opened.
  virtual const std::string& url() const = 0;

  // Begins a run. AlreadyExists if the id was used.
  virtual absl::Status BeginRun(const RunRecord& run) = 0;
  virtual absl::Status FinishRun(const std::string& run_id, int64_t finished_unix_micros,
                                 const std::string& outcome) = 0;
  // NotFound if there is none.
  virtual absl::StatusOr<RunRecord> GetRun(const std::string& run_id) = 0;
  // By start time, then id.
  virtual absl::StatusOr<std::vector<RunRecord>> ListRuns() = 0;

  // Keeps the kernel's module, so that records can be used without the program. Storing a
  // fingerprint again changes nothing.
  virtual absl::Status PutKernels(absl::Span<const Kernel> kernels) = 0;
  // NotFound if the kernel's module is not stored.
  virtual absl::StatusOr<Kernel> GetKernel(uint64_t fingerprint) = 0;

  // Stores all of the records, and `checkpoint` as the run's newest one if it is given, or nothing
  // at all. REQUIRES: with a checkpoint, all records are of one run. The run must have begun
  // (NotFound). A record that is stored already is left as it is; one that is stored with other
  // content is AlreadyExists, naming it: two results under one name are a mistake that must show.
  virtual absl::Status Append(absl::Span<const CandidateRecord> records,
                              std::optional<std::string> checkpoint = std::nullopt) = 0;

  // The newest checkpoint of a run, any bytes; NotFound if there is none.
  virtual absl::StatusOr<std::string> LoadCheckpoint(const std::string& run_id) = 0;

  // One result per configuration of the kernel that was measured (by any run), in order of first
  // record (time, then run, then sequence); samples in the same order. Reused results are not
  // counted again, and answers "not recorded" are no results.
  absl::StatusOr<std::vector<StoredResult>> Lookup(uint64_t kernel_fingerprint,
                                                   const MeasurementContext& context,
                                                   VersionMatch match) {
    return LookupBefore(kernel_fingerprint, context, match, std::numeric_limits<int64_t>::max());
  }
  // The same of what was recorded before a moment: the answer stays the same however the store
  // grows.
  virtual absl::StatusOr<std::vector<StoredResult>> LookupBefore(uint64_t kernel_fingerprint,
                                                                 const MeasurementContext& context,
                                                                 VersionMatch match,
                                                                 int64_t unix_micros) = 0;

  // The fingerprints of all kernels whose module is stored and that were measured so, in ascending
  // order.
  virtual absl::StatusOr<std::vector<uint64_t>> MeasuredKernels(const MeasurementContext& context,
                                                                VersionMatch match,
                                                                int64_t unix_micros) = 0;

  // Every candidate of a run by sequence.
  virtual absl::StatusOr<std::vector<CandidateRecord>> RunCandidates(const std::string& run_id) = 0;

  virtual absl::StatusOr<StoreTotals> Totals() = 0;

  // Reads everything and names what is damaged; empty if all is well.
  virtual absl::StatusOr<std::vector<DamagedRecord>> Verify() = 0;

  // Takes runs (or what they only proposed) out of the history, with kernels that no candidate
  // refers to any more, and gives the space back to the disk. The one way in which records go.
  virtual absl::StatusOr<PruneCounts> Prune(const PruneRequest& request) = 0;
};

// A new run id: sorts by time, unique on all hosts ("20261129-163000-4f2a9c81d0b3").
std::string NewRunId();

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_RECORD_STORE_H_
