#ifndef AUTOTUNE_TUNER_FUSION_EVALUATE_H_
#define AUTOTUNE_TUNER_FUSION_EVALUATE_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/types/span.h"
#include "costmodel/fusion_examples.h"
#include "costmodel/network.h"
#include "nlohmann/json_fwd.hpp"

namespace autotune {

// How well kernels' absolute times are predicted that take at least 5 us, each distinct one once.
struct FusionQuality {
  double mape = 0;  // per cent
  double median_ape = 0;
  double kendall_tau = 0;  // over all of a program's kernels; over all programs their mean
  int64_t kernels = 0;
};

// A model on one program, with more and more of it known: before any compilation, after that of the
// default, after twenty. Only kernels that did not occur by then are judged.
struct FusionProgramQuality {
  std::string program;
  std::string model;                   // "roofline" or "learned"
  std::vector<FusionQuality> quality;  // by kFusionKnown
};
// Compilations that are known.
inline constexpr int64_t kFusionKnown[] = {0, 1, 20};

// Judges the roofline and, where `network` is not null, a network on one recording. What is known
// of the program corrects the rest (FusionOverlapModel).
absl::StatusOr<std::vector<FusionProgramQuality>> AssessFusionModels(const FusionPair& pair,
                                                                     const Network* network);

// Cross-validation by program, in at most kFusionFolds folds: each program is judged by a network
// that was trained on those of the other folds, for each of `seeds` seeds. Quality is the median
// over seeds. Rows are in the order of `pairs`.
inline constexpr size_t kFusionFolds = 10;
absl::StatusOr<std::vector<FusionProgramQuality>> CrossValidateFusion(
    absl::Span<const FusionPair> pairs, int64_t seeds, int jobs, const std::string& scratch);

// A table, the last rows over all programs (kernels weighed alike; tau the programs' mean).
std::string FusionQualityText(const std::vector<FusionProgramQuality>& qualities);
nlohmann::json FusionQualityJson(const std::vector<FusionProgramQuality>& qualities);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_FUSION_EVALUATE_H_
