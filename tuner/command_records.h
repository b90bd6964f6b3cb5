#ifndef AUTOTUNE_TUNER_COMMAND_RECORDS_H_
#define AUTOTUNE_TUNER_COMMAND_RECORDS_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hardware/record_store.h"
#include "hardware/record_transfer.h"

namespace autotune {

// The options of `autotune records`. Data only.
struct RecordsOptions {
  std::string store;
  std::string run;                         // show
  std::string form = "jsonl";              // export: jsonl, csv, recording, pb or npz
  std::string out;                         // export; "-" is standard output
  std::string device;                      // export of a recording: of which device
  std::string source = "hardware";         // and whether hardware times or estimates
  std::vector<std::string> files;          // import; merge: URLs of stores
  std::vector<std::string> runs;           // prune: these
  std::optional<int64_t> older_than_days;  // prune: runs that started earlier
  bool proposed_only = false;              // prune: only what was never measured
  bool damaged = false;                    // prune: what verify names
  bool dry_run = false;                    // prune
  bool json = false;
};

// "1 run, 2 kernels, 3 candidates".
std::string CountsText(const ImportCounts& counts);

// Opens a store that must be there: opening would make an empty one.
absl::StatusOr<std::unique_ptr<RecordStore>> OpenExistingStore(const std::string& url);

// `autotune records merge`: adds other stores. Records that both hold with different content are
// named, and make it fail in the end.
absl::Status MergeRecords(RecordStore& store, const RecordsOptions& options, std::ostream& out);

// `autotune records prune`: takes runs, what they only proposed, or what is damaged out of the
// store.
absl::Status PruneRecords(RecordStore& store, const RecordsOptions& options, std::ostream& out);

// `autotune records export`: the whole store as JSON lines or CSV, or what was measured on one
// device as a recording, in the project's own form or TpuGraphs'. Statuses carry their exit code.
absl::Status ExportRecords(RecordStore& store, const RecordsOptions& options, std::ostream& out);

// `autotune records import`: adds JSON lines, CSV, recordings and .npz, told apart by content;
// importing a file again changes nothing.
absl::Status ImportRecords(RecordStore& store, const RecordsOptions& options, std::ostream& out);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_COMMAND_RECORDS_H_
