// What the run spent its budget and time on, and what became of each candidate.

#include <cmath>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tuner/html_charts.h"
#include "tuner/html_sections.h"
#include "tuner/text_table.h"

namespace autotune {
namespace {

using nlohmann::json;

constexpr size_t kKeyShown = 120;  // longest configuration in the table of candidates

std::string CountText(double value) { return FormatCount(static_cast<int64_t>(value)); }

// Candidates by what became of them, in the order of a candidate's life.
std::vector<HtmlPart> Fates(const TuningReport& report) {
  std::vector<HtmlPart> parts = {
      {"measured", 0, "2"}, {"failed", 0, "1"}, {"reused", 0, "0"}, {"proposed", 0, "soft"}};
  for (const CandidateOutcome& outcome : report.candidates) {
    const std::string fate = FateLabel(outcome);
    for (HtmlPart& part : parts) part.value += part.name == fate ? 1 : 0;
  }
  return parts;
}

std::vector<HtmlPart> Roles(const TuningReport& report) {
  std::vector<HtmlPart> parts = {
      {"compiler's default", 0, "soft"}, {"search", 0, "0"}, {"confirmation", 0, "2"}};
  for (const CandidateOutcome& outcome : report.candidates) {
    if (outcome.fate == Fate::kMeasured) parts[static_cast<size_t>(outcome.role)].value += 1;
  }
  return parts;
}

// Failures by kind over all kernels.
struct FailureSummary {
  int64_t count = 0;
  std::set<std::string> kernels;
  std::string first_kernel;
  std::string first_message;
};

void AddFailures(const TuningReport& report, HtmlPage& page) {
  std::map<FailureKind, FailureSummary> kinds;
  for (const KernelReport& kernel : report.kernels) {
    for (const FailureCount& failure : kernel.failures) {
      FailureSummary& kind = kinds[failure.kind];
      if (kind.count == 0) {
        kind.first_kernel = kernel.name;
        kind.first_message = failure.first_message;
      }
      kind.count += failure.count;
      kind.kernels.insert(kernel.name);
    }
  }
  if (kinds.empty()) return;
  HtmlTable table;
  table.Column("failure", HtmlTable::Cell::kText)
      .Column("count")
      .Column("kernels")
      .Column("first in", HtmlTable::Cell::kText)
      .Column("first error", HtmlTable::Cell::kName);
  for (const auto& [kind, summary] : kinds) {
    table.Row().Add(FailureKindName(kind), "bad").Add(FormatCount(summary.count));
    table.Add(FormatCount(static_cast<int64_t>(summary.kernels.size())));
    table.Add(summary.first_kernel).Add(summary.first_message);
  }
  page.Table(table);
}

json Column(const char* title, const char* format, const char* css_class) {
  json result = {{"title", title}, {"class", css_class}};
  if (*format != 0) result["format"] = format;
  return result;
}

json CandidateRow(const CandidateOutcome& outcome) {
  json row = {outcome.sequence, outcome.kernel, std::string(CandidateRoleName(outcome.role)),
              FateLabel(outcome)};
  const Prediction* prediction =
      outcome.predictions.empty() ? nullptr : &outcome.predictions.front();
  row.push_back(prediction != nullptr ? json(prediction->rank + 1) : json());
  row.push_back(prediction != nullptr && std::isfinite(prediction->score)
                    ? json(Rounded(prediction->score))
                    : json());
  const bool measured = outcome.measurement && outcome.measurement->ok();
  row.push_back(measured ? json(Rounded(outcome.measurement->MedianSeconds())) : json());
  row.push_back(outcome.measurement && !measured
                    ? json(std::string(FailureKindName(outcome.measurement->failure().kind)))
                    : json());
  std::string key = outcome.config.Key();
  if (key.size() > kKeyShown) key = absl::StrCat(key.substr(0, kKeyShown), "...");
  row.push_back(std::move(key));
  return row;
}

// Candidates as rows for report.js.
json CandidateRows(const TuningReport& report) {
  json columns = {Column("#", "count", "n"),
                  Column("kernel", "kernel", "name"),
                  Column("role", "", ""),
                  Column("fate", "", "fate"),
                  Column("rank", "count", "n"),
                  Column("score", "number", "n"),
                  Column("time", "seconds", "n"),
                  Column("failure", "", ""),
                  Column("configuration", "", "key")};
  json kernels = json::array(), rows = json::array();
  for (const KernelReport& kernel : report.kernels) kernels.push_back(kernel.name);
  for (const CandidateOutcome& outcome : report.candidates) rows.push_back(CandidateRow(outcome));
  return {{"columns", columns}, {"kernels", kernels}, {"rows", rows}};
}

}  // namespace

void AddSpending(const TuningReport& report, HtmlPage& page) {
  if (report.measurements == 0 && report.wall_seconds == 0) return;
  page.Section("Budget and time");
  page.BeginCharts();
  if (auto chart = BudgetChart(report)) {
    const int height = BarChartHeight(*chart);
    page.Chart("Measurements per kernel",
               "Kernels get measurements by share of time and predicted headroom.",
               *std::move(chart), height);
  }
  page.BeginFigure("Where they went");
  page.SplitBar("Measurements", Roles(report), CountText);
  const TimeSplit& time = report.time;
  page.SplitBar("Time on this machine",
                {{"reading the program", time.load, "3"},
                 {"proposing and ranking", time.search, "0"},
                 {"measuring", time.measure, "2"},
                 {"storing records", time.store, "soft"}},
                FormatSeconds);
  page.SplitBar(Replays(report) ? "Device time (simulated)" : "Device time",
                {{"compiling", time.device_compile, "4"}, {"running", time.device_run, "5"}},
                FormatSeconds);
  page.EndFigure();
  page.EndCharts();
}

void AddCandidates(const TuningReport& report, HtmlPage& page) {
  if (report.candidates.empty()) return;
  page.Section("Candidates");
  page.BeginCharts();
  if (auto chart = FateChart(report)) {
    const int height = BarChartHeight(*chart);
    page.Chart("Candidates per kernel", "", *std::move(chart), height);
  }
  page.BeginFigure("What became of them");
  page.SplitBar("", Fates(report), CountText);
  page.Paragraph(
      "Proposed: ranked by the model and not chosen for measuring. Reused: answered from the "
      "records, at no cost. Failed: measured without a time; counts against the budget.");
  page.EndFigure();
  page.EndCharts();
  AddFailures(report, page);
  page.Candidates(CandidateRows(report), {"measured", "failed", "reused", "proposed"});
}

}  // namespace autotune
