#ifndef AUTOTUNE_TUNER_COMMAND_STATUS_H_
#define AUTOTUNE_TUNER_COMMAND_STATUS_H_

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "tuner/exit_code.h"

namespace autotune {

// The same status, with the exit code that a command ends with because of it. An OK status stays
// OK.
absl::Status WithExitCode(ExitCode code, const absl::Status& status);

// InvalidArgument that ends the command with kExitWrongUse: the options are wrong.
absl::Status WrongUse(absl::string_view message);
// The same with kExitBadInput: a file is.
absl::Status BadInput(absl::string_view message);

// The same status for a failure over what the user gave: kExitBroken where it was the machine that
// failed (a library that is missing, a full disk), else kExitBadInput. A code that was given before
// stays.
absl::Status WithInputExitCode(const absl::Status& status);

// The code given by WithExitCode; kExitBroken for any other failure, kExitDone for OK.
ExitCode ExitCodeOf(const absl::Status& status);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_COMMAND_STATUS_H_
