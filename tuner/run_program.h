#ifndef AUTOTUNE_TUNER_RUN_PROGRAM_H_
#define AUTOTUNE_TUNER_RUN_PROGRAM_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace autotune {

// How another program ended.
struct ProgramEnd {
  int exit_code = -1;  // -1 if it was killed
  std::string output;  // both of its outputs
};

// Runs another program, found on PATH, to its end, with nothing on its standard input. What it and
// what it leaves running print goes to the file `log`. `variables` ("NAME=value") come before those
// of this process. A program that is not done after `time_limit` is killed: DeadlineExceeded.
// NotFound if there is none that may be run, another code if it cannot be started. Not for our own
// code on what may crash it: that is WorkerProcess. Thread-safe.
absl::StatusOr<ProgramEnd> RunProgram(const std::vector<std::string>& arguments,
                                      const std::string& log,
                                      const std::vector<std::string>& variables = {},
                                      absl::Duration time_limit = absl::InfiniteDuration());

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_RUN_PROGRAM_H_
