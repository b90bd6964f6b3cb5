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
#include "tuner/html_comparison_charts.h"
#include "tuner/html_page.h"
#include "tuner/html_report.h"
#include "tuner/text_table.h"

namespace autotune {
namespace {

using nlohmann::json;

constexpr char kNone[] = "–";
// Kernels with fewer configurations have no curves worth looking at.
constexpr int64_t kSmallKernel = 10;
constexpr size_t kKernelsOpen = 4;  // shown in full without a click

std::string OrNever(const std::optional<double>& value, std::string (*format)(double)) {
  return value ? format(*value) : "never";
}

void AddCurves(absl::Span<const MethodResult> methods, absl::string_view title, HtmlPage& page) {
  const char* caption =
      "Best so far over the best recorded: median over seeds, with the 10th to 90th percentile as "
      "a "
      "band (point at a method for its own). Dashed: without a model.";
  if (auto chart = CurveChart(methods, Evaluations())) {
    page.Chart(absl::StrCat(title, ": slowdown by measurements"), caption, *std::move(chart));
  }
  if (auto chart = CurveChart(methods, Clock())) {
    page.Chart(absl::StrCat(title, ": slowdown by device time"), caption, *std::move(chart));
  }
}

HtmlTable MethodTable(absl::Span<const MethodResult> methods, const ComparisonAxis& axis) {
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
    table.Row().Add(method.method, &method == Winner(methods) ? "good" : "");
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
      table.Add(slowdown.median ? absl::StrCat(ShortNumber(*slowdown.median), "x") : kNone);
    }
  }
  return table;
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

std::string DefaultOf(const KernelComparison& kernel) {
  if (!kernel.default_seconds) return kNone;
  return absl::StrCat(FormatSeconds(*kernel.default_seconds), " (",
                      FormatSpeedup(*kernel.default_seconds / kernel.best_seconds), ")");
}

void AddKernelCharts(const KernelComparison& kernel, HtmlPage& page) {
  page.BeginCharts();
  AddCurves(kernel.methods, kernel.name, page);
  for (size_t i = 0; i < kernel.models.size(); ++i) {
    if (auto chart = AccuracyChart(kernel.models[i], i)) {
      page.Chart(absl::StrCat(kernel.name, ": measured against ", kernel.models[i].model),
                 "Each recorded configuration; on the dashed line the prediction is right.",
                 *std::move(chart));
    }
  }
  page.EndCharts();
}

void AddKernel(const KernelComparison& kernel, bool open, HtmlPage& page) {
  page.BeginDetails(
      absl::StrCat(kernel.name, kernel.opaque ? " (opaque)" : ""),
      absl::StrCat(kernel.kind, " · ", FormatCount(kernel.configs), " configurations · best ",
                   FormatSeconds(kernel.best_seconds), " · default ", DefaultOf(kernel)),
      open);
  if (kernel.configs >= kSmallKernel) AddKernelCharts(kernel, page);
  page.Table(MethodTable(kernel.methods, Evaluations()));
  page.FoldedTable("By simulated device time", MethodTable(kernel.methods, Clock()));
  if (!kernel.models.empty()) page.Table(ModelTable(kernel));
  page.EndDetails();
}

// A line for each kernel, then each in full, the largest spaces open.
void AddKernels(const ComparisonReport& report, HtmlPage& page) {
  page.Section("Kernel by kernel");
  HtmlTable table;
  table.Column("kernel", HtmlTable::Cell::kName)
      .Column("kind", HtmlTable::Cell::kText)
      .Column("count")
      .Column("configurations")
      .Column("failures")
      .Column("best")
      .Column("default (over best)")
      .Column("fewest measurements", HtmlTable::Cell::kText);
  for (const KernelComparison& kernel : report.kernels) {
    table.Row().Add(kernel.name);
    if (kernel.opaque) table.Tag("opaque");
    table.Add(kernel.kind).Add(FormatCount(kernel.count)).Add(FormatCount(kernel.configs));
    table.Add(FormatCount(kernel.failures)).Add(FormatSeconds(kernel.best_seconds));
    table.Add(DefaultOf(kernel));
    const MethodResult* winner = Winner(kernel.methods);
    table.Add(winner == nullptr
                  ? std::string(kNone)
                  : absl::StrCat(winner->method, ": ",
                                 WholeNumber(*winner->evaluations_to_within[0].median)));
  }
  page.Table(table);
  size_t open = 0;
  for (const KernelComparison& kernel : report.kernels) {
    const bool shown = kernel.configs >= kSmallKernel && open < kKernelsOpen;
    open += shown ? 1 : 0;
    AddKernel(kernel, shown, page);
  }
}

const MethodResult* Named(absl::Span<const MethodResult> methods, absl::string_view name) {
  for (const MethodResult& method : methods) {
    if (name == method.method && !method.evaluations_to_within.empty()) return &method;
  }
  return nullptr;
}

std::vector<HtmlRung> MethodLadder(const ComparisonReport& report, const MethodResult* winner) {
  double longest = 0;
  for (const MethodResult& method : report.overall) {
    if (!method.evaluations_to_within.empty()) {
      longest = std::max(longest, method.evaluations_to_within[0].median.value_or(0));
    }
  }
  std::vector<HtmlRung> ladder;
  for (size_t i = 0; i < report.overall.size(); ++i) {
    const MethodResult& method = report.overall[i];
    if (method.evaluations_to_within.empty() || method.method == "default") continue;
    const std::optional<double> median = method.evaluations_to_within[0].median;
    ladder.push_back({.name = method.method,
                      .value = median.value_or(longest),
                      .text = OrNever(median, WholeNumber),
                      .color = median ? absl::StrCat(i % 8) : "soft",
                      .emphasised = &method == winner});
  }
  return ladder;
}

void AddHero(const ComparisonReport& report, HtmlPage& page) {
  const MethodResult* winner = Winner(report.overall);
  if (winner == nullptr) return;
  const ReachStatistic& reach = winner->evaluations_to_within[0];
  HtmlHero hero;
  hero.label =
      absl::StrFormat("Fewest measurements until every kernel is within %g %%", reach.percent);
  hero.value = WholeNumber(*reach.median);
  hero.interval =
      absl::StrCat(OrNever(reach.p10, WholeNumber), " to ", OrNever(reach.p90, WholeNumber),
                   " over ", report.seeds, " seeds (10th to 90th percentile)");
  hero.sentence = absl::StrCat("By ", winner->method, ", in the median over seeds.");
  if (const MethodResult* random = Named(report.overall, "random"); random && random != winner) {
    if (const std::optional<double> blind = random->evaluations_to_within[0].median) {
      absl::StrAppend(&hero.sentence, " Random search needs ", WholeNumber(*blind), ": ",
                      absl::StrFormat("%.3g", *blind / *reach.median), " times as many.");
    }
  }
  page.Hero(hero, MethodLadder(report, winner));
}

void AddCards(const ComparisonReport& report, HtmlPage& page) {
  AddHero(report, page);
  page.BeginCards();
  for (const ModelSummary& model : report.models) {
    if (!model.tile_size_ape) continue;
    page.Card(absl::StrCat("Tile-Size APE of ", model.model),
              absl::StrFormat("%.2f %%", *model.tile_size_ape),
              model.mean_kendall_tau
                  ? absl::StrFormat("mean Kendall tau %.3f", *model.mean_kendall_tau)
                  : "");
  }
  page.Card("Kernels", FormatCount(static_cast<int64_t>(report.kernels.size())),
            absl::StrCat(report.methods.size(), " methods, ", report.seeds, " seeds"));
  page.Card("Searches",
            FormatCount(static_cast<int64_t>(report.kernels.size() * report.methods.size()) *
                        report.seeds),
            "replayed offline");
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
      "until within that many per cent of the best; median slowdown after so many.");
  page.BeginCharts();
  AddCurves(report.overall, "Program", page);
  if (auto chart = SpreadChart(report.overall)) {
    const int height = 110 + 30 * static_cast<int>((*chart)["categories"].size());
    page.WideChart(absl::StrFormat("Measurements until every kernel is within %g %%, over seeds",
                                   report.overall.front().evaluations_to_within[0].percent),
                   "Bar: 10th to 90th percentile; mark: median. A bar with an open end: so many "
                   "runs never get there.",
                   *std::move(chart), height);
  }
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
  AddKernels(report, page);
  AddEnvironment(report, page);
  return page.Finish(absl::StrCat("Made by autotune ", report.autotune_version,
                                  absl::StrFormat(" in %.1f s.", report.wall_seconds)));
}

}  // namespace autotune
