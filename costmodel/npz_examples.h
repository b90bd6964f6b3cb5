#ifndef AUTOTUNE_COSTMODEL_NPZ_EXAMPLES_H_
#define AUTOTUNE_COSTMODEL_NPZ_EXAMPLES_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "costmodel/example.h"
#include "costmodel/features.h"

namespace autotune {

// The features of TpuGraphs' tile collection (Phothilimthana et al., NeurIPS 2023): 140 of a node
// and 24 of a configuration, which are read as they are. There is no analytical base.
const FeatureSchema& TpuGraphsTileSchema();

// A file of the form of TpuGraphs' tile collection, one kernel: `node_feat` (n, any), `node_opcode`
// (n), `edge_index` (m, 2) with edges from users to what they consume, `config_feat` (c, any),
// `config_runtime` and `config_runtime_normalizers` (c). The time to rank by is the quotient of the
// last two. `schema` says how many features there must be. If the kernel has more than
// `max_configs` configurations, evenly spaced ones are kept, read in parts: an array may be larger
// than the memory. The program is the file's name up to the first dot.
// InvalidArgument, naming file and array, for wrong shapes, opcodes or nodes that do not exist, and
// times that are not positive.
absl::StatusOr<KernelExample> ReadNpzExample(const std::string& path, const FeatureSchema& schema,
                                             int64_t max_configs);

// The same form, with the features that the example has; those of the kernel as a whole and the
// analytical model's log-seconds, where there are any, in two more arrays: `kernel_feat` and
// `config_base` (c), which ReadNpzExample needs where the schema has features of the kernel. Times
// are written as picoseconds, rounded, with normalizers of 1,000.
absl::Status WriteNpzExample(const KernelExample& example, const std::string& path);

}  // namespace autotune

#endif  // AUTOTUNE_COSTMODEL_NPZ_EXAMPLES_H_
