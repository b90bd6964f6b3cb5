// The section of a run's page about several programs that were tuned together.

#include <algorithm>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "tuner/html_charts.h"
#include "tuner/html_page.h"
#include "tuner/html_sections.h"
#include "tuner/text_table.h"

namespace autotune {
namespace {

constexpr size_t kRowsOpen = 12;  // programs in the table before it is folded

// How many programs have the kernel.
int64_t ProgramsWith(const TuningReport& report, size_t kernel) {
  return std::count_if(
      report.programs.begin(), report.programs.end(), [&](const ProgramReport& program) {
        return std::any_of(program.kernels.begin(), program.kernels.end(),
                           [&](const ProgramKernel& part) { return part.kernel == kernel; });
      });
}

int64_t SharedKernels(const TuningReport& report) {
  int64_t shared = 0;
  for (size_t i = 0; i < report.kernels.size(); ++i) shared += ProgramsWith(report, i) > 1 ? 1 : 0;
  return shared;
}

std::string TimeOf(const std::optional<double>& seconds) {
  return seconds ? FormatSeconds(*seconds) : "–";
}

HtmlTable ProgramTable(const TuningReport& report) {
  HtmlTable table;
  table.Column("program", HtmlTable::Cell::kName)
      .Column("module", HtmlTable::Cell::kText)
      .Column("kernels")
      .Column("share of time", HtmlTable::Cell::kBar)
      .Column("default")
      .Column("best found")
      .Column("speed-up");
  double all = 0;
  for (const ProgramReport& program : report.programs) all += program.default_seconds.value_or(0);
  for (const ProgramReport& program : report.programs) {
    const std::optional<double> speedup = program.Speedup();
    table.Row()
        .Add(program.path)
        .Add(program.name)
        .Add(FormatCount(static_cast<int64_t>(program.kernels.size())))
        .Bar(all > 0 ? program.default_seconds.value_or(0) / all : 0)
        .Add(TimeOf(program.default_seconds))
        .Add(TimeOf(program.best_seconds))
        .Add(speedup ? FormatSpeedup(*speedup) : "–", speedup && *speedup > 1.005 ? "good" : "");
  }
  return table;
}

}  // namespace

void AddPrograms(const TuningReport& report, HtmlPage& page) {
  if (report.programs.empty()) return;
  page.Section("Programs");
  const HtmlTable table = ProgramTable(report);
  if (report.programs.size() > kRowsOpen) {
    page.FoldedTable(absl::StrCat("All ", report.programs.size(), " programs"), table);
  } else {
    page.Table(table);
  }
  const int64_t shared = SharedKernels(report);
  page.Paragraph(absl::StrCat(
      "Time of one run of each program. ", FormatCount(shared),
      shared == 1 ? " kernel is" : " kernels are",
      " part of several programs: measured once, it counts in each with its executions there; the "
      "totals above are one run of every program."));
}

}  // namespace autotune
