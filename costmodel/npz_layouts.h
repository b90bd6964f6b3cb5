#ifndef AUTOTUNE_COSTMODEL_NPZ_LAYOUTS_H_
#define AUTOTUNE_COSTMODEL_NPZ_LAYOUTS_H_

#include <cstdint>
#include <string>

#include "absl/status/statusor.h"
#include "costmodel/example.h"
#include "costmodel/features.h"
#include "costmodel/trainer.h"

namespace autotune {

// The features of TpuGraphs' layout collection (Phothilimthana et al., NeurIPS 2023): 140 of a
// node, and 18 of a node that layouts were chosen for, which are read as they are.
const FeatureSchema& TpuGraphsLayoutSchema();

// Whether a file is of the layout collection, by the names of its arrays; false also for what is
// no .npz file.
bool IsNpzLayouts(const std::string& path);

// A file of the form of TpuGraphs' layout collection, one program: the graph as in its tile
// collection (costmodel/npz_examples.h), `node_config_ids` (nc), the nodes that layouts are chosen
// for, `node_config_feat` (c, nc, 18) and `config_runtime` (c). `node_splits`, a proposal how to
// cut the graph, is not needed. Of more than `max_configs` configurations evenly spaced ones are
// kept, fewer if they would take more than 64 MiB; arrays are read in parts. The base of each is
// the mean log time of those that are kept: only how they differ can be learned, not how long the
// program takes. The program is the file's name up to the first dot.
// InvalidArgument, naming file and array, for wrong shapes, opcodes or nodes that do not exist or
// are named twice, values that are no numbers and times that are not positive.
absl::StatusOr<KernelExample> ReadNpzLayouts(const std::string& path, int64_t max_configs);

// How networks of the layout task are trained unless something else is asked for: the
// configuration joins early, at its nodes, and a step takes one program with a few configurations,
// because graphs of thousands of nodes are encoded once for each.
TrainerOptions LayoutTrainerOptions();

}  // namespace autotune

#endif  // AUTOTUNE_COSTMODEL_NPZ_LAYOUTS_H_
