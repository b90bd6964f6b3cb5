#include <memory>
#include <ostream>
#include <string>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "hardware/atomic_file.h"
#include "nlohmann/json.hpp"
#include "tuner/command_status.h"
#include "tuner/commands.h"
#include "tuner/html_report.h"
#include "tuner/printable.h"
#include "tuner/report_render.h"
#include "tuner/stored_run.h"

namespace autotune {
namespace {

constexpr char kExamples[] = R"(
Examples:
  autotune report autotune-runs/20261129-163000-alexnet      writes its report.html again
  autotune report RUN --html /tmp/alexnet.html               to another place
  autotune report RUN/report.json --html page.html           of a report that was sent to you

RUN may still be under way, or have been killed: its records then say what is known so far.)";

struct ReportOptions {
  std::string run;
  std::string html;
  bool json = false;
};

// Where the page goes: beside the data it was made from.
std::string HtmlPath(const ReportOptions& options) {
  if (!options.html.empty()) return options.html;
  constexpr absl::string_view kJson = ".json";
  if (options.run.size() > kJson.size() && options.run.ends_with(std::string(kJson))) {
    return absl::StrCat(options.run.substr(0, options.run.size() - kJson.size()), ".html");
  }
  return absl::StrCat(options.run, "/report.html");
}

int RunReport(const ReportOptions& options, CommandContext& context) {
  absl::StatusOr<TuningReport> report = LoadStoredRun(options.run, context.arguments.front());
  if (!report.ok()) return context.Fail(report.status());
  for (const std::string& warning : report->warnings) {
    context.err << "warning: " << PrintableLine(warning) << "\n";
  }
  if (options.json) {
    context.out << DumpJson(RenderJson(*report)) << "\n";
  } else {
    context.out << PrintableText(
        absl::StrCat(RenderHeadline(HeadlineOf(*report)), "\n", RenderConsole(*report)));
  }
  const std::string path = HtmlPath(options);
  const absl::Status written = WriteFileAtomically(path, RenderHtml(*report));
  if (!written.ok()) return context.Fail(WithExitCode(kExitBroken, written));
  if (!options.json) context.out << PrintableText(absl::StrCat("report:  ", path, "\n"));
  context.out.flush();
  return kExitDone;
}

}  // namespace

void AddReportCommand(CLI::App& app, CommandContext& context) {
  CLI::App* command = app.add_subcommand("report", "The report again, from a stored run");
  auto options = std::make_shared<ReportOptions>();
  command->add_option("RUN", options->run, "Folder of a run, or its report.json")->required();
  command->add_option("--html", options->html, "Write the page here [RUN/report.html]");
  command->add_flag("--json", options->json, "One JSON document on standard output");
  command->footer(kExamples);
  command->callback([options, &context] { context.exit_code = RunReport(*options, context); });
}

}  // namespace autotune
