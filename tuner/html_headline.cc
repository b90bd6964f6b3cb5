// The first and the last part of a run's page: what was gained, and how to go on.

#include <algorithm>
#include <cmath>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/time.h"
#include "tuner/html_charts.h"
#include "tuner/html_sections.h"
#include "tuner/report_text.h"
#include "tuner/text_table.h"

namespace autotune {
namespace {

// How much slower than `best` something is: "1.3 % slower".
std::string Distance(double seconds, double best) {
  const double percent = 100 * (seconds / best - 1);
  if (std::abs(percent) < 0.05) return "as fast";
  return absl::StrFormat("%.1f %% %s", std::abs(percent), percent > 0 ? "slower" : "faster");
}

void AddSpeedup(const TuningReport& report, HtmlPage& page) {
  const ProgramTotal* before = report.Total("default");
  const ProgramTotal* after = report.Total("best found");
  const std::optional<double> speedup = report.Speedup();
  HtmlHero hero;
  hero.label = report.time_source == TimeSource::kEstimate
                   ? "Estimated speed-up over the compiler's default"
                   : "Speed-up over the compiler's default";
  hero.estimate = report.time_source == TimeSource::kEstimate;
  hero.value = speedup ? FormatSpeedup(*speedup) : "–";
  hero.interval = speedup ? DescribeInterval(report) : "";
  if (before != nullptr && after != nullptr) {
    hero.sentence = absl::StrCat("One run of the program takes ", FormatSeconds(after->seconds),
                                 " instead of ", FormatSeconds(before->seconds), ".");
  } else {
    hero.sentence = "No default with a time to compare with.";
  }
  page.Hero(hero, ProgramLadder(report));
}

int64_t ImprovedKernels(const TuningReport& report) {
  return std::count_if(report.kernels.begin(), report.kernels.end(), [](const auto& kernel) {
    const std::optional<double> speedup = kernel.Speedup();
    return speedup && *speedup > 1.005;
  });
}

void AddCards(const TuningReport& report, HtmlPage& page) {
  page.BeginCards();
  page.Card("Measurements spent", FormatCount(report.measurements),
            report.budget ? absl::StrCat("of a budget of ", FormatCount(*report.budget))
                          : "without a limit");
  page.Card("Kernels that got faster", FormatCount(ImprovedKernels(report)),
            absl::StrCat("of ", FormatCount(static_cast<int64_t>(report.kernels.size()))));
  const ProgramTotal* after = report.Total("best found");
  for (const ProgramTotal& total : report.totals) {
    if (after == nullptr || total.name == "default" || total.name == "best found") continue;
    const bool known = total.name == "best known";
    page.Card(known ? "Against the best known"
                    : absl::StrCat("Against the ", total.name, " model's choice"),
              Distance(after->seconds, total.seconds), FormatSeconds(total.seconds));
  }
  const double device = report.time.device_compile + report.time.device_run;
  if (device > 0) {
    page.Card(Replays(report) ? "Device time (simulated)" : "Device time", FormatSeconds(device),
              absl::StrCat(FormatSeconds(report.wall_seconds), " on this machine"));
  } else if (report.wall_seconds > 0) {
    page.Card("Time", FormatSeconds(report.wall_seconds), "on this machine");
  }
  page.EndCards();
}

std::vector<std::string> NotesOf(const TuningReport& report) {
  std::vector<std::string> notes;
  if (report.outcome == RunOutcome::kInterrupted) {
    notes.emplace_back("The run was interrupted; it can be resumed.");
  }
  if (report.outcome == RunOutcome::kFailed) {
    notes.push_back(absl::StrCat("The run stopped: ", report.error));
  }
  if (report.outcome == RunOutcome::kNothingMeasured) {
    notes.emplace_back("No kernel got a time.");
  }
  notes.insert(notes.end(), report.warnings.begin(), report.warnings.end());
  return notes;
}

void AddFacts(const TuningReport& report, HtmlPage& page) {
  page.BeginFacts();
  page.Fact("Run", report.run_id);
  page.Fact("Program", report.program);
  page.Fact("Backend", absl::StrCat(report.backend, report.backend_reason.empty() ? "" : ": ",
                                    report.backend_reason));
  page.Fact("Device", report.device);
  page.Fact("Times are", report.time_source == TimeSource::kEstimate ? "estimates" : "of hardware");
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
                : absl::StrCat(report.store, " (kernels: ", FormatCount(report.store_hits),
                               " hits, ", FormatCount(report.store_misses), " misses)"));
  page.Fact("Results", report.output_directory);
  page.Fact("autotune", report.autotune_version);
  page.EndFacts();
}

}  // namespace

void AddHeadline(const TuningReport& report, HtmlPage& page) {
  page.SourceBanner(report.time_source, Replays(report),
                    absl::StrCat(report.device, " · ", report.backend,
                                 report.versions.empty() ? "" : " · ", report.versions));
  AddSpeedup(report, page);
  AddCards(report, page);
  page.Notes(NotesOf(report));
}

void AddEnvironment(const TuningReport& report, HtmlPage& page) {
  const NextCommands& commands = report.commands;
  if (!commands.apply.empty() || !commands.resume.empty() || !commands.reproduce.empty()) {
    page.Section("Commands");
    page.Command("Apply the result", commands.apply);
    page.Command("Resume the run", commands.resume);
    page.Command("Reproduce the run", commands.reproduce);
  }
  page.Section("Environment");
  AddFacts(report, page);
}

}  // namespace autotune
