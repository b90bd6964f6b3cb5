#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/types/span.h"
#include "nlohmann/json.hpp"
#include "tuner/html_page.h"
#include "tuner/html_report.h"
#include "tuner/text_table.h"

namespace autotune {
namespace {

using nlohmann::json;

constexpr char kNone[] = "–";
// Kernels with fewer configurations have no curves worth looking at.
constexpr int64_t kSmallKernel = 10;
constexpr size_t kPointsShown = 3000;

std::string Short(double value) {
  if (value >= 1000) return FormatCount(std::llround(value));
  return absl::StrFormat("%.*f", value >= 100 ? 0 : value >= 10 ? 1 : 2, value);
}

std::string Whole(double value) { return FormatCount(std::llround(value)); }

using Format = std::string (*)(double);
std::string OrNever(const std::optional<double>& value, Format format) {
  return value ? format(*value) : "never";
}

// What the two axes of a comparison have each: evaluations and the simulated clock.
struct Axis {
  std::vector<ReachStatistic> MethodResult::*reach;
  std::vector<SlowdownStatistic> MethodResult::*slowdown;
  std::vector<SlowdownStatistic> MethodResult::*curve;
  Format format;
  const char* unit;  // after a number
  ChartAxis chart;
};

const Axis& Evaluations() {
  static const Axis& axis = *new Axis{&MethodResult::evaluations_to_within,
                                      &MethodResult::slowdown_after_evaluations,
                                      &MethodResult::evaluation_curve,
                                      Whole,
                                      "",
                                      {.label = "measurements", .format = "count", .log = true}};
  return axis;
}

const Axis& Clock() {
  static const Axis& axis =
      *new Axis{&MethodResult::seconds_to_within,
                &MethodResult::slowdown_after_seconds,
                &MethodResult::clock_curve,
                Short,
                " s",
                {.label = "simulated device time", .format = "seconds", .log = true}};
  return axis;
}

// The colour of a method is that of its strategy; with a model its line is solid.
json SeriesOf(const MethodResult& method, size_t index, const Axis& axis) {
  json points = json::array(), band = json::array();
  for (const SlowdownStatistic& at : method.*axis.curve) {
    if (at.median) points.push_back({Rounded(at.at), Rounded(*at.median)});
    if (at.p10 && at.p90) band.push_back({Rounded(at.at), Rounded(*at.p10), Rounded(*at.p90)});
  }
  json series = {{"name", method.method}, {"color", index}, {"points", points}};
  if (band.size() > 1) series["band"] = band;
  if (!absl::StrContains(method.method, "+")) series["dashed"] = true;
  return series;
}

std::optional<json> CurveChart(absl::Span<const MethodResult> methods, const Axis& axis) {
  json spec = {
      {"kind", "xy"},
      {"x", ToJson(axis.chart)},
      {"y", ToJson(ChartAxis{.label = "slowdown", .format = "ratio", .log = true, .min = 1})},
      {"series", json::array()}};
  double last = 0;
  for (const MethodResult& method : methods) {
    if (!(method.*axis.curve).empty()) last = std::max(last, (method.*axis.curve).back().at);
  }
  for (size_t i = 0; i < methods.size(); ++i) {
    json series = SeriesOf(methods[i], i, axis);
    if (series["points"].empty()) continue;
    // A search that ended stays as good as it is.
    if (series["points"].back()[0].get<double>() < last) {
      series["points"].push_back({Rounded(last), series["points"].back()[1]});
    }
    spec["series"].push_back(std::move(series));
  }
  if (spec["series"].empty()) return std::nullopt;
  return spec;
}

void AddCurves(absl::Span<const MethodResult> methods, absl::string_view title, HtmlPage& page) {
  const char* caption =
      "Median over seeds of the best so far over the best recorded, with the 10th to 90th "
      "percentile. Dashed: without a model.";
  if (auto chart = CurveChart(methods, Evaluations())) {
    page.Chart(absl::StrCat(title, ": slowdown by measurements"), caption, *std::move(chart));
  }
  if (auto chart = CurveChart(methods, Clock())) {
    page.Chart(absl::StrCat(title, ": slowdown by device time"), caption, *std::move(chart));
  }
}

HtmlTable MethodTable(absl::Span<const MethodResult> methods, const Axis& axis) {
  HtmlTable table;
  table.Column("method", HtmlTable::Cell::kName);
  const auto shown = std::find_if(methods.begin(), methods.end(),
                                  [](const MethodResult& method) { return method.runs > 0; });
  if (shown == methods.end()) return table;
  for (const ReachStatistic& reach : *shown.*axis.reach) {
    table.Column(absl::StrFormat("to %g %%", reach.percent));
  }
  table.Column("runs that get there");
  for (const SlowdownStatistic& slowdown : *shown.*axis.slowdown) {
    table.Column(absl::StrCat("after ", absl::StrFormat("%g", slowdown.at), axis.unit));
  }
  for (const MethodResult& method : methods) {
    table.Row().Add(method.method);
    if (method.runs == 0) table.Tag("has nothing to rank here");
    for (const ReachStatistic& reach : method.*axis.reach) {
      table.Add(
          absl::StrCat(OrNever(reach.median, axis.format), " / ", OrNever(reach.p90, axis.format)));
    }
    if (method.runs > 0) {
      const ReachStatistic& first = (method.*axis.reach).front();
      table.Add(absl::StrCat(first.reached, " of ", first.runs));
    }
    for (const SlowdownStatistic& slowdown : method.*axis.slowdown) {
      table.Add(slowdown.median ? absl::StrCat(Short(*slowdown.median), "x") : kNone);
    }
  }
  return table;
}

std::optional<json> PredictionChart(const ModelAccuracy& model, size_t color) {
  json points = json::array();
  const size_t step = model.points.size() / kPointsShown + 1;
  double low = 0, high = 0;
  for (size_t i = 0; i < model.points.size(); i += step) {
    const PredictedPoint& point = model.points[i];
    if (!std::isfinite(point.prediction)) continue;
    const double predicted = model.predicts_seconds ? std::exp(point.prediction) : point.prediction;
    points.push_back({Rounded(predicted), Rounded(point.seconds), point.config.substr(0, 80)});
    low = points.size() == 1 ? predicted : std::min(low, predicted);
    high = points.size() == 1 ? predicted : std::max(high, predicted);
  }
  if (points.size() < 2) return std::nullopt;
  ChartAxis x = {.label = absl::StrCat("score of ", model.model)};
  if (model.predicts_seconds) x = {.label = "predicted time", .format = "seconds", .log = true};
  json spec = {{"kind", "xy"},
               {"x", ToJson(x)},
               {"y", ToJson(ChartAxis{.label = "measured time", .format = "seconds", .log = true})},
               {"series",
                {{{"name", "recorded configurations"},
                  {"mode", "points"},
                  {"color", color},
                  {"points", points}}}}};
  if (model.predicts_seconds) {
    spec["series"].push_back(
        {{"name", "as predicted"},
         {"color", "soft"},
         {"dashed", true},
         {"points", {{Rounded(low), Rounded(low)}, {Rounded(high), Rounded(high)}}}});
  }
  return spec;
}

HtmlTable ModelTable(const KernelComparison& kernel) {
  HtmlTable table;
  table.Column("model", HtmlTable::Cell::kName).Column("Kendall tau");
  for (const TopKStatistic& top : kernel.models.front().top_k) {
    table.Column(absl::StrCat("top-", top.k, " error"));
  }
  table.Column("its choice takes").Column("its choice", HtmlTable::Cell::kKey);
  for (const ModelAccuracy& model : kernel.models) {
    table.Row().Add(model.model);
    table.Add(model.kendall_tau ? absl::StrFormat("%.3f", *model.kendall_tau) : kNone);
    for (const TopKStatistic& top : model.top_k) {
      table.Add(absl::StrFormat("%.1f %%", 100 * top.error));
    }
    table.Add(FormatSeconds(model.chosen_seconds)).Add(model.chosen_config.substr(0, 120));
  }
  return table;
}

void AddKernel(const KernelComparison& kernel, HtmlPage& page) {
  page.Section(absl::StrCat(kernel.name, kernel.opaque ? " (opaque)" : ""));
  page.Paragraph(absl::StrCat(
      kernel.kind, ", ", FormatCount(kernel.count), " per run of the program, ",
      FormatCount(kernel.configs), " recorded configurations",
      kernel.failures > 0 ? absl::StrCat(" (", FormatCount(kernel.failures), " failures)") : "",
      ". Best ", FormatSeconds(kernel.best_seconds),
      kernel.default_seconds
          ? absl::StrCat(", compiler's default ", FormatSeconds(*kernel.default_seconds), " (",
                         FormatSpeedup(*kernel.default_seconds / kernel.best_seconds), ")")
          : ", no default recorded",
      "."));
  const bool small = kernel.configs < kSmallKernel;
  if (!small) {
    page.BeginCharts();
    AddCurves(kernel.methods, kernel.name, page);
    for (size_t i = 0; i < kernel.models.size(); ++i) {
      if (auto chart = PredictionChart(kernel.models[i], i)) {
        page.Chart(absl::StrCat(kernel.name, ": measured against ", kernel.models[i].model), "",
                   *std::move(chart));
      }
    }
    page.EndCharts();
    page.Table(MethodTable(kernel.methods, Evaluations()));
  } else {
    page.FoldedTable("By measurements", MethodTable(kernel.methods, Evaluations()));
  }
  page.FoldedTable("By simulated device time", MethodTable(kernel.methods, Clock()));
  if (!kernel.models.empty()) page.Table(ModelTable(kernel));
}

// The method with the fewest evaluations in the median until all kernels are within the first
// percentage, the earlier of equals.
const MethodResult* Winner(const ComparisonReport& report) {
  const MethodResult* winner = nullptr;
  for (const MethodResult& method : report.overall) {
    if (method.evaluations_to_within.empty() || !method.evaluations_to_within[0].median) continue;
    if (winner == nullptr ||
        *method.evaluations_to_within[0].median < *winner->evaluations_to_within[0].median) {
      winner = &method;
    }
  }
  return winner;
}

const MethodResult* Named(absl::Span<const MethodResult> methods, absl::string_view name) {
  for (const MethodResult& method : methods) {
    if (name == method.method && !method.evaluations_to_within.empty()) return &method;
  }
  return nullptr;
}

void AddCards(const ComparisonReport& report, HtmlPage& page) {
  page.BeginCards();
  if (const MethodResult* winner = Winner(report)) {
    const ReachStatistic& reach = winner->evaluations_to_within[0];
    page.Card(
        absl::StrFormat("Fewest measurements until every kernel is within %g %%", reach.percent),
        winner->method,
        absl::StrCat(OrNever(reach.median, Whole), " in the median, ", OrNever(reach.p90, Whole),
                     " at the 90th percentile"),
        true);
    if (const MethodResult* random = Named(report.overall, "random"); random && random != winner) {
      const ReachStatistic& blind = random->evaluations_to_within[0];
      page.Card("Random search needs", OrNever(blind.median, Whole),
                blind.median
                    ? absl::StrCat(FormatSpeedup(*blind.median / *reach.median), " as many")
                    : "in the median");
    }
  }
  for (const ModelSummary& model : report.models) {
    if (!model.tile_size_ape) continue;
    page.Card(absl::StrCat("Tile-Size APE of ", model.model),
              absl::StrFormat("%.2f %%", *model.tile_size_ape),
              model.mean_kendall_tau
                  ? absl::StrFormat("mean Kendall tau %.3f", *model.mean_kendall_tau)
                  : "");
  }
  page.Card("Runs",
            FormatCount(static_cast<int64_t>(report.kernels.size() * report.methods.size()) *
                        report.seeds),
            absl::StrCat(report.kernels.size(), " kernels, ", report.methods.size(), " methods, ",
                         report.seeds, " seeds; ", absl::StrFormat("%.1f s", report.wall_seconds)));
  page.EndCards();
}

HtmlTable SummaryTable(const ComparisonReport& report) {
  HtmlTable table;
  table.Column("model", HtmlTable::Cell::kName).Column("kernels").Column("mean Kendall tau");
  for (const TopKStatistic& top : report.models.front().mean_top_k) {
    table.Column(absl::StrCat("mean top-", top.k, " error"));
  }
  table.Column("Tile-Size APE");
  for (const ModelSummary& model : report.models) {
    table.Row().Add(model.model).Add(FormatCount(model.kernels));
    table.Add(model.mean_kendall_tau ? absl::StrFormat("%.3f", *model.mean_kendall_tau) : kNone);
    for (const TopKStatistic& top : model.mean_top_k) {
      table.Add(absl::StrFormat("%.1f %%", 100 * top.error));
    }
    table.Add(model.tile_size_ape ? absl::StrFormat("%.2f %%", *model.tile_size_ape) : kNone);
  }
  return table;
}

void AddOverall(const ComparisonReport& report, HtmlPage& page) {
  page.Section("Over all kernels");
  page.Paragraph(
      "Kernels with opaque configurations are left out. Measurements and seconds: until every "
      "kernel is that close, summed over kernels. Slowdown: of the program's time, after so many "
      "measurements, or seconds, for each kernel. Columns: median / 90th percentile over seeds "
      "until "
      "within that many per cent of the best; median slowdown after so many.");
  page.BeginCharts();
  AddCurves(report.overall, "Program", page);
  page.EndCharts();
  page.Table(MethodTable(report.overall, Evaluations()));
  page.FoldedTable("By simulated device time", MethodTable(report.overall, Clock()));
  if (!report.models.empty()) page.Table(SummaryTable(report));
}

void AddEnvironment(const ComparisonReport& report, HtmlPage& page) {
  page.Section("How it was made");
  page.BeginFacts();
  page.Fact("Program", report.program);
  page.Fact("Recordings", absl::StrJoin(report.recordings, ", "));
  page.Fact("Device", report.device);
  page.Fact("Measured by", report.backend);
  page.Fact("Versions", report.versions);
  page.Fact("Methods", absl::StrJoin(report.methods, ", "));
  page.Fact("Seeds", absl::StrCat(report.first_seed, " to ",
                                  report.first_seed + static_cast<uint64_t>(report.seeds) - 1));
  page.Fact("Space", "all recorded configurations of each kernel");
  page.Fact("Compiler's default",
            report.with_default ? "measured first in every run" : "not given");
  page.Fact("Measurements per run", report.max_evaluations
                                        ? absl::StrCat("at most ", *report.max_evaluations)
                                        : "until the best is found or the space is exhausted");
  page.Fact("Simulated device time",
            absl::StrCat("compile time as recorded, else ", report.compile_seconds, " s; ",
                         report.repeats, " runs per measurement"));
  page.Fact("autotune", report.autotune_version);
  page.EndFacts();
  page.Command("Make this comparison again", report.command);
}

}  // namespace

std::string RenderHtml(const ComparisonReport& report) {
  HtmlPage page(absl::StrCat("Search methods on ", report.program),
                absl::StrJoin(report.methods, ", "));
  page.SourceBanner(
      report.time_source, true,
      absl::StrCat(report.device, report.backend.empty() ? "" : " · ", report.backend));
  AddCards(report, page);
  page.Notes(report.warnings);
  if (std::any_of(report.kernels.begin(), report.kernels.end(),
                  [](const KernelComparison& kernel) { return !kernel.opaque; })) {
    AddOverall(report, page);
  }
  for (const KernelComparison& kernel : report.kernels) AddKernel(kernel, page);
  AddEnvironment(report, page);
  return page.Finish(absl::StrCat("Made by autotune ", report.autotune_version, "."));
}

}  // namespace autotune
