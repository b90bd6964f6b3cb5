#ifndef AUTOTUNE_TUNER_HTML_EVALUATION_H_
#define AUTOTUNE_TUNER_HTML_EVALUATION_H_

#include <string>
#include <vector>

#include "costmodel/evaluation.h"

namespace autotune {

// A trained model on recordings that it has not seen, beside the analytical model that it builds
// on. A plain value.
struct EvaluatedModel {
  std::string name;
  // The same kernels in the same order.
  std::vector<ScoredKernel> learned;
  std::vector<ScoredKernel> analytical;
};

// What `autotune evaluate` shows. A plain value.
struct EvaluationReport {
  std::vector<EvaluatedModel> models;
  std::vector<std::string> files;  // of the recordings
  std::vector<std::string> warnings;
  int bootstrap = 1000;  // samples for the intervals; 0 for none
};

// The report as one self-contained HTML page: accuracy of each model with its intervals, predicted
// against measured, and every program.
std::string RenderHtml(const EvaluationReport& report);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_HTML_EVALUATION_H_
