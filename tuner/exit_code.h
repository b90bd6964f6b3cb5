#ifndef AUTOTUNE_TUNER_EXIT_CODE_H_
#define AUTOTUNE_TUNER_EXIT_CODE_H_

namespace autotune {

// How the command ends. Scripts rely on these numbers.
enum ExitCode : int {
  kExitDone = 0,
  kExitNothingMeasured = 1,  // finished, but nothing could be measured
  kExitWrongUse = 2,         // options or arguments that make no sense
  kExitBadInput = 3,         // a file that is missing, damaged or of the wrong kind
  kExitBroken = 4,           // a backend, the record store or the disk failed
  kExitInterrupted = 130,    // stopped by the user; can be resumed
};

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_EXIT_CODE_H_
