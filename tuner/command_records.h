#ifndef AUTOTUNE_TUNER_COMMAND_RECORDS_H_
#define AUTOTUNE_TUNER_COMMAND_RECORDS_H_

#include <ostream>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "hardware/record_store.h"

namespace autotune {

// The options of `autotune records`. Data only.
struct RecordsOptions {
  std::string store;
  std::string run;                  // show
  std::string form = "jsonl";       // export: jsonl, csv or recording
  std::string out;                  // export; "-" is standard output
  std::string device;               // export of a recording: of which device
  std::string source = "hardware";  // and whether hardware times or estimates
  std::vector<std::string> files;   // import
  bool json = false;
};

// `autotune records export`: the whole store as JSON lines or CSV, or what was measured on one
// device as a recording. Statuses carry their exit code.
absl::Status ExportRecords(RecordStore& store, const RecordsOptions& options, std::ostream& out);

// `autotune records import`: adds JSON lines and recordings, told apart by content; importing a
// file again changes nothing.
absl::Status ImportRecords(RecordStore& store, const RecordsOptions& options, std::ostream& out);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_COMMAND_RECORDS_H_
