#include "tuner/html_charts.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "tuner/html_page.h"
#include "tuner/report_text.h"
#include "tuner/text_table.h"

namespace autotune {
namespace {

using nlohmann::json;

constexpr size_t kKernelsShown = 15;  // bars in one chart
constexpr size_t kKernelsNamed = 6;   // series in one chart
constexpr size_t kPointsShown = 4000;

// The `limit` kernels with the largest positive values, largest first.
std::vector<size_t> Largest(absl::Span<const double> values, size_t limit) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::erase_if(order, [&](size_t i) { return !(values[i] > 0); });
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return values[a] > values[b]; });
  if (order.size() > limit) order.resize(limit);
  return order;
}

std::string NameWithCount(const KernelReport& kernel) {
  return kernel.count == 1 ? kernel.name : absl::StrCat(kernel.name, " x", kernel.count);
}

// A bar chart of `series` over the kernels of `order`; the values of a series are per kernel.
struct BarSeries {
  std::string name;
  json color;
  std::vector<double> values;
};
json KernelBars(const TuningReport& report, absl::Span<const size_t> order,
                const std::vector<BarSeries>& series, const ChartAxis& value, bool stacked) {
  json spec = {{"kind", "bars"},
               {"stacked", stacked},
               {"value", ToJson(value)},
               {"categories", json::array()},
               {"series", json::array()}};
  for (size_t i : order) spec["categories"].push_back(NameWithCount(report.kernels[i]));
  for (const BarSeries& one : series) {
    json values = json::array();
    bool any = false;
    for (size_t i : order) {
      any = any || one.values[i] > 0;
      values.push_back(one.values[i] > 0 ? json(Rounded(one.values[i])) : json());
    }
    if (any)
      spec["series"].push_back({{"name", one.name}, {"color", one.color}, {"values", values}});
  }
  return spec;
}

double At(const ProgressPoint& point, ProgressAxis axis) {
  switch (axis) {
    case ProgressAxis::kMeasurements:
      return static_cast<double>(point.measurements);
    case ProgressAxis::kDeviceTime:
      return point.device_seconds;
    case ProgressAxis::kWallTime:
      return point.wall_seconds;
  }
  return 0;
}

// The points where the curve bends, and the last.
json Bends(const TuningReport& report, ProgressAxis axis) {
  json points = json::array();
  double last = -1;
  for (size_t i = 0; i < report.progress.size(); ++i) {
    const ProgressPoint& point = report.progress[i];
    if (!(point.program_seconds > 0) || !std::isfinite(point.program_seconds)) continue;
    if (point.program_seconds == last && i + 1 < report.progress.size()) continue;
    last = point.program_seconds;
    points.push_back({Rounded(At(point, axis)), Rounded(last)});
  }
  return points;
}

ChartAxis AxisOf(const TuningReport& report, ProgressAxis axis) {
  switch (axis) {
    case ProgressAxis::kMeasurements:
      return {.label = "measurements", .format = "count"};
    case ProgressAxis::kDeviceTime:
      return {.label = report.backend == "replay" ? "device time (simulated)" : "device time",
              .format = "seconds"};
    case ProgressAxis::kWallTime:
      return {.label = "time on this machine", .format = "seconds"};
  }
  return {};
}

// The measured candidates that `model` ranked, per kernel: [score, or predicted seconds; measured
// seconds; config].
std::vector<json> PredictedPoints(const TuningReport& report, const std::string& model,
                                  bool log_seconds) {
  std::vector<json> points(report.kernels.size(), json::array());
  size_t count = 0;
  for (const CandidateOutcome& outcome : report.candidates) {
    if (!outcome.measurement || !outcome.measurement->ok()) continue;
    for (const Prediction& prediction : outcome.predictions) {
      if (prediction.model != model || !std::isfinite(prediction.score)) continue;
      if (++count > kPointsShown) return points;
      const double predicted = log_seconds ? std::exp(prediction.score) : prediction.score;
      if (!std::isfinite(predicted)) continue;
      points[outcome.kernel].push_back({Rounded(predicted),
                                        Rounded(outcome.measurement->MedianSeconds()),
                                        outcome.config.Key().substr(0, 80)});
    }
  }
  return points;
}

}  // namespace

std::string FateLabel(const CandidateOutcome& outcome) {
  if (outcome.measurement && !outcome.measurement->ok()) return "failed";
  return std::string(FateName(outcome.fate));
}

int BarChartHeight(const json& spec) {
  const auto series = spec.find("series");  // a chart of ranges has none
  const bool one = spec.value("stacked", false) || series == spec.end();
  const size_t bars = spec.at("categories").size() * (one ? 1 : series->size());
  return std::max(200, 110 + 22 * static_cast<int>(bars));
}

