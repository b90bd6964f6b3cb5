#ifndef AUTOTUNE_HARDWARE_RECORD_TRANSFER_H_
#define AUTOTUNE_HARDWARE_RECORD_TRANSFER_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "hardware/npz_file.h"
#include "hardware/record_store.h"
#include "hardware/recording.h"

namespace autotune {

// What an import added; what the store had before does not count.
struct ImportCounts {
  int64_t runs = 0;
  int64_t kernels = 0;
  int64_t candidates = 0;
};

// Everything in a store as JSON lines, one object a line with a "record" member: first "store" with
// the version of the form, then each "run" followed by the kernels that it is the first to use
// ("kernel") and its candidates ("candidate"). Importing it into an empty store and exporting again
// gives the same bytes. Checkpoints are left out.
absl::StatusOr<std::string> ExportJsonLines(RecordStore& store);

// Adds what ExportJsonLines wrote; records that are there already stay as they are, so importing
// twice changes nothing. InvalidArgument, naming line and member, for anything else; what came
// before that line stays.
absl::StatusOr<ImportCounts> ImportJsonLines(RecordStore& store, absl::string_view text,
                                             const std::string& name);

// The candidates of all runs as comma-separated values (RFC 4180) with a header line, one row a
// candidate, the run's own values in the first row of each. Importing it into an empty store and
// exporting again gives the same bytes. Modules of kernels, checkpoints and runs without candidates
// are left out.
absl::StatusOr<std::string> ExportCsv(RecordStore& store);

// True if the text begins like what ExportCsv writes.
bool LooksLikeRecordCsv(absl::string_view text);

// Adds what ExportCsv wrote, as ImportJsonLines does. InvalidArgument, naming record and column,
// for anything else; what came before that record may stay.
absl::StatusOr<ImportCounts> ImportCsv(RecordStore& store, absl::string_view text,
                                       const std::string& name);

// Adds a recording as a finished run named `run_id`: every recorded configuration is a measured
// candidate, all at the time `unix_micros`. Where the store has that run, which an interrupted
// import left, it adds what is missing.
absl::StatusOr<ImportCounts> ImportRecording(RecordStore& store, const Recording& recording,
                                             const std::string& run_id, int64_t unix_micros);

// True for a file of TpuGraphs' tile collection: one kernel's graph, configurations and times.
bool IsTpuGraphsTileFile(const NpzReader& npz);

// Adds such a file as a finished run: each row is a measured candidate with its tile (or an opaque
// configuration, where the 24 features do not tell it) and its time on tpu-v3. The kernel is named
// by the fingerprint of its graph, since the file holds features of it and not its module: records
// commands find it, a run that tunes a program does not. InvalidArgument, naming file and array,
// for wrong shapes and for times that are none. `name` stands for the file in errors.
absl::StatusOr<ImportCounts> ImportTpuGraphsTiles(RecordStore& store, const NpzReader& npz,
                                                  const std::string& name,
                                                  const std::string& kernel_name,
                                                  const std::string& run_id, int64_t unix_micros);

// What MergeStore found.
struct MergeCounts {
  ImportCounts added;
  // Records that both stores hold with different content, "candidate 4 of run r-..."; the target's
  // stay.
  std::vector<std::string> differing;
};

// Adds everything of `from` to `into`: runs, kernels, candidates (checkpoints are left out). What
// is there already stays as it is; merging twice changes nothing. A run that went on or ended since
// the last merge is completed.
absl::StatusOr<MergeCounts> MergeStore(RecordStore& from, RecordStore& into);

// What was measured on a device as a recording: of every kernel whose module is stored, all results
// (loosely matched, see VersionMatch), in order of runs and candidates.
absl::StatusOr<Recording> ExportRecording(RecordStore& store, const MeasurementContext& context);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_RECORD_TRANSFER_H_
