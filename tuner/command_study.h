#ifndef AUTOTUNE_TUNER_COMMAND_STUDY_H_
#define AUTOTUNE_TUNER_COMMAND_STUDY_H_

#include <memory>
#include <string>
#include <vector>

#include "tuner/commands.h"

namespace autotune {

// The options of `autotune evaluate` that train models and judge them, instead of judging trained
// ones.
struct StudyCommandOptions {
  bool random = false, unseen = false, transfer = false, curve = false, ablation = false;
  std::string families;  // a JSON file; empty for the built-in ones
  std::string config;    // hyper-parameters, a JSON file
  std::string out;       // OUT.md and OUT.json; empty for none
  std::string export_to;
  std::vector<int64_t> curve_configs;
  int64_t seeds = 3;
  double test_share = 0.25;
  double validation_share = 0.15;

  bool wanted() const {
    return random || unseen || transfer || curve || ablation || !curve_configs.empty();
  }
};

// Declares them on `command`.
void AddStudyOptions(CLI::App& command, StudyCommandOptions& options);

// Runs the studies that are wanted, one after another, on recordings or folders of them. Returns
// the exit code.
int RunStudies(const StudyCommandOptions& options, const std::vector<std::string>& data,
               int64_t jobs, int64_t bootstrap, bool json, CommandContext& context);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_COMMAND_STUDY_H_
