#include <memory>
#include <string>

#include "CLI/CLI.hpp"
#include "absl/status/statusor.h"
#include "nlohmann/json.hpp"
#include "tuner/command_status.h"
#include "tuner/commands.h"
#include "tuner/fusion_inspect.h"
#include "tuner/inspection.h"
#include "tuner/number_options.h"
#include "tuner/printable.h"
#include "tuner/program.h"

namespace autotune {
namespace {

constexpr char kExamples[] = R"(
Examples:
  autotune inspect program.hlo --target v3
  autotune inspect program.hlo --target v5e --limit 0 --json
  autotune inspect before.hlo --fusion --dot | dot -Tsvg > groups.svg

The roofline is the larger of FLOPs at the bfloat16 peak and HBM bytes at the bandwidth of one core.
"compiler" is the compiler's own estimate of the tile that it chose, "analytical" this program's.)";

struct InspectOptions {
  std::string program;
  std::string target;
  std::string recording;
  int64_t limit = 40;
  bool json = false;
  bool fusion = false;
  bool dot = false;
};

int RunInspect(const InspectOptions& options, CommandContext& context) {
  absl::StatusOr<Program> program = LoadProgram(options.program);
  if (!program.ok()) return context.Fail(program.status());
  if (options.fusion || options.dot) {
    return RunFusionInspection(*program, options.target, options.recording, options.limit,
                               options.dot, context);
  }
  absl::StatusOr<Inspection> inspection = Inspect(*program, options.target);
  if (!inspection.ok()) return context.Fail(inspection.status());
  for (const std::string& warning : program->warnings) {
    context.err << "warning: " << PrintableText(warning) << "\n";
  }
  if (options.json) {
    context.out << DumpJson(InspectionJson(*inspection)) << "\n";
  } else {
    context.out << PrintableText(InspectionText(*inspection, options.limit));
  }
  return kExitDone;
}

}  // namespace

void AddInspectCommand(CLI::App& app, CommandContext& context) {
  CLI::App* command =
      app.add_subcommand("inspect", "Kernels, what they cost and where the time goes");
  auto options = std::make_shared<InspectOptions>();
  command->add_option("PROGRAM", options->program, "HLO text or protobuf, or a recording")
      ->required();
  command->add_option("--target", options->target,
                      "v2, v3, v4, v5e, v5p, v6e or v7x [the recording's, else v5e]");
  AddNumber(*command, "--limit", options->limit, kCountRange,
            "Kernels to show, dearest first; 0 shows all")
      ->capture_default_str();
  command->add_flag("--json", options->json, "One JSON document on standard output");
  CLI::Option* fusion = command->add_flag(
      "--fusion", options->fusion,
      "The kernels expected of a program before optimisation, and what each cut would "
      "save or cost by the analytical model");
  command
      ->add_option("--recording", options->recording,
                   "With --fusion: a fusion recording of the program; shows what was compiled")
      ->needs(fusion);
  command->add_flag("--dot", options->dot, "The same as a Graphviz graph, groups coloured by cost");
  command->footer(kExamples);
  command->callback([options, &context] { context.exit_code = RunInspect(*options, context); });
}

}  // namespace autotune
