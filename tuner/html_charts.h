#ifndef AUTOTUNE_TUNER_HTML_CHARTS_H_
#define AUTOTUNE_TUNER_HTML_CHARTS_H_

#include <optional>
#include <string>
#include <vector>

#include "nlohmann/json.hpp"
#include "tuner/html_page.h"
#include "tuner/tuning_report.h"

namespace autotune {

// The charts of a run's report as descriptions for report.js (HtmlPage::Chart). Each is nullopt
// where the run has nothing to show. Pure.

// What the x axis of a best-so-far curve counts.
enum class ProgressAxis { kMeasurements, kDeviceTime, kWallTime };

// The program's time with the best so far, with the default, the models' choices and the best known
// as lines across.
std::optional<nlohmann::json> ProgressChart(const TuningReport& report, ProgressAxis axis);

// The time of every measurement over that of its kernel's default, in the order of the
// measurements; a series per kernel (those with most points by name), failures as one of their own
// at the top. Kernels without a default with a time are left out.
std::optional<nlohmann::json> HistoryChart(const TuningReport& report);

// The program's time with the compiler's default, each model's choice, the best found and the best
// known, as a ladder for HtmlPage::Hero.
std::vector<HtmlRung> ProgramLadder(const TuningReport& report);

// Time per kernel (count times its time) before and after, longest first, at most 15 kernels.
std::optional<nlohmann::json> KernelTimeChart(const TuningReport& report);

// Measured time against the score of `model`, a series per kernel (those with most points by name).
std::optional<nlohmann::json> PredictionChart(const TuningReport& report, const std::string& model);

// Measurements per kernel by role, at most 15 kernels.
std::optional<nlohmann::json> BudgetChart(const TuningReport& report);

// Candidates per kernel by what became of them, at most 15 kernels.
std::optional<nlohmann::json> FateChart(const TuningReport& report);

// Arithmetic intensity against performance of every kernel with a known cost, before and after,
// under the roofs of memory and arithmetic of one core of the device.
std::optional<nlohmann::json> RooflineChart(const TuningReport& report);

// The height in pixels of a chart with a bar for each category.
int BarChartHeight(const nlohmann::json& spec);

// "measured", "failed", "reused" or "proposed": what the report calls a candidate's fate.
std::string FateLabel(const CandidateOutcome& outcome);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_HTML_CHARTS_H_
