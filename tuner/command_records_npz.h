#ifndef AUTOTUNE_TUNER_COMMAND_RECORDS_NPZ_H_
#define AUTOTUNE_TUNER_COMMAND_RECORDS_NPZ_H_

#include <cstdint>
#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hardware/record_store.h"
#include "hardware/record_transfer.h"
#include "hardware/recording.h"

namespace autotune {

// Writes a file for each kernel, KERNEL-FINGERPRINT.npz, into a folder, which is made: arrays under
// the names of TpuGraphs' tile collection (node_feat, node_opcode, edge_index, config_feat,
// config_runtime, config_runtime_normalizers) with this project's features, and the records
// themselves as the bytes of a recording, `autotune_recording`. A kernel without tiles to describe
// has that one only. Equal records give equal files.
absl::Status ExportNpz(const Recording& recording, const std::string& folder, std::ostream& out);

// Adds such a file, or one of TpuGraphs' own tile collection (see ImportTpuGraphsTiles), as the run
// `run_id`. InvalidArgument for any other. `path` names the kernel of a file that does not.
absl::StatusOr<ImportCounts> ImportNpz(RecordStore& store, std::string bytes,
                                       const std::string& path, const std::string& run_id,
                                       int64_t unix_micros);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_COMMAND_RECORDS_NPZ_H_