std::optional<json> ProgressChart(const TuningReport& report, ProgressAxis axis) {
  const json curve = Bends(report, axis);
  if (curve.empty()) return std::nullopt;
  const double first = curve.front()[0], last = curve.back()[0];
  if (axis != ProgressAxis::kMeasurements && !(last > 0)) return std::nullopt;
  ChartAxis x = AxisOf(report, axis);
  if (last > 0) x.max = last;
  json spec = {{"kind", "xy"},
               {"direct", true},
               {"x", ToJson(x)},
               {"y", ToJson(ChartAxis{.label = "program's time", .format = "seconds"})},
               {"series", json::array()}};
  int color = 3;
  for (const ProgramTotal& total : report.totals) {
    if (total.name == "best found" || !(total.seconds > 0)) continue;
    const double seconds = Rounded(total.seconds);
    const bool is_default = total.name == "default", known = total.name == "best known";
    spec["series"].push_back({{"name", total.name},
                              {"color", is_default ? json("soft") : json(known ? 0 : color++)},
                              {"dash", is_default ? 1
                                       : known    ? 2
                                                  : 3},
                              {"points", {{std::min(first, 0.0), seconds}, {last, seconds}}}});
  }
  spec["series"].push_back(
      {{"name", "best so far"}, {"color", 2}, {"step", true}, {"strong", true}, {"points", curve}});
  return spec;
}

std::vector<HtmlRung> ProgramLadder(const TuningReport& report) {
  const ProgramTotal* base = report.Total("default");
  std::vector<HtmlRung> ladder;
  int color = 3;
  for (const ProgramTotal& total : report.totals) {
    if (!(total.seconds > 0)) continue;
    HtmlRung rung = {.name = TotalTitle(total.name),
                     .value = total.seconds,
                     .text = FormatSeconds(total.seconds)};
    if (base != nullptr) rung.note = FormatSpeedup(base->seconds / total.seconds);
    if (total.name == "default") {
      rung.color = "soft";
    } else if (total.name == "best found") {
      rung.color = "2";
      rung.emphasised = true;
    } else {
      rung.color = total.name == "best known" ? "0" : absl::StrCat(color++);
    }
    ladder.push_back(std::move(rung));
  }
  return ladder;
}

namespace {

// The points of the history, per kernel and of failures; the largest ratio.
struct History {
  std::vector<json> points;
  json failures = json::array();
  double largest = 1;
};

History HistoryOf(const TuningReport& report) {
  History history;
  history.points.assign(report.kernels.size(), json::array());
  int64_t measured = 0;
  for (const CandidateOutcome& outcome : report.candidates) {
    measured += outcome.fate == Fate::kMeasured ? 1 : 0;
  }
  const int64_t step = measured / static_cast<int64_t>(kPointsShown) + 1;
  int64_t position = 0;
  for (const CandidateOutcome& outcome : report.candidates) {
    if (outcome.fate != Fate::kMeasured || position++ % step != 0) continue;
    const std::optional<double> base = SecondsOf(report.kernels[outcome.kernel].compiler_default);
    if (!base || !outcome.measurement) continue;
    const std::string& name = report.kernels[outcome.kernel].name;
    if (!outcome.measurement->ok()) {
      history.failures.push_back(
          {outcome.measurements, 0,
           absl::StrCat(name, ": ",
                        std::string(FailureKindName(outcome.measurement->failure().kind)))});
      continue;
    }
    const double ratio = Rounded(outcome.measurement->MedianSeconds() / *base);
    history.largest = std::max(history.largest, ratio);
    history.points[outcome.kernel].push_back(
        {outcome.measurements, ratio, absl::StrCat(name, " ", outcome.config.Key().substr(0, 60))});
  }
  return history;
}

// A series per kernel of `named`, then one of all others.
void AddKernelSeries(const TuningReport& report, const std::vector<json>& points,
                     const std::vector<size_t>& named, json& spec) {
  json others = json::array();
  for (size_t i = 0; i < points.size(); ++i) {
    if (std::find(named.begin(), named.end(), i) != named.end()) continue;
    others.insert(others.end(), points[i].begin(), points[i].end());
  }
  for (size_t i = 0; i < named.size(); ++i) {
    spec["series"].push_back({{"name", report.kernels[named[i]].name},
                              {"mode", "points"},
                              {"color", i},
                              {"shape", i},
                              {"points", points[named[i]]}});
  }
  if (!others.empty()) {
    spec["series"].push_back(
        {{"name", "other kernels"}, {"mode", "points"}, {"color", "soft"}, {"points", others}});
  }
}

std::vector<size_t> MostPoints(const std::vector<json>& points) {
  std::vector<double> sizes;
  sizes.reserve(points.size());
  for (const json& one : points) sizes.push_back(static_cast<double>(one.size()));
  return Largest(sizes, kKernelsNamed);
}

}  // namespace

