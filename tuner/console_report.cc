#include <algorithm>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "tuner/report_render.h"
#include "tuner/report_text.h"
#include "tuner/select_best.h"
#include "tuner/text_table.h"

namespace autotune {
namespace {

// More kernels than this are shown by the time that they take; the JSON report has all.
constexpr size_t kShownKernels = 40;

std::string Cell(const std::optional<ConfigResult>& result) {
  if (!result) return "-";
  if (!result->measurement.ok()) return "failed";
  return FormatSeconds(result->measurement.MedianSeconds());
}

// " (estimate)" beside every time that no hardware gave.
const char* Mark(const TuningReport& report) {
  return report.time_source == TimeSource::kEstimate ? " (estimate)" : "";
}

double ProgramSeconds(const KernelReport& kernel) {
  for (const std::optional<ConfigResult>* result : {&kernel.compiler_default, &kernel.best}) {
    if (*result && (*result)->measurement.ok()) {
      return static_cast<double>(kernel.count) * (*result)->measurement.MedianSeconds();
    }
  }
  return 0;
}

// Positions of the kernels to show, in the program's order or by time if there are too many.
std::vector<size_t> ShownKernels(const TuningReport& report) {
  std::vector<size_t> shown(report.kernels.size());
  std::iota(shown.begin(), shown.end(), size_t{0});
  if (shown.size() <= kShownKernels) return shown;
  std::stable_sort(shown.begin(), shown.end(), [&](size_t a, size_t b) {
    return ProgramSeconds(report.kernels[a]) > ProgramSeconds(report.kernels[b]);
  });
  shown.resize(kShownKernels);
  return shown;
}

std::string KernelTable(const TuningReport& report) {
  const std::string mark = Mark(report);
  const bool has_best_known =
      std::any_of(report.kernels.begin(), report.kernels.end(),
                  [](const KernelReport& kernel) { return kernel.best_known.has_value(); });
  using Align = TextTable::Align;
  TextTable table;
  table.Column("kernel", Align::kLeft).Column("kind", Align::kLeft).Column("count");
  table.Column("default" + mark).Column("best found" + mark);
  if (has_best_known) table.Column("best known" + mark);
  table.Column("speed-up").Column("measured").Column("space", Align::kLeft);
  for (size_t i : ShownKernels(report)) {
    const KernelReport& kernel = report.kernels[i];
    std::vector<std::string> row = {absl::StrCat(kernel.name, kernel.opaque ? " *" : ""),
                                    kernel.kind, FormatCount(kernel.count),
                                    Cell(kernel.compiler_default), Cell(kernel.best)};
    if (has_best_known) row.push_back(Cell(kernel.best_known));
    const std::optional<double> speedup = kernel.Speedup();
    row.push_back(speedup ? FormatSpeedup(*speedup) : "-");
    row.push_back(FormatCount(kernel.measurements));
    row.push_back(kernel.not_tuned.empty() ? kernel.space : kernel.not_tuned);
    table.Row(std::move(row));
  }
  return table.ToString();
}

std::string KernelNotes(const TuningReport& report) {
  std::string text;
  if (report.kernels.size() > kShownKernels) {
    absl::StrAppend(&text, "the ", kShownKernels, " kernels that take longest, of ",
                    report.kernels.size(), "; all of them are in report.json\n");
  }
  if (std::any_of(report.kernels.begin(), report.kernels.end(),
                  [](const KernelReport& kernel) { return kernel.opaque; })) {
    text +=
        "* opaque: the recording does not say which tile was used, so the result cannot be "
        "applied\n";
  }
  return text;
}

// What each of several programs gained.
std::string ProgramsTable(const TuningReport& report) {
  if (report.programs.empty()) return "";
  TextTable table;
  table.Column("program", TextTable::Align::kLeft).Column("kernels");
  table.Column(absl::StrCat("default", Mark(report)))
      .Column(absl::StrCat("best found", Mark(report)))
      .Column("speed-up");
  const auto seconds = [](const std::optional<double>& value) {
    return value ? FormatSeconds(*value) : std::string("-");
  };
  for (const ProgramReport& program : report.programs) {
    const std::optional<double> speedup = program.Speedup();
    table.Row({program.path, FormatCount(static_cast<int64_t>(program.kernels.size())),
               seconds(program.default_seconds), seconds(program.best_seconds),
               speedup ? FormatSpeedup(*speedup) : "-"});
  }
  return absl::StrCat(table.ToString(), "\n");
}

std::string TotalsTable(const TuningReport& report) {
  if (report.totals.empty()) return "";
  const ProgramTotal* base = report.Total("default");
  TextTable table;
  table.Column(report.programs.empty() ? "program" : "all programs", TextTable::Align::kLeft)
      .Column(absl::StrCat("time", Mark(report)))
      .Column("speed-up")
      .Column("kernels", TextTable::Align::kLeft);
  for (const ProgramTotal& total : report.totals) {
    table.Row({TotalTitle(total.name), FormatSeconds(total.seconds),
               base != nullptr ? FormatSpeedup(base->seconds / total.seconds) : "-",
               absl::StrCat(total.kernels, " of ", report.kernels.size())});
  }
  return table.ToString();
}

std::string Failures(const TuningReport& report) {
  std::string text;
  for (const KernelReport& kernel : report.kernels) {
    for (const FailureCount& failure : kernel.failures) {
      absl::StrAppend(&text, kernel.name, ": ", failure.count, " x ",
                      std::string(FailureKindName(failure.kind)));
      if (!failure.first_message.empty()) absl::StrAppend(&text, " (", failure.first_message, ")");
      text += "\n";
    }
  }
  return text.empty() ? text : absl::StrCat("\nfailed candidates\n", text);
}

// "speed-up 1.10x (1.08x to 1.12x with 95 % confidence)".
std::string SpeedupLine(const TuningReport& report) {
  const std::optional<double> speedup = report.Speedup();
  if (!speedup) return "";
  const std::string interval = DescribeInterval(report);
  const ProgramTotal* base = report.Total("default");
  const auto all = static_cast<int64_t>(report.kernels.size());
  return absl::StrCat(
      "speed-up", Mark(report), " ", FormatSpeedup(*speedup),
      interval.empty() ? "" : absl::StrCat(" (", interval, ")"),
      base == nullptr || base->kernels == all
          ? ""
          : absl::StrCat(" of the ", base->kernels, " of ", all, " kernels that have a time"),
      "\n");
}

std::string Summary(const TuningReport& report) {
  std::string text = absl::StrCat(SpeedupLine(report), FormatCount(report.measurements));
  if (report.budget) absl::StrAppend(&text, " of ", FormatCount(*report.budget));
  absl::StrAppend(&text, " measurements");
  int64_t reused = 0;
  for (const KernelReport& kernel : report.kernels) reused += kernel.reused;
  if (reused > 0) absl::StrAppend(&text, ", ", FormatCount(reused), " results from the store");
  absl::StrAppendFormat(&text, ", %.2f s", report.wall_seconds);
  if (report.time.device_compile + report.time.device_run > 0) {
    absl::StrAppendFormat(&text, " (device: %.1f s compiling, %.3f s running)",
                          report.time.device_compile, report.time.device_run);
  }
  absl::StrAppendFormat(&text, "; times within %g %% are ties, and the default wins them\n",
                        100 * kTieWindow);
  return text;
}

std::string Footer(const TuningReport& report) {
  std::string text;
  if (report.outcome == RunOutcome::kFailed) {
    absl::StrAppend(&text, "\nstopped: ", report.error, "\n");
  }
  if (report.outcome == RunOutcome::kInterrupted) text += "\ninterrupted\n";
  if (report.outcome == RunOutcome::kNothingMeasured) {
    text += "\nnothing could be measured: no kernel has a time\n";
  }
  if (!report.store.empty()) {
    absl::StrAppend(&text, "store:   ", report.store, " (kernels: ", report.store_hits,
                    report.store_hits == 1 ? " hit, " : " hits, ", report.store_misses,
                    report.store_misses == 1 ? " miss)\n" : " misses)\n");
  }
  if (!report.output_directory.empty()) {
    absl::StrAppend(&text, "results: ", report.output_directory, "\n");
  }
  if (!report.commands.resume.empty()) {
    absl::StrAppend(&text, "resume:  ", report.commands.resume, "\n");
  }
  if (!report.commands.apply.empty()) {
    absl::StrAppend(&text, "apply:   ", report.commands.apply, "\n");
  }
  return text;
}

}  // namespace

RunHeadline HeadlineOf(const TuningReport& report) {
  return {.backend = report.backend,
          .device = report.device,
          .time_source = report.time_source,
          .reason = report.backend_reason,
          .program = report.program,
          .programs = static_cast<int64_t>(report.programs.size()),
          .kernels = static_cast<int64_t>(report.kernels.size()),
          .strategy = report.strategy,
          .model = report.model,
          .seed = report.seed};
}

std::string RenderHeadline(const RunHeadline& headline) {
  const bool estimate = headline.time_source == TimeSource::kEstimate;
  return absl::StrCat(
      "backend: ", headline.backend, " for ", headline.device, ", ",
      estimate ? "ESTIMATES, not hardware times" : "hardware times",
      headline.reason.empty() ? "" : absl::StrCat(" (", headline.reason, ")"),
      "\nprogram: ", headline.program,
      headline.programs > 0 ? absl::StrCat(" (", headline.programs, " in all)") : "", ", ",
      headline.kernels, headline.kernels == 1 ? " kernel" : " kernels", "; strategy ",
      headline.strategy, ", model ", headline.model, ", seed ", headline.seed, "\n");
}

std::string RenderConsole(const TuningReport& report) {
  return absl::StrCat(KernelTable(report), KernelNotes(report), "\n", ProgramsTable(report),
                      TotalsTable(report), Failures(report), "\n", Summary(report), Footer(report));
}

}  // namespace autotune
