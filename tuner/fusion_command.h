#ifndef AUTOTUNE_TUNER_FUSION_COMMAND_H_
#define AUTOTUNE_TUNER_FUSION_COMMAND_H_

#include <set>
#include <string>

#include "tuner/commands.h"
#include "tuner/tune_options.h"

namespace autotune {

// `autotune tune --space fusion` (and the first half of `tile+fusion`): searches the fusion of a
// program before optimisation, live with the ahead-of-time compiler or in a fusion recording
// (--recording). Writes OUT/fusion.jsonl (everything compiled; a run into the same folder goes on
// from it), best.json, tuned.hlo and report.json, and prints a report. Returns the exit code.
//
// `tile+fusion` spends half of the budget so and the rest on the tiles of tuned.hlo, whose run lies
// in OUT/tiles; best.json then holds both. Without --model the model learns from every compilation;
// `--model analytical` keeps it as it is.
//
// REQUIRES: the options are finished (FinishTuneOptions), the space is one of the two. `given`: see
// GivenOptions.
int RunFusionTuning(const TuneOptions& options, const std::set<std::string>& given,
                    CommandContext& context);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_FUSION_COMMAND_H_