std::optional<json> HistoryChart(const TuningReport& report) {
  History history = HistoryOf(report);
  const std::vector<size_t> named = MostPoints(history.points);
  if (named.empty()) return std::nullopt;
  const double last = static_cast<double>(report.measurements);
  ChartAxis x = {.label = "measurements", .format = "count"};
  x.min = 0;
  x.max = last;
  json spec = {{"kind", "xy"},
               {"x", ToJson(x)},
               {"y", ToJson(ChartAxis{.label = "time / default", .format = "ratio", .log = true})},
               {"series", json::array()}};
  spec["series"].push_back({{"name", "compiler's default"},
                            {"color", "soft"},
                            {"dash", 1},
                            {"points", {{0, 1}, {last, 1}}}});
  AddKernelSeries(report, history.points, named, spec);
  if (!history.failures.empty()) {
    for (json& failure : history.failures) failure[1] = Rounded(history.largest * 1.25);
    spec["series"].push_back({{"name", "failed"},
                              {"mode", "points"},
                              {"color", 1},
                              {"shape", "cross"},
                              {"size", 5},
                              {"points", history.failures}});
  }
  return spec;
}

std::optional<json> KernelTimeChart(const TuningReport& report) {
  std::vector<double> before, after, longest;
  for (const KernelReport& kernel : report.kernels) {
    const double count = static_cast<double>(kernel.count);
    before.push_back(count * SecondsOf(kernel.compiler_default).value_or(0));
    after.push_back(count * SecondsOf(kernel.best).value_or(0));
    longest.push_back(std::max(before.back(), after.back()));
  }
  const std::vector<size_t> order = Largest(longest, kKernelsShown);
  if (order.empty()) return std::nullopt;
  json spec =
      KernelBars(report, order, {{"compiler's default", "soft", before}, {"best found", 2, after}},
                 {.label = "time per run of the program", .format = "seconds"}, false);
  json labels = json::array();
  for (size_t i : order) {
    const std::optional<double> speedup = report.kernels[i].Speedup();
    labels.push_back(speedup && *speedup > 1.005 ? json(FormatSpeedup(*speedup)) : json());
  }
  for (json& series : spec["series"]) {
    if (series["name"] == "best found") series["labels"] = labels;
  }
  return spec;
}

std::optional<json> PredictionChart(const TuningReport& report, const std::string& model) {
  const RankingModel* ranking = report.Model(model);
  const bool seconds = ranking != nullptr && ranking->predicts_seconds;
  std::vector<json> points = PredictedPoints(report, model, seconds);
  const std::vector<size_t> named = MostPoints(points);
  if (named.empty()) return std::nullopt;
  ChartAxis x = {.label = absl::StrCat("score of ", model, " (lower is better)")};
  if (seconds) x = {.label = "predicted time", .format = "seconds", .log = true};
  json spec = {{"kind", "xy"},
               {"x", ToJson(x)},
               {"y", ToJson(ChartAxis{.label = "measured time", .format = "seconds", .log = true})},
               {"series", json::array()}};
  if (seconds) {
    double low = std::numeric_limits<double>::infinity(), high = 0;
    for (const json& of_kernel : points) {
      for (const json& point : of_kernel) {
        low = std::min(low, point[0].get<double>());
        high = std::max(high, point[0].get<double>());
      }
    }
    spec["series"].push_back({{"name", "as predicted"},
                              {"color", "soft"},
                              {"dash", 1},
                              {"points", {{low, low}, {high, high}}}});
  }
  AddKernelSeries(report, points, named, spec);
  return spec;
}

std::optional<json> BudgetChart(const TuningReport& report) {
  const size_t kernels = report.kernels.size();
  std::vector<BarSeries> series = {{"compiler's default", "soft", std::vector<double>(kernels)},
                                   {"search", 0, std::vector<double>(kernels)},
                                   {"confirmation", 2, std::vector<double>(kernels)}};
  std::vector<double> all(kernels);
  for (const CandidateOutcome& outcome : report.candidates) {
    if (outcome.fate != Fate::kMeasured) continue;
    ++series[static_cast<size_t>(outcome.role)].values[outcome.kernel];
    ++all[outcome.kernel];
  }
  const std::vector<size_t> order = Largest(all, kKernelsShown);
  if (order.empty()) return std::nullopt;
  return KernelBars(report, order, series, {.label = "measurements", .format = "count"}, true);
}

std::optional<json> FateChart(const TuningReport& report) {
  const size_t kernels = report.kernels.size();
  std::vector<BarSeries> series = {{"measured", 2, std::vector<double>(kernels)},
                                   {"failed", 1, std::vector<double>(kernels)},
                                   {"reused", 0, std::vector<double>(kernels)},
                                   {"proposed", "soft", std::vector<double>(kernels)}};
  std::vector<double> all(kernels);
  for (const CandidateOutcome& outcome : report.candidates) {
    const std::string fate = FateLabel(outcome);
    for (BarSeries& one : series) {
      if (one.name == fate) ++one.values[outcome.kernel];
    }
    ++all[outcome.kernel];
  }
  const std::vector<size_t> order = Largest(all, kKernelsShown);
  if (order.empty()) return std::nullopt;
  return KernelBars(report, order, series, {.label = "candidates", .format = "count"}, true);
}

}  // namespace autotune
