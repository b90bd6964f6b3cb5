#ifndef AUTOTUNE_TUNER_FUSION_COMPARE_H_
#define AUTOTUNE_TUNER_FUSION_COMPARE_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "tuner/commands.h"

namespace autotune {

// What `autotune compare` was asked of fusion recordings.
struct FusionCompareOptions {
  std::string program;                  // or a folder
  std::vector<std::string> recordings;  // of the program; none for a folder
  std::string methods;                  // ParseFusionMethods
  int64_t seeds = 5;
  uint64_t first_seed = 1;
  // Compilations of a run at most: the budgets are those of FusionStudyOptions below it, and it.
  std::optional<int64_t> max_evaluations;
  bool json = false;
};

// Whether the input is one for CompareFusionMethods: a folder that holds NAME.jsonl.gz beside
// NAME.hlo, or a program with one recording, which is a fusion recording.
bool ComparesFusions(const std::string& program, const std::vector<std::string>& recordings);

// Replays every method on every recording and prints the tables. Returns the exit code.
int CompareFusionMethods(const FusionCompareOptions& options, CommandContext& context);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_FUSION_COMPARE_H_
