#ifndef AUTOTUNE_COSTMODEL_NPZ_DATA_H_
#define AUTOTUNE_COSTMODEL_NPZ_DATA_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "costmodel/example_store.h"
#include "costmodel/features.h"
#include "costmodel/recorded_examples.h"

namespace autotune {

// Which of the schemas that autotune knows a .npz file has: those of TpuGraphs' tile and layout
// collections, or that of our recordings as they are exported. InvalidArgument if it is none.
absl::StatusOr<const FeatureSchema*> DetectNpzSchema(const std::string& path);

// The side that a file's folder tells ("train/", "valid/" and "test/" as TpuGraphs has them, or
// "training/" and "validation/"), or nullopt.
std::optional<Side> SideOfFolder(const std::string& file);

// Reads .npz files (costmodel/npz_examples.h, costmodel/npz_layouts.h) one by one into the stores
// of the three sides, which may be null: any number of files of any size, with at most
// `max_configs` configurations of each. A file is on the side that its folder tells, else on that
// of its program in `split`, else for training. There are no constants: the files bring no
// analytical base of their own, or theirs. Errors name the file.
absl::StatusOr<RecordedData> ReadNpzData(absl::Span<const std::string> files,
                                         const FeatureSchema& schema, const ProgramSplit& split,
                                         int64_t max_configs, ExampleStore* training,
                                         ExampleStore* validation, ExampleStore* test);

}  // namespace autotune

#endif  // AUTOTUNE_COSTMODEL_NPZ_DATA_H_
