#ifndef AUTOTUNE_TUNER_REPORT_TEXT_H_
#define AUTOTUNE_TUNER_REPORT_TEXT_H_

#include <string>

#include "tuner/tuning_report.h"

namespace autotune {

// Words that the reports for people share.

// "1.08x to 1.12x with 95 % confidence", or why there is no interval: "replayed, no repeats", "one
// sample each, no repeats", "an estimate, not a measurement". Empty for a program whose kernels all
// keep their default.
std::string DescribeInterval(const TuningReport& report);

// What a total of the program is called: "compiler's default", "analytical model's choice".
std::string TotalTitle(const std::string& name);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_REPORT_TEXT_H_
