#ifndef AUTOTUNE_TUNER_FUSION_STUDY_H_
#define AUTOTUNE_TUNER_FUSION_STUDY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "hardware/fusion_compiler.h"
#include "hardware/fusion_recording.h"
#include "hlo/fusion_graph.h"
#include "nlohmann/json_fwd.hpp"
#include "tuner/fusion_tuner.h"

namespace autotune {

// A way to search fusion: "default" (the compiler's choice alone), STRATEGY (every proposal is
// compiled), STRATEGY+analytical, STRATEGY+refit (FusionGuide) or STRATEGY+learned (refitted too,
// but on top of FusionStudyOptions::prior).
struct FusionMethod {
  std::string name;
  std::string strategy;  // empty for the default
  FusionGuide guide = FusionGuide::kNone;
  bool learned = false;

  // InvalidArgument for an unknown strategy or model.
  static absl::StatusOr<FusionMethod> Parse(const std::string& name);
};

inline constexpr char kFusionMethods[] =
    "default,random,model-greedy+analytical,model-greedy+refit";

// A list of them, separated by commas.
absl::StatusOr<std::vector<FusionMethod>> ParseFusionMethods(const std::string& names);

// What a method reached with a budget, of several seeds the median one (the lower one of two).
struct FusionReached {
  int64_t budget = 0;
  FusionTimes change;  // of the fastest by the primary estimate; relative, -0.03 is 3 % faster
  double worst = 0;    // change.schedule of the worst seed
  double best = 0;     // of the best one
  bool agree = true;   // all three estimates have one sign
  double share = 1;    // of the best recorded gain; 1 where nothing recorded gains
  int64_t compilations = 0;  // that the median run took
};

struct FusionStudyRow {
  std::string method;
  std::vector<FusionReached> reached;  // one a budget
};

// All methods on one recording.
struct FusionStudy {
  FusionOrigin origin;
  int64_t configurations = 0;  // recorded, failures included
  int64_t groupings = 0;
  int64_t fused_edges = 0;
  FusionTimes best;  // change of the fastest recorded
  std::vector<FusionStudyRow> rows;
};

struct FusionStudyOptions {
  std::vector<FusionMethod> methods;
  std::vector<int64_t> budgets = {20, 100};  // ascending
  int64_t seeds = 5;
  uint64_t first_seed = 1;
  // A model that has not seen the program, for methods with "+learned".
  FusionPrior prior;
};

// Runs each method on a recording, which is the whole space: only recorded configurations are
// proposed, and only recorded compilations count. The default is compiled first by all.
// FailedPrecondition if the recording is of another program or lacks the default, or if a method
// needs a prior and there is none.
absl::StatusOr<FusionStudy> RunFusionStudy(const FusionGraph& graph,
                                           const FusionRecording& recording,
                                           const FusionStudyOptions& options);

// Tables for a terminal (Markdown): by program, and the median over programs.
std::string FusionStudiesText(const std::vector<FusionStudy>& studies);

// {"schema": "autotune.fusion-comparison/1", "programs": [...]}.
nlohmann::json FusionStudiesJson(const std::vector<FusionStudy>& studies);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_FUSION_STUDY_H_
