#ifndef AUTOTUNE_TUNER_HTML_COMPARISON_CHARTS_H_
#define AUTOTUNE_TUNER_HTML_COMPARISON_CHARTS_H_

#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "nlohmann/json.hpp"
#include "tuner/comparison_report.h"
#include "tuner/html_page.h"

namespace autotune {

// The charts of a comparison's page as descriptions for report.js (HtmlPage::Chart), and what its
// tables share with them. Each chart is nullopt where there is nothing to show. Pure.

// "7", "1,234".
std::string WholeNumber(double value);
// "7.25", "38.1", "388", "1,234": three significant digits.
std::string ShortNumber(double value);

// What the two axes of a comparison have each: evaluations and the simulated clock.
struct ComparisonAxis {
  std::vector<ReachStatistic> MethodResult::*reach;
  std::vector<SlowdownStatistic> MethodResult::*slowdown;
  std::vector<SlowdownStatistic> MethodResult::*curve;
  std::string (*format)(double);
  const char* unit;  // after a number
  ChartAxis chart;
};
const ComparisonAxis& Evaluations();
const ComparisonAxis& Clock();

// The method with the fewest evaluations in the median until within the first percentage, the
// earlier of equals; null if none gets there. The default is no search.
const MethodResult* Winner(absl::Span<const MethodResult> methods);

// Slowdown against measurements or seconds: medians over seeds, with the 10th to 90th percentile as
// bands.
std::optional<nlohmann::json> CurveChart(absl::Span<const MethodResult> methods,
                                         const ComparisonAxis& axis);

// How many measurements each method needs to come within the first percentage: 10th to 90th
// percentile over seeds, with the median.
std::optional<nlohmann::json> SpreadChart(absl::Span<const MethodResult> methods);

// Measured time against what a model said, in the series colour `color`.
std::optional<nlohmann::json> AccuracyChart(const ModelAccuracy& model, size_t color);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_HTML_COMPARISON_CHARTS_H_
