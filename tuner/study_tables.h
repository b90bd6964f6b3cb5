#ifndef AUTOTUNE_TUNER_STUDY_TABLES_H_
#define AUTOTUNE_TUNER_STUDY_TABLES_H_

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "costmodel/trainer.h"
#include "nlohmann/json.hpp"

namespace autotune {

// What a study of learned models compares.
enum class StudyKind {
  kRandom,    // programs drawn at random are held out, once for each seed
  kUnseen,    // families of programs are held out, one after another
  kTransfer,  // training on one device, judging on another
  kCurve,     // training on a part: of the kernels, or of the configurations of all kernels
  kAblation,  // the method's parts changed one by one
};

// Programs by what kind of network they are; a program of none of them is of the family "others".
using ProgramFamilies = std::map<std::string, std::vector<std::string>>;

struct StudyOptions {
  StudyKind kind = StudyKind::kRandom;
  std::vector<std::string> files;  // recordings
  TrainerOptions trainer;          // the network's seed is replaced
  int64_t seeds = 3;               // 1, 2, ..., each of a split and of a network
  double test_share = 0.25;        // of the programs
  double validation_share = 0.15;
  // Points of kCurve, in configurations; empty: a quarter, a half and all of the kernels.
  std::vector<int64_t> curve_configs;
  ProgramFamilies families;  // of kUnseen
  std::string scratch;       // a folder for the examples
  int64_t memory_bytes = int64_t{512} << 20;
  int64_t bootstrap = 1000;
  // A folder that the examples of every split are written to, as .npz (costmodel/npz_examples.h):
  // EXPORT/SPLIT/SIDE/NUMBER.npz. Empty for none.
  std::string export_to;
  // Told about every training that is done; may be empty.
  std::function<void(const std::string&)> progress;
};

// Trains and judges. The document has a row for each case, with the medians over seeds of the
// learned model and of the analytical one (fitted on the same training sides), the value of every
// seed, and 95 % of bootstrap samples over the kernels of all seeds together. The same options give
// the same figures, times apart.
absl::StatusOr<nlohmann::json> RunModelStudy(const StudyOptions& options);

// The document as a Markdown table.
std::string StudyToMarkdown(const nlohmann::json& study);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_STUDY_TABLES_H_
