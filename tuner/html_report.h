#ifndef AUTOTUNE_TUNER_HTML_REPORT_H_
#define AUTOTUNE_TUNER_HTML_REPORT_H_

#include <string>

#include "tuner/comparison_report.h"
#include "tuner/tuning_report.h"

namespace autotune {

// A run as one self-contained HTML document: no file or network beside it is needed to read it. It
// adapts to light, dark, phone and paper, and marks estimates. All names are escaped. The document
// of a run with 10,000 candidates stays under 5 MB.
std::string RenderHtml(const TuningReport& report);

// The same of a comparison of methods, with the spread over seeds.
std::string RenderHtml(const ComparisonReport& report);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_HTML_REPORT_H_
