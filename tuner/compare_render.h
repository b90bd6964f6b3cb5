#ifndef AUTOTUNE_TUNER_COMPARE_RENDER_H_
#define AUTOTUNE_TUNER_COMPARE_RENDER_H_

#include <string>

#include "nlohmann/json_fwd.hpp"
#include "tuner/comparison_report.h"

namespace autotune {

// The comparison for a terminal: a block per kernel, then over all kernels. Ends with a newline.
std::string ComparisonToText(const ComparisonReport& report);

// Everything in the report, documented in docs/cli.md: {"schema": "autotune.compare/1", ...}. Times
// are in seconds; "never" and "no value" are null.
nlohmann::json ComparisonToJson(const ComparisonReport& report);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_COMPARE_RENDER_H_
