#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "tuner/compare_render.h"
#include "tuner/text_table.h"

namespace autotune {
namespace {

constexpr char kNone[] = "-";

// Three significant digits, never in scientific notation.
std::string Short(double value) {
  const int digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return absl::StrFormat("%.*f", digits, value);
}

std::string Whole(double value) { return FormatCount(std::llround(value)); }

// "288 / 520": median and 90th percentile; "-" for never.
using Format = std::string (*)(double);
std::string MedianAndP90(const ReachStatistic& reach, Format format) {
  if (reach.runs == 0) return "";
  return absl::StrCat(reach.median ? format(*reach.median) : kNone, " / ",
                      reach.p90 ? format(*reach.p90) : kNone);
}

// One table: when the methods get close, and how slow they are until then.
struct Axis {
  std::vector<ReachStatistic> MethodResult::*reach;
  std::vector<SlowdownStatistic> MethodResult::*slowdown;
  Format format;      // of a point on this axis
  const char* after;  // "after %g", "after %g s"
};

constexpr Axis kEvaluations = {&MethodResult::evaluations_to_within,
                               &MethodResult::slowdown_after_evaluations, Whole, "after %g"};
constexpr Axis kClock = {&MethodResult::seconds_to_within, &MethodResult::slowdown_after_seconds,
                         Short, "after %g s"};

std::string MethodTable(absl::Span<const MethodResult> methods, const Axis& axis) {
  const auto shown = std::find_if(methods.begin(), methods.end(),
                                  [](const MethodResult& method) { return method.runs > 0; });
  if (shown == methods.end()) return "";
  TextTable table;
  table.Column("method", TextTable::Align::kLeft);
  for (const ReachStatistic& reach : *shown.*axis.reach) {
    table.Column(absl::StrFormat("to %g %%", reach.percent));
  }
  table.Column("reached");
  for (const SlowdownStatistic& slowdown : *shown.*axis.slowdown) {
    table.Column(absl::StrCat(absl::StrFormat("at %g", slowdown.at), &axis == &kClock ? " s" : ""));
  }
  for (const MethodResult& method : methods) {
    std::vector<std::string> row = {method.method};
    for (const ReachStatistic& reach : method.*axis.reach) {
      row.push_back(MedianAndP90(reach, axis.format));
    }
    if (method.runs == 0) {
      row.push_back("cannot rank these");
    } else {
      const ReachStatistic& first = (method.*axis.reach).front();
      row.push_back(absl::StrCat(first.reached, "/", first.runs));
    }
    for (const SlowdownStatistic& slowdown : method.*axis.slowdown) {
      row.push_back(slowdown.median ? Short(*slowdown.median) : kNone);
    }
    table.Row(std::move(row));
  }
  return table.ToString(2);
}

// Both tables with their headings.
std::string MethodTables(absl::Span<const MethodResult> methods) {
  return absl::StrCat(
      " measurements until within 5 % and 1 % of the best (median / 90th percentile), median "
      "slowdown after n\n",
      MethodTable(methods, kEvaluations), " the same in seconds of the simulated clock\n",
      MethodTable(methods, kClock));
}

std::string Percent(double share) { return absl::StrFormat("%.1f %%", 100 * share); }

std::string Tau(const std::optional<double>& tau) {
  return tau ? absl::StrFormat("%.3f", *tau) : kNone;
}

void TopKColumns(const std::vector<TopKStatistic>& top_k, TextTable& table) {
  for (const TopKStatistic& top : top_k) table.Column(absl::StrCat("top-", top.k, " error"));
}

std::string ModelTable(const KernelComparison& kernel) {
  if (kernel.models.empty()) return "";
  TextTable table;
  table.Column("model", TextTable::Align::kLeft).Column("Kendall tau");
  TopKColumns(kernel.models.front().top_k, table);
  table.Column("its choice").Column("", TextTable::Align::kLeft);
  for (const ModelAccuracy& model : kernel.models) {
    std::vector<std::string> row = {model.model, Tau(model.kendall_tau)};
    for (const TopKStatistic& top : model.top_k) row.push_back(Percent(top.error));
    row.push_back(FormatSeconds(model.chosen_seconds));
    row.push_back(model.chosen_config);
    table.Row(std::move(row));
  }
  return table.ToString(2);
}

std::string SummaryTable(absl::Span<const ModelSummary> models) {
  if (models.empty()) return "";
  TextTable table;
  table.Column("model", TextTable::Align::kLeft).Column("kernels").Column("mean Kendall tau");
  TopKColumns(models.front().mean_top_k, table);
  table.Column("Tile-Size APE");
  for (const ModelSummary& model : models) {
    std::vector<std::string> row = {model.model, absl::StrCat(model.kernels),
                                    Tau(model.mean_kendall_tau)};
    for (const TopKStatistic& top : model.mean_top_k) row.push_back(Percent(top.error));
    row.push_back(model.tile_size_ape ? absl::StrFormat("%.2f %%", *model.tile_size_ape) : kNone);
    table.Row(std::move(row));
  }
  return table.ToString(2);
}

std::string KernelHeading(const KernelComparison& kernel) {
  std::string text = absl::StrCat(kernel.name, "  ", kernel.kind, ", x", kernel.count, ", ",
                                  FormatCount(kernel.configs), " configurations");
  if (kernel.failures > 0) {
    absl::StrAppend(&text, " (", FormatCount(kernel.failures), " of them failures)");
  }
  absl::StrAppend(&text, ", best ", FormatSeconds(kernel.best_seconds));
  if (kernel.default_seconds) {
    absl::StrAppend(&text, ", default ", FormatSeconds(*kernel.default_seconds), " (",
                    FormatSpeedup(*kernel.default_seconds / kernel.best_seconds), ")");
  } else {
    absl::StrAppend(&text, ", no default");
  }
  if (kernel.opaque) {
    absl::StrAppend(&text, "\n opaque: recorded without the content of its configurations");
  }
  return absl::StrCat(text, "\n");
}

std::string Heading(const ComparisonReport& report) {
  std::string text = absl::StrCat("Comparison of ", report.methods.size(), " methods with ",
                                  report.seeds, " seeds (from ", report.first_seed, ") on ",
                                  report.kernels.size(), " kernels of ", report.program, "\n");
  const bool hardware = report.time_source == TimeSource::kHardware;
  absl::StrAppend(&text, hardware ? "Times: HARDWARE RECORDING of " : "Times: ESTIMATE for ",
                  report.device, report.backend.empty() ? "" : absl::StrCat(" by ", report.backend),
                  "\n");
  absl::StrAppend(&text, "Space: all recorded configurations; ",
                  report.with_default ? "every run measures the compiler's default first"
                                      : "the compiler's default is not given",
                  report.max_evaluations
                      ? absl::StrCat("; at most ", *report.max_evaluations, " measurements a run")
                      : "",
                  "\nClock: compile time as recorded, else ", report.compile_seconds, " s; ",
                  report.repeats, " runs a measurement\n");
  return text;
}

}  // namespace

std::string ComparisonToText(const ComparisonReport& report) {
  std::string text = Heading(report);
  for (const KernelComparison& kernel : report.kernels) {
    absl::StrAppend(&text, "\n", KernelHeading(kernel), MethodTables(kernel.methods),
                    ModelTable(kernel));
  }
  int64_t totalled = 0;
  for (const KernelComparison& kernel : report.kernels) totalled += kernel.opaque ? 0 : 1;
  if (totalled > 0) {
    absl::StrAppend(&text, "\nOver all: ", totalled,
                    " kernels; measurements and seconds until every kernel is close, summed; the "
                    "program's slowdown after n for each kernel\n",
                    MethodTables(report.overall), SummaryTable(report.models));
  }
  for (const std::string& warning : report.warnings)
    absl::StrAppend(&text, "Note: ", warning, "\n");
  absl::StrAppendFormat(&text, "Took %.1f s.\n", report.wall_seconds);
  return text;
}

}  // namespace autotune
