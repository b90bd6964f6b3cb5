#ifndef AUTOTUNE_TUNER_TUNE_OPTIONS_H_
#define AUTOTUNE_TUNER_TUNE_OPTIONS_H_

#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "nlohmann/json_fwd.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace autotune {

// The options of `autotune tune`, as typed. Data only.
struct TuneOptions {
  std::string program;                     // the first PROGRAM
  std::vector<std::string> more_programs;  // the others, tuned together with it
  std::string backend;                     // empty: chosen
  std::vector<std::string> recordings;     // paths
  std::string plugin;                      // path of a PJRT plugin; empty: libtpu
  std::string target;                      // "tpu-v3"; empty: the recording's or the program's
  std::string
      space;  // "tile", "layout", "fusion", "tile+fusion"; empty: what is recorded, else tile
  std::string strategy;  // empty: the default with or without a model
  std::string model;     // empty: learned where it can be had for the device, else analytical
  int64_t top_k = 4;
  uint64_t seed = 0;
  std::optional<int64_t> budget;
  std::optional<double> budget_seconds;
  double compile_seconds = 1.0;
  int64_t repeats = 10;
  double timeout_seconds = 120;  // of one candidate, compiling included
  int64_t jobs = 0;              // 0: as many as there are cores
  std::string store;             // URL; empty: OUT/records.db
  std::string match = "strict";  // which results of other runs count: strict or loose
  std::string out;               // folder; empty: a new one
  bool json = false;
  bool quiet = false;
  bool resume = false;
};

// Budget without --budget and --budget-seconds.
inline constexpr int64_t kDefaultBudget = 100;
// Strategy without --strategy, where there is a model; without one it is kBlindStrategy.
inline constexpr char kDefaultStrategy[] = "model-greedy";

// All programs, as given.
std::vector<std::string> ProgramsOf(const TuneOptions& options);

// Whether one of them is standard input, which nobody can read a second time.
bool ReadsStandardInput(const TuneOptions& options);

// Adds the options to a command, bound to `options`.
void AddTuneOptions(CLI::App& command, TuneOptions& options);

// The names of those options that were given on the command line ("--budget").
std::set<std::string> GivenOptions(const CLI::App& command);

// Makes the paths of program, recordings, a model's folder and an SQLite store absolute, so that
// the options mean the same in every folder. "-" (standard input), an empty path and other URLs
// stay.
void MakePathsAbsolute(TuneOptions& options);

// What a resumed run needs to take the same course: everything but `json`, `quiet`, `out` and
// `resume`.
nlohmann::json OptionsToJson(const TuneOptions& options);

// Takes every option that is not in `given` from what OptionsToJson wrote. FailedPrecondition,
// naming the option, for one that is given and differs where a resumed run must not: all but the
// budget. InvalidArgument for a document that OptionsToJson did not write.
absl::Status TakeStoredOptions(const std::string& json, const std::set<std::string>& given,
                               TuneOptions& options);

// Checks values and combinations; InvalidArgument names the option. Fills in the default budget.
absl::Status FinishTuneOptions(TuneOptions& options);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_TUNE_OPTIONS_H_
