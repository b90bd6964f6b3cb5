#include "tuner/html_report.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "nlohmann/json.hpp"
#include "tuner/html_charts.h"
#include "tuner/html_page.h"
#include "tuner/metrics.h"
#include "tuner/text_table.h"

namespace autotune {
namespace {

using nlohmann::json;

constexpr char kNone[] = "–";
constexpr int kOneBarHeight = 170;
constexpr size_t kKeyShown = 120;  // longest configuration in the table of candidates

std::string SecondsOf(const std::optional<ConfigResult>& result) {
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

std::string SpeedupText(const std::optional<double>& speedup) {
  return speedup ? FormatSpeedup(*speedup) : kNone;
}

// How much slower than `best` something is: "the best known", "1.3 % slower".
std::string Distance(double seconds, double best) {
  const double percent = 100 * (seconds / best - 1);
  if (std::abs(percent) < 0.05) return "as fast";
  return absl::StrFormat("%.1f %% %s", std::abs(percent), percent > 0 ? "slower" : "faster");
}

bool Replays(const TuningReport& report) { return report.backend == "replay"; }

void AddHeadline(const TuningReport& report, HtmlPage& page) {
  page.SourceBanner(report.time_source, Replays(report),
                    absl::StrCat(report.device, " · ", report.backend,
                                 report.versions.empty() ? "" : " · ", report.versions));
  const ProgramTotal* before = report.Total("default");
  const ProgramTotal* after = report.Total("best found");
  page.BeginCards();
  const std::optional<double> speedup = report.Speedup();
  const bool estimate = report.time_source == TimeSource::kEstimate;
  page.Card(estimate ? "Speed-up over the compiler's default (estimate)"
                     : "Speed-up over the compiler's default",
            SpeedupText(speedup),
            before != nullptr && after != nullptr
                ? absl::StrCat(FormatSeconds(before->seconds), " → ", FormatSeconds(after->seconds))
                : "no default with a time",
            true);
  page.Card("Measurements spent", FormatCount(report.measurements),
            report.budget ? absl::StrCat("of a budget of ", FormatCount(*report.budget))
                          : "without a limit");
  for (const ProgramTotal& total : report.totals) {
    if (after == nullptr || total.name == "default" || total.name == "best found") continue;
    const bool known = total.name == "best known";
    page.Card(
        known ? "Against the best known" : absl::StrCat("Against the ", total.name, " choice"),
        Distance(after->seconds, total.seconds), FormatSeconds(total.seconds));
  }
  page.Card(Replays(report) ? "Device time (simulated)" : "Device time",
            FormatSeconds(report.time.device_compile + report.time.device_run),
            absl::StrFormat("%.2f s on this machine", report.wall_seconds));
  page.EndCards();
  std::vector<std::string> notes = report.warnings;
  if (report.outcome == RunOutcome::kInterrupted) {
    notes.insert(notes.begin(), "The run was interrupted; it can be resumed.");
  }
  if (report.outcome == RunOutcome::kNothingMeasured) {
    notes.insert(notes.begin(), "No kernel got a time.");
  }
  page.Notes(notes);
}

void AddProgress(const TuningReport& report, HtmlPage& page) {
  const std::optional<json> by_measurements = ProgressChart(report, ProgressAxis::kMeasurements);
  if (!by_measurements) return;
  page.Section("Progress");
  page.BeginCharts();
  page.Chart("Best so far by measurements",
             "The program's time with the best configuration of each kernel so far.",
             *by_measurements);
  if (auto chart = ProgressChart(report, ProgressAxis::kDeviceTime)) {
    page.Chart("Best so far by device time",
               Replays(report) ? "What compiling and running the candidates costs on the device; "
                                 "here it is simulated from the recording."
                               : "Time spent compiling and running candidates.",
               *std::move(chart));
  } else if (auto wall = ProgressChart(report, ProgressAxis::kWallTime)) {
    page.Chart("Best so far by time", "Time on this machine since the start.", *std::move(wall));
  }
  page.EndCharts();
}

void AddKernelRow(const KernelReport& kernel, HtmlTable& table) {
  table.Row().Add(kernel.name);
  if (kernel.opaque) table.Tag("opaque");
  table.Add(kernel.kind).Add(FormatCount(kernel.count));
  table.Add(SecondsOf(kernel.compiler_default)).Add(SecondsOf(kernel.best));
  const std::optional<double> speedup = kernel.Speedup();
  table.Add(SpeedupText(speedup), speedup && *speedup > 1.005 ? "good" : "");
  table.Add(SecondsOf(kernel.best_known)).Add(FormatCount(kernel.measurements));
  if (!kernel.not_tuned.empty()) {
    table.Add("").Tag(kernel.not_tuned);
  } else {
    table.Add(kernel.best ? kernel.best->config.Key().substr(0, kKeyShown) : "");
  }
}

void AddKernels(const TuningReport& report, HtmlPage& page) {
  page.Section("Kernels");
  if (auto chart = KernelTimeChart(report)) {
    const int height = BarChartHeight(*chart);
    page.BeginCharts();
    page.Chart("Time per kernel, before and after",
               "Executions per run of the program times the time of one.", *std::move(chart),
               height);
    page.EndCharts();
  }
  HtmlTable table;
  table.Column("kernel", HtmlTable::Cell::kName)
      .Column("kind", HtmlTable::Cell::kText)
      .Column("count")
      .Column("default")
      .Column("best found")
      .Column("speed-up")
      .Column("best known")
      .Column("measurements")
      .Column("configuration found", HtmlTable::Cell::kKey);
  for (const KernelReport& kernel : report.kernels) AddKernelRow(kernel, table);
  page.Table(table);
  if (std::any_of(report.kernels.begin(), report.kernels.end(),
                  [](const KernelReport& kernel) { return kernel.opaque; })) {
    page.Paragraph(
        "Opaque: the configurations were recorded without their content. They can be compared, but "
        "not applied, and no model ranks them.");
  }
}

// Rank correlation and top-K error of a model on what the run measured of one kernel.
void AddModelRow(const TuningReport& report, const std::string& model, size_t kernel,
                 HtmlTable& table) {
  std::vector<double> scores, seconds;
  for (const CandidateOutcome& outcome : report.candidates) {
    if (outcome.kernel != kernel || !outcome.measurement || !outcome.measurement->ok()) continue;
    for (const Prediction& prediction : outcome.predictions) {
      if (prediction.model != model) continue;
      scores.push_back(prediction.score);
      seconds.push_back(outcome.measurement->MedianSeconds());
    }
  }
  if (scores.size() < 2) return;
  const std::optional<double> tau = KendallTau(scores, seconds);
  table.Row()
      .Add(report.kernels[kernel].name)
      .Add(model)
      .Add(FormatCount(static_cast<int64_t>(scores.size())));
  table.Add(tau ? absl::StrFormat("%.2f", *tau) : kNone);
  for (int64_t k : {1, 5, 10}) {
    table.Add(absl::StrFormat("%.1f %%", 100 * TopKError(scores, seconds, k).value_or(0)));
  }
}

void AddPredictions(const TuningReport& report, HtmlPage& page) {
  std::set<std::string> models;
  for (const CandidateOutcome& outcome : report.candidates) {
    for (const Prediction& prediction : outcome.predictions) models.insert(prediction.model);
  }
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
      page.Chart(absl::StrCat("Measured time against the ", model, " model's score"),
                 "A model that ranks well gives points that rise from left to right.",
                 *std::move(chart));
    }
    for (size_t i = 0; i < report.kernels.size(); ++i) AddModelRow(report, model, i, table);
  }
  page.EndCharts();
  page.Table(table);
  page.Paragraph(
      "Only candidates that were measured in this run count, and those are the ones that the model "
      "liked: `autotune compare` judges a model on a whole recording.");
}

void AddRoofline(const TuningReport& report, HtmlPage& page) {
  auto chart = RooflineChart(report);
  if (!chart) return;
  page.Section("Roofline");
  page.BeginCharts();
  page.Chart("Work per byte against performance",
             "Each kernel before and after. The lines are what memory and arithmetic of the device "
             "allow at their peaks.",
             *std::move(chart), 420);
  page.EndCharts();
}

void AddSpending(const TuningReport& report, HtmlPage& page) {
  page.Section("Where the budget and the time went");
  page.BeginCharts();
  if (auto chart = BudgetChart(report)) {
    const int height = BarChartHeight(*chart);
    page.Chart("Measurements per kernel", "", *std::move(chart), height);
  }
  if (auto chart = TimeSplitChart(report, TimeOf::kHost)) {
    page.Chart("Time on this machine", "", *std::move(chart), kOneBarHeight);
  }
  if (auto chart = TimeSplitChart(report, TimeOf::kDevice)) {
    page.Chart(Replays(report) ? "Device time (simulated)" : "Device time", "", *std::move(chart),
               kOneBarHeight);
  }
  page.EndCharts();
}

void AddFailures(const TuningReport& report, HtmlPage& page) {
  HtmlTable table;
  table.Column("kernel", HtmlTable::Cell::kName)
      .Column("failure", HtmlTable::Cell::kText)
      .Column("count")
      .Column("first error", HtmlTable::Cell::kName);
  bool any = false;
  for (const KernelReport& kernel : report.kernels) {
    for (const FailureCount& failure : kernel.failures) {
      any = true;
      table.Row().Add(kernel.name).Add(FailureKindName(failure.kind), "bad");
      table.Add(FormatCount(failure.count)).Add(failure.first_message);
    }
  }
  if (any) page.Table(table);
}

// Candidates as rows for report.js.
json CandidateRows(const TuningReport& report) {
  auto column = [](const char* title, const char* format, const char* css_class) {
    json result = {{"title", title}, {"class", css_class}};
    if (*format != 0) result["format"] = format;
    return result;
  };
  json columns = {column("#", "count", "n"),
                  column("kernel", "kernel", "name"),
                  column("role", "", ""),
                  column("fate", "", ""),
                  column("rank", "count", "n"),
                  column("score", "number", "n"),
                  column("time", "seconds", "n"),
                  column("failure", "", ""),
                  column("configuration", "", "key")};
  json kernels = json::array(), rows = json::array();
  for (const KernelReport& kernel : report.kernels) kernels.push_back(kernel.name);
  for (const CandidateOutcome& outcome : report.candidates) {
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
    rows.push_back(std::move(row));
  }
  return {{"columns", columns}, {"kernels", kernels}, {"rows", rows}};
}

void AddFates(const TuningReport& report, HtmlPage& page) {
  if (report.candidates.empty()) return;
  page.Section("What became of the candidates");
  page.Paragraph(
      "Proposed: ranked by the model and not chosen for measuring. Reused: answered from the "
      "records, at no cost.");
  if (auto chart = FateChart(report)) {
    const int height = BarChartHeight(*chart);
    page.BeginCharts();
    page.Chart("Candidates per kernel", "", *std::move(chart), height);
    page.EndCharts();
  }
  AddFailures(report, page);
  page.Candidates(CandidateRows(report), {"measured", "failed", "reused", "proposed"});
}

void AddEnvironment(const TuningReport& report, HtmlPage& page) {
  page.Section("Environment");
  page.BeginFacts();
  page.Fact("Run", report.run_id);
  page.Fact("Program", report.program);
  page.Fact("Backend", absl::StrCat(report.backend, report.backend_reason.empty() ? "" : ": ",
                                    report.backend_reason));
  page.Fact("Device", report.device);
  page.Fact("Versions", report.versions);
  page.Fact("Recordings", absl::StrJoin(report.recordings, ", "));
  page.Fact("Strategy, model, space",
            absl::StrJoin({report.strategy, report.model, report.space}, ", "));
  page.Fact("Seed", absl::StrCat(report.seed));
  page.Fact("Started", absl::FormatTime("%Y-%m-%d %H:%M:%S UTC",
                                        absl::FromUnixMicros(report.started_unix_micros),
                                        absl::UTCTimeZone()));
  page.Fact("Outcome", RunOutcomeName(report.outcome));
  page.Fact("Host", report.host);
  page.Fact("Record store",
            report.store.empty()
                ? ""
                : absl::StrCat(report.store, " (", FormatCount(report.store_hits), " hits, ",
                               FormatCount(report.store_misses), " misses)"));
  page.Fact("autotune", report.autotune_version);
  page.EndFacts();
  page.Section("Commands");
  page.Command("Apply the result", report.commands.apply);
  page.Command("Resume the run", report.commands.resume);
  page.Command("Reproduce the run", report.commands.reproduce);
}

}  // namespace

std::string RenderHtml(const TuningReport& report) {
  const std::string& name = report.program_name.empty() ? report.program : report.program_name;
  HtmlPage page(absl::StrCat("Tuning of ", name),
                absl::StrCat(report.program, " · ", report.kernels.size(), " kernels"));
  AddHeadline(report, page);
  AddProgress(report, page);
  AddKernels(report, page);
  AddRoofline(report, page);
  AddPredictions(report, page);
  AddSpending(report, page);
  AddFates(report, page);
  AddEnvironment(report, page);
  return page.Finish(absl::StrCat("Made by autotune ", report.autotune_version, "."));
}

}  // namespace autotune
