#ifndef AUTOTUNE_TUNER_OUTPUT_FILES_H_
#define AUTOTUNE_TUNER_OUTPUT_FILES_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"

namespace autotune {

// Where a command writes to. Errors name the path and say what the system said.

// Makes the folder with its parents; it may exist. Fails if it cannot be written to.
absl::Status MakeOutputDirectory(const std::string& path);

// A folder for a run that has none given: "autotune-runs/20261129-163000-alexnet", with "-2" and so
// on behind it if there is one already. `program` is the program's path, `unix_micros` the start of
// the run, shown in local time.
std::string NewRunDirectory(const std::string& program, int64_t unix_micros);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_OUTPUT_FILES_H_
