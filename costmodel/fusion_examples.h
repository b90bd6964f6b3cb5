#ifndef AUTOTUNE_COSTMODEL_FUSION_EXAMPLES_H_
#define AUTOTUNE_COSTMODEL_FUSION_EXAMPLES_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "costmodel/example.h"
#include "costmodel/example_store.h"
#include "costmodel/recorded_examples.h"
#include "hardware/fusion_recording.h"
#include "hlo/fusion_graph.h"
#include "hlo/fusion_group.h"

namespace autotune {

// A kernel of a fusion recording.
struct FusionRecordedGroup {
  FusionGroup group;
  uint64_t fingerprint = 0;  // of the compiled kernel; 0 where it was not recorded
  int64_t executions = 1;
  double seconds = 0;  // of one execution, by the primary estimate
  int64_t entry = 0;   // the first compilation that it occurs in
};

// The kernels of a recording, in the order in which they came up; those of no operation and those
// without a time are left out. REQUIRES: the recording is of the graph.
std::vector<FusionRecordedGroup> RecordedGroups(const FusionGraph& graph,
                                                const FusionRecording& recording);

// A program before optimisation and a recording of it.
struct FusionPair {
  std::string program;
  std::string recording;
};

// The pairs NAME.hlo, NAME.jsonl.gz of a folder, by name; none if it is no folder.
std::vector<FusionPair> FusionPairsOf(const std::string& folder);

// Reads the graph and the recording of a pair. InvalidArgument if they do not belong together.
struct FusionData {
  FusionGraph graph;
  FusionRecording recording;
};
absl::StatusOr<FusionData> ReadFusionPair(const FusionPair& pair);

// Examples of the fusion task (FusionFeatureSchema): one a distinct kernel, with one configuration,
// whose base is the roofline's log-seconds and whose target the recorded ones. A kernel
// (fingerprint) that occurs on several sides goes to the test side first, then to the validation
// side; within a side the first program has it. Stores may be null.
absl::StatusOr<RecordedData> ReadFusionData(absl::Span<const FusionPair> pairs,
                                            const ProgramSplit& split, ExampleStore* training,
                                            ExampleStore* validation, ExampleStore* test);

}  // namespace autotune

#endif  // AUTOTUNE_COSTMODEL_FUSION_EXAMPLES_H_
