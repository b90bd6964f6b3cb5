#ifndef AUTOTUNE_COSTMODEL_RECORDED_EXAMPLES_H_
#define AUTOTUNE_COSTMODEL_RECORDED_EXAMPLES_H_

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_set.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "costmodel/analytical_constants.h"
#include "costmodel/example.h"
#include "costmodel/example_store.h"
#include "hardware/recording.h"

namespace autotune {

// The program that a recording's file is of: its name without folders and without everything from
// the first dot on, so that "out/vgg16.v3.rec" and "vgg16.v5e.rec" stay on one side of a split.
std::string ProgramOfFile(const std::string& path);

// Analytical constants for each device ("tpu-v3"), as fitted on a data set.
using ConstantsByDevice = std::map<std::string, AnalyticalConstants>;

// One recorded kernel as an example. Configurations that failed, that are opaque or no tile of the
// kernel, and those that the analytical model holds impossible are left out. nullopt if fewer than
// two are left, or if the kernel has no tiles. InvalidArgument for a device that is not known.
absl::StatusOr<std::optional<KernelExample>> MakeExample(const RecordedKernel& recorded,
                                                         const std::string& program,
                                                         const std::string& device,
                                                         const AnalyticalConstants& constants);

// Which side of a split a program is on, the one that a network sees most of first.
enum class Side { kTraining, kValidation, kTest };
// "training" and so on.
absl::string_view SideName(Side side);
using ProgramSplit = std::map<std::string, Side>;

// Splits programs, in the order of their names, by `seed`: `validation_share` and `test_share` of
// them (each rounded, at least one where the share is positive and three or more are left).
// Programs in `test` are on the test side whatever the shares, and nothing else then is.
ProgramSplit SplitPrograms(const std::vector<std::string>& programs,
                           const absl::flat_hash_set<std::string>& test, double validation_share,
                           double test_share, uint64_t seed);

// Recorded data, read file after file: at most one recording is in memory at a time.
struct RecordedData {
  ProgramSplit split;
  ConstantsByDevice constants;
  // Of all configurations and times that went into training and validation.
  uint64_t fingerprint = 0;
  int64_t duplicates = 0;  // kernels that were left out because another side or program has them
};

// How to read.
struct RecordedDataOptions {
  // Programs by name; those of `files` that are missing here are for training.
  ProgramSplit split;
  // Use these instead of fitting some on the training programs.
  std::optional<ConstantsByDevice> constants;
  // Tiles of one kernel and kernels of one device that take part in the fit, at most.
  int64_t fit_tiles = 24;
  int64_t fit_kernels = 300;
  // Train on this share of the kernels, drawn by fingerprint: for learning curves.
  double training_share = 1;
  // Only recordings of this device ("tpu-v3") for training and validation, and for the test side;
  // empty for all. A device that nothing is trained on takes the constants of one that is.
  std::string training_device, test_device;
};

// Reads recordings of tiles into the stores of the three sides; each may be null. A kernel
// (fingerprint) that occurs in programs of several sides goes to the test side first, then to the
// validation side; within a side and device the first program has it. Constants are fitted on the
// training side alone.
absl::StatusOr<RecordedData> ReadRecordedData(absl::Span<const std::string> files,
                                              const RecordedDataOptions& options,
                                              ExampleStore* training, ExampleStore* validation,
                                              ExampleStore* test);

}  // namespace autotune

#endif  // AUTOTUNE_COSTMODEL_RECORDED_EXAMPLES_H_
