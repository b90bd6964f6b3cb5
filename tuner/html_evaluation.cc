#include "tuner/html_evaluation.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "tuner/html_charts.h"
#include "tuner/html_page.h"
#include "tuner/text_table.h"

namespace autotune {
namespace {

using nlohmann::json;

constexpr size_t kPointsShown = 3000;  // of a chart of predictions
constexpr size_t kProgramsOpen = 12;   // in the table before it is folded
constexpr uint64_t kSeed = 1;          // of the bootstrap, as on the console

// A row of a table and a bar of a chart.
struct Judged {
  std::string name;
  ModelMetrics metrics;
  bool learned = true;
};

std::vector<Judged> JudgeAll(const EvaluationReport& report) {
  std::vector<Judged> all;
  for (const EvaluatedModel& model : report.models) {
    all.push_back({model.name, SummarizeScores(model.learned, report.bootstrap, kSeed)});
    all.push_back({absl::StrCat("analytical, beside ", model.name),
                   SummarizeScores(model.analytical, report.bootstrap, kSeed), false});
  }
  return all;
}

std::string WithInterval(const MetricEstimate& estimate, int digits) {
  std::string text = absl::StrFormat("%.*f", digits, estimate.value);
  if (estimate.low < estimate.high) {
    absl::StrAppendFormat(&text, " [%.*f, %.*f]", digits, estimate.low, digits, estimate.high);
  }
  return text;
}

HtmlTable MetricsTable(const std::string& title) {
  HtmlTable table;
  table.Column(title, HtmlTable::Cell::kName).Column("kernels").Column("configurations");
  for (const char* column : {"Kendall tau", "tile-size APE %", "top-1 error %", "top-5 error %",
                             "top-10 error %", "MAPE %"}) {
    table.Column(column);
  }
  return table;
}

void AddMetrics(const std::string& name, const ModelMetrics& metrics, HtmlTable& table) {
  table.Row().Add(name).Add(FormatCount(metrics.kernels)).Add(FormatCount(metrics.configs));
  table.Add(WithInterval(metrics.kendall_tau, 3)).Add(WithInterval(metrics.tile_size_ape, 2));
  for (const MetricEstimate* estimate : {&metrics.top1, &metrics.top5, &metrics.top10}) {
    table.Add(absl::StrFormat("%.1f", estimate->value));
  }
  table.Add(WithInterval(metrics.mape, 1));
}

// A metric of every model with its interval, the analytical ones in grey. `most` is the end of the
// axis, if it has one.
std::optional<json> IntervalChart(const std::vector<Judged>& all, const std::string& label,
                                  MetricEstimate ModelMetrics::*metric,
                                  std::optional<double> most) {
  ChartAxis axis = {.label = label, .min = 0.0, .max = most};
  json categories = json::array(), ranges = json::array(), colors = json::array();
  size_t color = 0;
  for (const Judged& judged : all) {
    const MetricEstimate& estimate = judged.metrics.*metric;
    categories.push_back(judged.name);
    ranges.push_back({Rounded(estimate.low), Rounded(estimate.value), Rounded(estimate.high)});
    colors.push_back(judged.learned ? json(color++) : json("soft"));
    axis.min = std::min(*axis.min, estimate.low);
  }
  if (categories.empty()) return std::nullopt;
  return json{{"kind", "range"},          {"value", ToJson(axis)}, {"middle", "mean"},
              {"categories", categories}, {"ranges", ranges},      {"colors", colors}};
}

// Evenly spaced ones of all configurations, as [predicted, measured, name].
json Points(const std::vector<ScoredKernel>& kernels, double* low, double* high) {
  size_t configs = 0;
  for (const ScoredKernel& kernel : kernels) configs += kernel.seconds.size();
  const size_t step = configs / kPointsShown + 1;
  json points = json::array();
  size_t position = 0;
  for (const ScoredKernel& kernel : kernels) {
    for (size_t i = 0; i < kernel.seconds.size(); ++i) {
      if (position++ % step != 0 || !std::isfinite(kernel.log_seconds[i])) continue;
      const double predicted = std::exp(kernel.log_seconds[i]);
      points.push_back({Rounded(predicted), Rounded(kernel.seconds[i]), kernel.info.kernel});
      *low = *low == 0 ? predicted : std::min(*low, predicted);
      *high = std::max(*high, predicted);
    }
  }
  return points;
}

std::optional<json> PredictedChart(const std::vector<ScoredKernel>& kernels, json color) {
  double low = 0, high = 0;
  json points = Points(kernels, &low, &high);
  if (points.size() < 2) return std::nullopt;
  json spec = {
      {"kind", "xy"},
      {"x", ToJson(ChartAxis{.label = "predicted time", .format = "seconds", .log = true})},
      {"y", ToJson(ChartAxis{.label = "measured time", .format = "seconds", .log = true})},
      {"series",
       {{{"name", "recorded configurations"},
         {"mode", "points"},
         {"color", std::move(color)},
         {"points", std::move(points)}}}}};
  spec["series"].push_back(
      {{"name", "as predicted"},
       {"color", "soft"},
       {"dash", 1},
       {"points", {{Rounded(low), Rounded(low)}, {Rounded(high), Rounded(high)}}}});
  return spec;
}

void AddAccuracy(const std::vector<Judged>& all, HtmlPage& page) {
  page.Section("Accuracy");
  page.BeginCharts();
  const struct {
    const char* title;
    const char* caption;
    MetricEstimate ModelMetrics::*metric;
    std::optional<double> most;
  } kCharts[] = {
      {"Rank correlation", "Kendall's tau, mean over kernels: 1 is the right order.",
       &ModelMetrics::kendall_tau, 1.0},
      {"Cost of trusting it",
       "Tile-size APE: how much longer the program takes with the model's choices than with the "
       "best, in per cent.",
       &ModelMetrics::tile_size_ape, std::nullopt}};
  for (const auto& chart : kCharts) {
    if (auto spec = IntervalChart(all, chart.title, chart.metric, chart.most)) {
      const int height = std::max(160, BarChartHeight(*spec));
      page.Chart(chart.title, chart.caption, *std::move(spec), height);
    }
  }
  page.EndCharts();
  HtmlTable table = MetricsTable("model");
  for (const Judged& judged : all) AddMetrics(judged.name, judged.metrics, table);
  page.Table(table);
}

void AddPredictions(const EvaluationReport& report, HtmlPage& page) {
  page.Section("Predicted against measured");
  page.BeginCharts();
  for (size_t i = 0; i < report.models.size(); ++i) {
    const EvaluatedModel& model = report.models[i];
    if (auto chart = PredictedChart(model.learned, i)) {
      page.Chart(model.name, "On the dashed line the prediction is right.", *std::move(chart));
    }
    if (auto chart = PredictedChart(model.analytical, "soft")) {
      page.Chart(absl::StrCat("Analytical model beside ", model.name),
                 "Its constants are fitted on the same training data.", *std::move(chart));
    }
  }
  page.EndCharts();
}

using Programs = std::map<std::string, std::vector<ScoredKernel>>;
Programs ByProgram(const std::vector<ScoredKernel>& kernels) {
  Programs programs;
  for (const ScoredKernel& kernel : kernels) {
    programs[absl::StrCat(kernel.info.program, " ", kernel.info.device)].push_back(kernel);
  }
  return programs;
}

void AddPrograms(const EvaluationReport& report, HtmlPage& page) {
  page.Section("Programs");
  for (const EvaluatedModel& model : report.models) {
    const Programs analytical = ByProgram(model.analytical);
    HtmlTable table = MetricsTable(model.name);
    for (const auto& [program, kernels] : ByProgram(model.learned)) {
      AddMetrics(program, SummarizeScores(kernels, 0, kSeed), table);
      AddMetrics(absl::StrCat(program, ": analytical"),
                 SummarizeScores(analytical.at(program), 0, kSeed), table);
    }
    if (table.rows() > 2 * kProgramsOpen) {
      page.FoldedTable(absl::StrCat(model.name, ": ", table.rows() / 2, " programs"), table);
    } else {
      page.Table(table);
    }
  }
}

std::string Devices(const EvaluationReport& report) {
  std::set<std::string> devices;
  for (const EvaluatedModel& model : report.models) {
    for (const ScoredKernel& kernel : model.learned) devices.insert(kernel.info.device);
  }
  return absl::StrJoin(devices, ", ");
}

}  // namespace

std::string RenderHtml(const EvaluationReport& report) {
  const std::vector<Judged> all = JudgeAll(report);
  HtmlPage page(
      "Evaluation of cost models",
      absl::StrCat(Devices(report), " · ", FormatCount(static_cast<int64_t>(report.files.size())),
                   report.files.size() == 1 ? " recording" : " recordings"));
  page.Notes(report.warnings);
  AddAccuracy(all, page);
  AddPredictions(report, page);
  AddPrograms(report, page);
  page.Section("Data");
  page.Paragraph(absl::StrJoin(report.files, ", "));
  page.Paragraph(
      report.bootstrap > 0
          ? absl::StrCat("Intervals: 95 % of ", report.bootstrap,
                         " bootstrap samples over kernels. Whether times are of hardware or "
                         "estimates is said in each recording (autotune inspect).")
          : std::string("Without intervals (--bootstrap 0)."));
  return page.Finish(absl::StrCat("Made by autotune ", AUTOTUNE_VERSION, "."));
}

}  // namespace autotune
