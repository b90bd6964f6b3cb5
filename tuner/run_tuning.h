#ifndef AUTOTUNE_TUNER_RUN_TUNING_H_
#define AUTOTUNE_TUNER_RUN_TUNING_H_

#include <set>
#include <string>

#include "tuner/commands.h"
#include "tuner/tune_options.h"

namespace autotune {

// `autotune tune`: reads the program, chooses the backend, tunes, shows and writes the results.
// `given` names the options that the user typed. Returns the exit code.
int RunTuning(TuneOptions options, const std::set<std::string>& given, CommandContext& context);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_RUN_TUNING_H_
