#ifndef AUTOTUNE_HARDWARE_RECORD_IMPORTER_H_
#define AUTOTUNE_HARDWARE_RECORD_IMPORTER_H_

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hardware/record_store.h"
#include "hardware/record_transfer.h"

namespace autotune {

// The time that an import without times of its own gives its records: that of the run, if an
// earlier import began it, else `unix_micros`.
absl::StatusOr<int64_t> TimeOfImport(RecordStore& store, const std::string& run_id,
                                     int64_t unix_micros);

// Adds records from a file to a store, in batches since a transaction for every record would be
// slow, and counts those that were not there. What an earlier import left undone is completed. Not
// thread-safe; the store must outlive it.
class RecordImporter {
 public:
  explicit RecordImporter(RecordStore& store) : store_(store) {}

  // Begins the run; one that the store has stays, and ends as `run` does if that is later.
  // InvalidArgument for a run without a name.
  absl::Status AddRun(const RunRecord& run);

  absl::Status AddKernel(const Kernel& kernel);

  // InvalidArgument if its run has not begun, or for a record that no run can have made.
  // AlreadyExists, now or from a later call, if the store holds it with another content.
  absl::Status AddCandidate(CandidateRecord record);

  // Stores what waits. REQUIRES: called at the end.
  absl::Status Flush();

  const ImportCounts& counts() const { return counts_; }

 private:
  // The numbers of the candidates that the store had of the run before this import.
  absl::StatusOr<const std::set<int64_t>*> KnownOf(const std::string& run_id);
  absl::Status FinishKnownRun(const RunRecord& run);

  RecordStore& store_;
  std::vector<CandidateRecord> waiting_;
  std::map<std::string, std::set<int64_t>> known_;
  ImportCounts counts_;
};

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_RECORD_IMPORTER_H_
