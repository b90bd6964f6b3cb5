#ifndef AUTOTUNE_TUNER_FUSION_RECORD_H_
#define AUTOTUNE_TUNER_FUSION_RECORD_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "tuner/commands.h"

namespace autotune {

// What `autotune record --space fusion` compiles.
struct FusionRecordOptions {
  std::string program;
  std::string target;
  // The recording. Ends it in ".gz", the file without that grows while the sweep runs and is
  // compressed at its end.
  std::string out;
  int64_t sample = 200;         // configurations (NextToRecord)
  std::optional<int64_t> cuts;  // all configurations of at most so many cuts instead
  uint64_t seed = 1;
  double timeout_seconds = 120;  // of one compilation
  bool quiet = false;
};

// Records fusion configurations of a program before optimisation. Goes on where an earlier call
// with the same `out` stopped; ends early, without an error, when the user interrupts. Prints what
// the recording then holds. Errors carry exit codes.
absl::Status RecordFusionSweep(const FusionRecordOptions& options, CommandContext& context);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_FUSION_RECORD_H_
