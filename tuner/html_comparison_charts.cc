#include "tuner/html_comparison_charts.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tuner/text_table.h"

namespace autotune {
namespace {

using nlohmann::json;

constexpr size_t kPointsShown = 3000;

// The default is no search: its colour is quiet.
json ColorOf(const MethodResult& method, size_t index) {
  if (method.method == "default") return "soft";
  return index;
}

// Methods with a model are solid lines, those without are dashed.
json SeriesOf(const MethodResult& method, size_t index, const ComparisonAxis& axis) {
  json points = json::array(), band = json::array();
  for (const SlowdownStatistic& at : method.*axis.curve) {
    if (at.median) points.push_back({Rounded(at.at), Rounded(*at.median)});
    if (at.p10 && at.p90) band.push_back({Rounded(at.at), Rounded(*at.p10), Rounded(*at.p90)});
  }
  json series = {{"name", method.method}, {"color", ColorOf(method, index)}, {"points", points}};
  if (band.size() > 1) series["band"] = band;
  if (!absl::StrContains(method.method, "+")) series["dash"] = 1 + index % 3;
  return series;
}

}  // namespace

std::string ShortNumber(double value) {
  if (value >= 1000) return FormatCount(std::llround(value));
  return absl::StrFormat("%.*f", value >= 100 ? 0 : value >= 10 ? 1 : 2, value);
}

std::string WholeNumber(double value) { return FormatCount(std::llround(value)); }

const ComparisonAxis& Evaluations() {
  static const ComparisonAxis& axis =
      *new ComparisonAxis{&MethodResult::evaluations_to_within,
                          &MethodResult::slowdown_after_evaluations,
                          &MethodResult::evaluation_curve,
                          WholeNumber,
                          "",
                          {.label = "measurements", .format = "count", .log = true}};
  return axis;
}

const ComparisonAxis& Clock() {
  static const ComparisonAxis& axis =
      *new ComparisonAxis{&MethodResult::seconds_to_within,
                          &MethodResult::slowdown_after_seconds,
                          &MethodResult::clock_curve,
                          ShortNumber,
                          " s",
                          {.label = "simulated device time", .format = "seconds", .log = true}};
  return axis;
}

const MethodResult* Winner(absl::Span<const MethodResult> methods) {
  const MethodResult* winner = nullptr;
  for (const MethodResult& method : methods) {
    if (method.method == "default") continue;
    if (method.evaluations_to_within.empty() || !method.evaluations_to_within[0].median) continue;
    if (winner == nullptr ||
        *method.evaluations_to_within[0].median < *winner->evaluations_to_within[0].median) {
      winner = &method;
    }
  }
  return winner;
}

std::optional<json> CurveChart(absl::Span<const MethodResult> methods, const ComparisonAxis& axis) {
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
    // All bands at once would hide each other: the others' show when their name is pointed at.
    series["quiet"] = methods[i].method != "random" && &methods[i] != Winner(methods);
    // A search that ended stays as good as it is.
    if (series["points"].back()[0].get<double>() < last) {
      series["points"].push_back({Rounded(last), series["points"].back()[1]});
    }
    spec["series"].push_back(std::move(series));
  }
  if (spec["series"].empty()) return std::nullopt;
  return spec;
}

std::optional<json> SpreadChart(absl::Span<const MethodResult> methods) {
  json spec = {
      {"kind", "range"},
      {"value", ToJson(ChartAxis{.label = "measurements", .format = "count", .log = true})},
      {"categories", json::array()},
      {"ranges", json::array()},
      {"colors", json::array()}};
  for (size_t i = 0; i < methods.size(); ++i) {
    if (methods[i].evaluations_to_within.empty()) continue;
    const ReachStatistic& reach = methods[i].evaluations_to_within[0];
    if (!reach.p10 || !reach.median) continue;
    spec["categories"].push_back(methods[i].method);
    spec["colors"].push_back(ColorOf(methods[i], i));
    // Open to the right where so many runs never get there.
    spec["ranges"].push_back({Rounded(*reach.p10), Rounded(*reach.median),
                              reach.p90 ? json(Rounded(*reach.p90)) : json()});
  }
  if (spec["categories"].empty()) return std::nullopt;
  return spec;
}

std::optional<json> AccuracyChart(const ModelAccuracy& model, size_t color) {
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
         {"dash", 1},
         {"points", {{Rounded(low), Rounded(low)}, {Rounded(high), Rounded(high)}}}});
  }
  return spec;
}

}  // namespace autotune
