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
  autotune inspect before.hlo --fusion --svg groups.svg

The roofline is the larger of matrix products at the peak of the matrix units and HBM bytes at the
bandwidth of one core.
"compiler" is the compiler's own estimate of the tile that it chose, "analytical" this program's.)";

struct InspectOptions {
  std::string program;
  std::string target;
  int64_t limit = 40;
  bool json = false;
  bool fusion = false;
  FusionInspection of_fusion;
};

int RunInspect(const InspectOptions& options, CommandContext& context) {
  absl::StatusOr<Program> program = LoadProgram(options.program);
  if (!program.ok()) return context.Fail(program.status());
  if (options.fusion) {
    FusionInspection of_fusion = options.of_fusion;
    of_fusion.target = options.target;
    of_fusion.limit = options.limit;
    return RunFusionInspection(*program, of_fusion, context);
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
  command->add_option(
      "--target", options->target,
      "v2, v3, v4, v5e, v5p, v6e or v7x [the recording's; v3 for what was compiled for "
      "v2 or v3; else v5e]");
  AddNumber(*command, "--limit", options->limit, kCountRange,
            "Kernels to show, dearest first; 0 shows all")
      ->capture_default_str();
  CLI::Option* as_json =
      command->add_flag("--json", options->json, "One JSON document on standard output");
  CLI::Option* fusion = command->add_flag(
      "--fusion", options->fusion,
      "The kernels expected of a program before optimisation, and what each cut would "
      "save or cost by the analytical model");
  fusion->excludes(as_json);
  command
      ->add_option("--recording", options->of_fusion.recording,
                   "With --fusion: a fusion recording of the program; shows what was compiled")
      ->needs(fusion);
  command
      ->add_option("--model", options->of_fusion.model,
                   "With --fusion: the folder of a model of the fusion task; shows what it expects")
      ->needs(fusion);
  CLI::Option* svg = command->add_option(
      "--svg", options->of_fusion.svg,
      "With --fusion: a file for a picture of the groups, coloured by cost (needs Graphviz)");
  svg->needs(fusion);
  command
      ->add_flag("--dot", options->of_fusion.dot,
                 "With --fusion: the picture in Graphviz's language")
      ->needs(fusion)
      ->excludes(svg);
  command->footer(kExamples);
  command->callback([options, &context] { context.exit_code = RunInspect(*options, context); });
}

}  // namespace autotune
