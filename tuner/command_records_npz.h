#ifndef AUTOTUNE_TUNER_COMMAND_RECORDS_NPZ_H_
#define AUTOTUNE_TUNER_COMMAND_RECORDS_NPZ_H_

#include <ostream>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hardware/recording.h"

namespace autotune {

// Writes a file for each kernel, KERNEL-FINGERPRINT.npz, into a folder, which is made: arrays under
// the names of TpuGraphs' tile collection (node_feat, node_opcode, edge_index, config_feat,
// config_runtime, config_runtime_normalizers) with this project's features, and the records
// themselves as the bytes of a recording, `autotune_recording`. A kernel without tiles to describe
// has that one only. Equal records give equal files.
absl::Status ExportNpz(const Recording& recording, const std::string& folder, std::ostream& out);

// The recording in such a file. InvalidArgument for one without: TpuGraphs' own files hold features
// of a kernel and not the kernel, so nothing could be looked up under it. `name` stands for the
// file in errors.
absl::StatusOr<Recording> RecordingOfNpz(std::string bytes, const std::string& name);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_COMMAND_RECORDS_NPZ_H_
