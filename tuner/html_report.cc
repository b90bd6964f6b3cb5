#include "tuner/html_report.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "nlohmann/json.hpp"
#include "tuner/html_charts.h"
#include "tuner/html_page.h"
#include "tuner/html_sections.h"
#include "tuner/metrics.h"
#include "tuner/text_table.h"

namespace autotune {
namespace {

using nlohmann::json;

constexpr char kNone[] = "–";
constexpr size_t kKeyShown = 120;  // longest configuration in a table
constexpr size_t kRowsOpen = 12;   // kernels in the table before it is folded
constexpr int kWideHeight = 380;

std::string SecondsText(const std::optional<ConfigResult>& result) {
  if (!result) return kNone;
  if (!result->measurement.ok()) {
    return std::string(FailureKindName(result->measurement.failure().kind));
  }
  std::string text = FormatSeconds(result->measurement.MedianSeconds());
  if (const double spread = result->measurement.SpreadSeconds(); spread > 0) {
    absl::StrAppend(&text, " ± ", FormatSeconds(spread));
  }
  return text;
}

double ProgramSeconds(const KernelReport& kernel) {
  for (const std::optional<ConfigResult>* result : {&kernel.compiler_default, &kernel.best}) {
    if (*result && (*result)->measurement.ok()) {
      return static_cast<double>(kernel.count) * (*result)->measurement.MedianSeconds();
    }
  }
  return 0;
}

std::string SpeedupOf(const KernelReport& kernel) {
  const std::optional<double> speedup = kernel.Speedup();
  if (!speedup) return kNone;
  std::string text = FormatSpeedup(*speedup);
  if (const auto& interval = kernel.speedup_interval) {
    absl::StrAppendFormat(&text, " [%.2f, %.2f]", interval->low, interval->high);
  }
  return text;
}

void AddKernelRow(const KernelReport& kernel, double share, bool with_best_known,
                  HtmlTable& table) {
  table.Row().Add(kernel.name);
  if (kernel.opaque) table.Tag("opaque");
  table.Add(kernel.kind).Add(FormatCount(kernel.count)).Bar(share);
  table.Add(SecondsText(kernel.compiler_default)).Add(SecondsText(kernel.best));
  const std::optional<double> speedup = kernel.Speedup();
  table.Add(SpeedupOf(kernel), speedup && *speedup > 1.005 ? "good" : "");
  if (with_best_known) table.Add(SecondsText(kernel.best_known));
  table.Add(FormatCount(kernel.measurements));
  if (!kernel.not_tuned.empty()) {
    table.Add("").Tag(kernel.not_tuned);
  } else {
    table.Add(kernel.best ? kernel.best->config.Key().substr(0, kKeyShown) : "");
  }
}

HtmlTable KernelTable(const TuningReport& report) {
  const bool with_best_known =
      std::any_of(report.kernels.begin(), report.kernels.end(),
                  [](const KernelReport& kernel) { return kernel.best_known.has_value(); });
  HtmlTable table;
  table.Column("kernel", HtmlTable::Cell::kName)
      .Column("kind", HtmlTable::Cell::kText)
      .Column("count")
      .Column("share of time", HtmlTable::Cell::kBar)
      .Column("default")
      .Column("best found")
      .Column("speed-up");
  if (with_best_known) table.Column("best known");
  table.Column("measured").Column("configuration found", HtmlTable::Cell::kKey);
  double all = 0;
  std::vector<const KernelReport*> order;
  for (const KernelReport& kernel : report.kernels) {
    all += ProgramSeconds(kernel);
    order.push_back(&kernel);
  }
  std::stable_sort(order.begin(), order.end(), [](const KernelReport* a, const KernelReport* b) {
    return ProgramSeconds(*a) > ProgramSeconds(*b);
  });
  for (const KernelReport* kernel : order) {
    AddKernelRow(*kernel, all > 0 ? ProgramSeconds(*kernel) / all : 0, with_best_known, table);
  }
  return table;
}

// The pairs of a model's scores and measured seconds of one kernel.
struct Ranked {
  std::vector<double> scores, seconds;
};
Ranked RankedOf(const TuningReport& report, const std::string& model, size_t kernel) {
  Ranked ranked;
  for (const CandidateOutcome& outcome : report.candidates) {
    if (outcome.kernel != kernel || !outcome.measurement || !outcome.measurement->ok()) continue;
    for (const Prediction& prediction : outcome.predictions) {
      if (prediction.model != model) continue;
      ranked.scores.push_back(prediction.score);
      ranked.seconds.push_back(outcome.measurement->MedianSeconds());
    }
  }
  return ranked;
}

// Rank correlation and top-K error of a model on what the run measured of one kernel.
void AddModelRow(const TuningReport& report, const std::string& model, size_t kernel,
                 HtmlTable& table) {
  const Ranked ranked = RankedOf(report, model, kernel);
  if (ranked.scores.size() < 2) return;
  const std::optional<double> tau = KendallTau(ranked.scores, ranked.seconds);
  table.Row()
      .Add(report.kernels[kernel].name)
      .Add(model)
      .Add(FormatCount(static_cast<int64_t>(ranked.scores.size())));
  table.Add(tau ? absl::StrFormat("%.2f", *tau) : kNone);
  for (int64_t k : {1, 5, 10}) {
    const std::optional<double> error = TopKError(ranked.scores, ranked.seconds, k);
    table.Add(error ? absl::StrFormat("%.1f %%", 100 * *error) : kNone);
  }
}

std::vector<std::string> ModelsOf(const TuningReport& report) {
  std::vector<std::string> models;
  for (const CandidateOutcome& outcome : report.candidates) {
    for (const Prediction& prediction : outcome.predictions) {
      if (std::find(models.begin(), models.end(), prediction.model) == models.end()) {
        models.push_back(prediction.model);
      }
    }
  }
  return models;
}

}  // namespace

void AddSearch(const TuningReport& report, HtmlPage& page) {
  std::optional<json> by_measurements = ProgressChart(report, ProgressAxis::kMeasurements);
  std::optional<json> history = HistoryChart(report);
  if (!by_measurements && !history) return;
  page.Section("Search");
  page.BeginCharts();
  if (by_measurements) {
    page.Chart("Best so far by measurements",
               "Time of one run of the program with the best configuration of each kernel so far.",
               *std::move(by_measurements));
  }
  if (auto chart = ProgressChart(report, ProgressAxis::kDeviceTime)) {
    page.Chart("Best so far by device time",
               Replays(report) ? "What compiling and running the candidates costs on the device; "
                                 "simulated from the recording."
                               : "Time spent compiling and running candidates.",
               *std::move(chart));
  } else if (auto wall = ProgressChart(report, ProgressAxis::kWallTime)) {
    page.Chart("Best so far by time", "Time on this machine since the start.", *std::move(wall));
  }
  if (history) {
    page.WideChart("Every measurement against its kernel's default",
                   "Below 1x is faster than the compiler's choice. Failures stand at the top.",
                   *std::move(history), kWideHeight);
  }
  page.EndCharts();
}

void AddKernels(const TuningReport& report, HtmlPage& page) {
  if (report.kernels.empty()) return;
  page.Section("Kernels");
  if (auto chart = KernelTimeChart(report)) {
    const int height = BarChartHeight(*chart);
    page.BeginCharts();
    page.WideChart("Time per kernel, before and after",
                   "Executions per run of the program times the time of one.", *std::move(chart),
                   height);
    page.EndCharts();
  }
  const HtmlTable table = KernelTable(report);
  if (report.kernels.size() > kRowsOpen) {
    page.FoldedTable(absl::StrCat("All ", report.kernels.size(), " kernels"), table);
  } else {
    page.Table(table);
  }
  if (std::any_of(report.kernels.begin(), report.kernels.end(),
                  [](const KernelReport& kernel) { return kernel.opaque; })) {
    page.Paragraph(
        "Opaque: the configurations were recorded without their content. They can be compared, but "
        "not applied, and no model ranks them.");
  }
}

void AddRoofline(const TuningReport& report, HtmlPage& page) {
  auto chart = RooflineChart(report);
  if (!chart) return;
  page.Section("Roofline");
  page.BeginCharts();
  page.WideChart("Performance against work per byte",
                 "Each kernel before and after; the line is what memory (its slope) and arithmetic "
                 "(its level) of one core allow. A kernel far below it has room to gain.",
                 *std::move(chart), 420);
  page.EndCharts();
}

void AddModels(const TuningReport& report, HtmlPage& page) {
  const std::vector<std::string> models = ModelsOf(report);
  if (models.empty()) return;
  page.Section("Predicted against measured");
  HtmlTable table;
  table.Column("kernel", HtmlTable::Cell::kName)
      .Column("model", HtmlTable::Cell::kText)
      .Column("measured")
      .Column("Kendall tau")
      .Column("top-1 error")
      .Column("top-5 error")
      .Column("top-10 error");
  page.BeginCharts();
  for (const std::string& model : models) {
    if (auto chart = PredictionChart(report, model)) {
      page.WideChart(absl::StrCat("Measured time against what the ", model, " model said"),
                     "A model that ranks well gives points that rise from left to right.",
                     *std::move(chart), kWideHeight);
    }
    for (size_t i = 0; i < report.kernels.size(); ++i) AddModelRow(report, model, i, table);
  }
  page.EndCharts();
  if (table.rows() > 0) page.Table(table);
  page.Paragraph(
      "Only candidates that were measured in this run count, and those are the ones that the model "
      "liked: autotune compare judges a model on a whole recording. Top-K error: how much slower "
      "than the best of these the best of the model's first K is.");
}

std::string RenderHtml(const TuningReport& report) {
  const std::string& name = report.program_name.empty() ? report.program : report.program_name;
  HtmlPage page(
      absl::StrCat("Tuning of ", name),
      absl::StrCat(report.program, " · ", FormatCount(static_cast<int64_t>(report.kernels.size())),
                   report.kernels.size() == 1 ? " kernel" : " kernels"));
  AddHeadline(report, page);
  AddSearch(report, page);
  AddPrograms(report, page);
  AddKernels(report, page);
  AddRoofline(report, page);
  AddModels(report, page);
  AddSpending(report, page);
  AddCandidates(report, page);
  AddEnvironment(report, page);
  return page.Finish(absl::StrCat("Made by autotune ", report.autotune_version, "."));
}

}  // namespace autotune
