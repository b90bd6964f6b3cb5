#ifndef AUTOTUNE_TUNER_TRAINING_FILES_H_
#define AUTOTUNE_TUNER_TRAINING_FILES_H_

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "costmodel/fusion_examples.h"
#include "costmodel/trainer.h"
#include "nlohmann/json.hpp"

namespace autotune {

// Files as they are, and of each folder all that end in .rec or .pb, in the order of their names;
// of one without any all that end in .npz, those of its folders too; InvalidArgument for one with
// both. A file that is named twice, whatever its path, comes once. Errors carry their exit code:
// NotFound for a path that is not there and for a folder without one.
absl::StatusOr<std::vector<std::string>> ExpandDataFiles(absl::Span<const std::string> paths);

// InvalidArgument for what is no JSON; errors carry their exit code.
absl::StatusOr<nlohmann::json> ReadJsonFile(const std::string& path);

// Hyper-parameters from a file as `--config` takes it: those that it names, or the options of a
// whole training.json of the same task. An empty path changes nothing. Errors name the file and
// carry their exit code.
absl::Status ReadTrainerConfig(const std::string& path, const std::string& task,
                               TrainerOptions* options);

// Of each folder the programs NAME.hlo with recordings of their fusions; none is no error, a folder
// that is not there is: NotFound, with its exit code.
absl::StatusOr<std::vector<FusionPair>> ExpandFusionFolders(absl::Span<const std::string> folders);

// Whether a file is one of TpuGraphs' form rather than a recording, by its name.
bool IsNpzFile(const std::string& path);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_TRAINING_FILES_H_
