#include <unistd.h>

#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tuner/commands.h"
#include "tuner/run_tuning.h"
#include "tuner/tune_options.h"

namespace autotune {
namespace {

constexpr char kExamples[] = R"(
Examples:
  autotune program.hlo --recording tpu_v3.pb --budget 40
  autotune program.hlo --recording tpu_v3.pb --budget 0       defaults and what is recorded
  autotune tpu_v3.pb --strategy annealing --model none        without a cost model
  autotune --out autotune-runs/RUN --resume                   go on with an interrupted run

Results go to --out: best.json (the configurations), report.json (everything), records.db (every
candidate). docs/cli.md describes them.)";

}  // namespace

void AddTuneCommand(CLI::App& app, CommandContext& context) {
  CLI::App* command =
      app.add_subcommand("tune", "Find faster configurations (the default command)");
  auto options = std::make_shared<TuneOptions>();
  AddTuneOptions(*command, *options);
  command->footer(kExamples);
  command->callback([command, options, &context] {
    context.exit_code = RunTuning(*options, GivenOptions(*command), context);
  });
}

}  // namespace autotune
