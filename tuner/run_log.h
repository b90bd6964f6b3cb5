#ifndef AUTOTUNE_TUNER_RUN_LOG_H_
#define AUTOTUNE_TUNER_RUN_LOG_H_

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/container/btree_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "hardware/record_store.h"
#include "hlo/kernel.h"
#include "tuner/tuning_report.h"

namespace autotune {

// A result that costs nothing.
struct ReusedResult {
  Config config;
  Measurement measurement;
  int64_t sequence = -1;  // its number, if the run has recorded it as reused before
};

// A run that was interrupted, as its store holds it.
struct InterruptedRun {
  RunRecord run;
  std::vector<CandidateRecord> candidates;
  double device_seconds = 0;  // spent so far, real or simulated

  // How many measurements it spent.
  int64_t Measured() const;
};

// The device time that a run has spent, as RunLog keeps it beside the records: 0 for one that has
// measured nothing, or was written by a version that did not keep it.
absl::StatusOr<double> LoadDeviceSeconds(RecordStore& store, const std::string& run_id);

// A kernel and the key of one of its configurations.
using CandidateKey = std::pair<uint64_t, std::string>;

// What a record tells of a candidate of report kernel `kernel`; the clocks and the budget spent are
// not in it.
CandidateOutcome ToOutcome(const CandidateRecord& record, size_t kernel);

// The history of a run: every outcome goes to the record store before anyone else sees it. A
// resumed run follows the same course as before, because the search is deterministic; what it
// measures again is answered from the history of the interrupted one, so that it costs the backend
// nothing and ends where an unbroken run would have ended. Not thread-safe.
class RunLog {
 public:
  // `store` may be null: then nothing is kept. Does not own the store, which must outlive the log.
  // `match` says which results of other runs may be reused.
  RunLog(RecordStore* store, MeasurementContext context, VersionMatch match = VersionMatch::kStrict,
         std::optional<InterruptedRun> interrupted = std::nullopt);

  // Begins the run in the store (or goes on with the interrupted one) and keeps its kernels.
  absl::Status Begin(const RunRecord& run, absl::Span<const Kernel> kernels);

  // Results of the kernel that cost nothing: of the interrupted run, what it had reused; else
  // what the store holds from other runs. Counts hits and misses (a miss: nothing of the kernel).
  absl::StatusOr<std::vector<ReusedResult>> Reusable(const Kernel& kernel);

  // Of the reused results, how many were measured under other versions, flags or backends; 0 for a
  // strict match.
  int64_t loosely_reused() const { return loosely_reused_; }

  // A kernel of other programs with everything that was measured of it before this run began.
  struct OtherKernel {
    Kernel kernel;
    std::vector<StoredResult> results;
  };
  // Those of one of the `kinds` (Kernel::kind), by fingerprint, except `own`; what a model can
  // learn from. Empty without a store.
  absl::StatusOr<std::vector<OtherKernel>> OtherKernels(const std::set<std::string>& kinds,
                                                        absl::Span<const Kernel> own);

  // The result that the interrupted run measured for this candidate, each measurement once, with
  // its sequence number.
  std::optional<std::pair<int64_t, Measurement>> Replay(const Kernel& kernel, const Config& config);

  // Whether Replay would give a result.
  bool CanReplay(const Kernel& kernel, const Config& config) const;

  // What the interrupted run measured and Replay will not be asked for, because the resumed run
  // left its course (with another budget rounds are cut in another way): nothing as long as each of
  // `next`, the candidates that are to be answered now, is in the history; else everything that is
  // not in `next`, by sequence. Each measurement once, here or by Replay.
  std::vector<CandidateRecord> TakeLeftBehind(absl::Span<const CandidateKey> next);

  // Numbers and stores one measured outcome at once, while the rest of its round is still under
  // way; Append takes it in with its round. On failure it has no number: Append tries again where
  // that may help, and fails where the store is broken.
  absl::Status Store(CandidateOutcome& outcome, absl::Span<const Kernel> kernels);

  // Numbers the outcomes that have no number yet (sequence < 0), stores those with the device time
  // so far, and takes all of them into outcomes(). A candidate that the interrupted run
  // proposed keeps its record. Stores all or nothing; on failure takes none in.
  absl::Status Append(std::vector<CandidateOutcome> outcomes, absl::Span<const Kernel> kernels);

  absl::Status Finish(int64_t unix_micros, const std::string& outcome);

  const std::vector<CandidateOutcome>& outcomes() const { return outcomes_; }
  int64_t hits() const { return hits_; }
  int64_t misses() const { return misses_; }
  double store_seconds() const { return store_seconds_; }

 private:
  CandidateRecord ToRecord(const CandidateOutcome& outcome, const Kernel& kernel) const;

  RecordStore* store_;
  MeasurementContext context_;
  VersionMatch match_;
  std::optional<InterruptedRun> interrupted_;
  std::string run_id_;
  int64_t next_sequence_ = 0;
  // Positions in interrupted_->candidates of what was measured and not replayed, oldest first.
  absl::btree_map<CandidateKey, std::deque<size_t>> journal_;
  // The sequence numbers of what it proposed and did not measure.
  absl::btree_map<CandidateKey, int64_t> proposed_;
  std::vector<CandidateOutcome> outcomes_;
  absl::Status broken_;  // the store, while a round was under way
  int64_t hits_ = 0;
  int64_t misses_ = 0;
  int64_t loosely_reused_ = 0;
  int64_t begun_unix_micros_ = 0;
  double store_seconds_ = 0;
};

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_RUN_LOG_H_
