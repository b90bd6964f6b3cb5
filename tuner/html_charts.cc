#include "tuner/html_charts.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/types/span.h"
#include "tuner/html_page.h"
#include "tuner/text_table.h"

namespace autotune {
namespace {

using nlohmann::json;

constexpr size_t kKernelsShown = 15;  // bars in one chart
constexpr size_t kKernelsNamed = 6;   // series in one chart
constexpr size_t kPointsShown = 4000;

std::optional<double> MedianOf(const std::optional<ConfigResult>& result) {
  if (!result || !result->measurement.ok()) return std::nullopt;
  return result->measurement.MedianSeconds();
}

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

// The measured candidates that `model` ranked, per kernel: [score, seconds, config].
std::vector<json> PredictedPoints(const TuningReport& report, const std::string& model) {
  std::vector<json> points(report.kernels.size(), json::array());
  size_t count = 0;
  for (const CandidateOutcome& outcome : report.candidates) {
    if (!outcome.measurement || !outcome.measurement->ok()) continue;
    for (const Prediction& prediction : outcome.predictions) {
      if (prediction.model != model || !std::isfinite(prediction.score)) continue;
      if (++count > kPointsShown) return points;
      points[outcome.kernel].push_back({Rounded(prediction.score),
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
  const int bars = static_cast<int>(spec["categories"].size()) *
                   (spec.value("stacked", false) ? 1 : static_cast<int>(spec["series"].size()));
  return std::max(200, 110 + 22 * bars);
}

std::optional<json> ProgressChart(const TuningReport& report, ProgressAxis axis) {
  const json curve = Bends(report, axis);
  if (curve.empty()) return std::nullopt;
  const double first = curve.front()[0], last = curve.back()[0];
  if (axis != ProgressAxis::kMeasurements && !(last > 0)) return std::nullopt;
  json spec = {{"kind", "xy"},
               {"x", ToJson(AxisOf(report, axis))},
               {"y", ToJson(ChartAxis{.label = "program's time", .format = "seconds"})},
               {"series", json::array()}};
  spec["series"].push_back(
      {{"name", "best so far"}, {"color", 2}, {"step", true}, {"points", curve}});
  int color = 0;
  for (const ProgramTotal& total : report.totals) {
    if (total.name == "best found" || !(total.seconds > 0)) continue;
    const double seconds = Rounded(total.seconds);
    const bool is_default = total.name == "default";
    spec["series"].push_back(
        {{"name", is_default ? "compiler's default" : total.name},
         {"color", is_default ? json("soft") : json(color == 0 ? 1 : color + 2)},
         {"dashed", true},
         {"points", {{std::min(first, 0.0), seconds}, {last, seconds}}}});
    color += is_default ? 0 : 1;
  }
  return spec;
}

std::optional<json> KernelTimeChart(const TuningReport& report) {
  std::vector<double> before, after, longest;
  for (const KernelReport& kernel : report.kernels) {
    const double count = static_cast<double>(kernel.count);
    before.push_back(count * MedianOf(kernel.compiler_default).value_or(0));
    after.push_back(count * MedianOf(kernel.best).value_or(0));
    longest.push_back(std::max(before.back(), after.back()));
  }
  const std::vector<size_t> order = Largest(longest, kKernelsShown);
  if (order.empty()) return std::nullopt;
  return KernelBars(report, order,
                    {{"compiler's default", "soft", before}, {"best found", 2, after}},
                    {.label = "time per run of the program", .format = "seconds"}, false);
}

std::optional<json> PredictionChart(const TuningReport& report, const std::string& model) {
  const std::vector<json> points = PredictedPoints(report, model);
  std::vector<double> sizes;
  sizes.reserve(points.size());
  for (const json& one : points) sizes.push_back(static_cast<double>(one.size()));
  const std::vector<size_t> named = Largest(sizes, kKernelsNamed);
  if (named.empty()) return std::nullopt;
  json spec = {
      {"kind", "xy"},
      {"x", ToJson(ChartAxis{.label = absl::StrCat("score of ", model, " (lower is better)")})},
      {"y", ToJson(ChartAxis{.label = "measured time", .format = "seconds", .log = true})},
      {"series", json::array()}};
  json others = json::array();
  for (size_t i = 0; i < points.size(); ++i) {
    if (std::find(named.begin(), named.end(), i) != named.end()) continue;
    others.insert(others.end(), points[i].begin(), points[i].end());
  }
  for (size_t i = 0; i < named.size(); ++i) {
    spec["series"].push_back({{"name", report.kernels[named[i]].name},
                              {"mode", "points"},
                              {"color", i},
                              {"points", points[named[i]]}});
  }
  if (!others.empty()) {
    spec["series"].push_back(
        {{"name", "other kernels"}, {"mode", "points"}, {"color", "soft"}, {"points", others}});
  }
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

std::optional<json> TimeSplitChart(const TuningReport& report, TimeOf of) {
  const TimeSplit& time = report.time;
  std::vector<std::pair<const char*, double>> parts = {{"compiling", time.device_compile},
                                                       {"running", time.device_run}};
  if (of == TimeOf::kHost) {
    parts = {{"reading the program", time.load},
             {"proposing and ranking", time.search},
             {"measuring", time.measure},
             {"storing records", time.store}};
  }
  json spec = {{"kind", "bars"},
               {"stacked", true},
               {"value", ToJson(ChartAxis{.label = "time", .format = "seconds"})},
               {"categories", {of == TimeOf::kHost ? "this machine" : "device"}},
               {"series", json::array()}};
  int color = of == TimeOf::kHost ? 0 : 4;
  double total = 0;
  for (const auto& [name, seconds] : parts) {
    total += seconds;
    spec["series"].push_back({{"name", name}, {"color", color++}, {"values", {Rounded(seconds)}}});
  }
  if (!(total > 0)) return std::nullopt;
  return spec;
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
