#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "hardware/device_spec.h"
#include "nlohmann/json.hpp"
#include "tuner/backend_probe.h"
#include "tuner/commands.h"
#include "tuner/printable.h"
#include "tuner/text_table.h"

namespace autotune {
namespace {

using nlohmann::json;

constexpr char kExamples[] = R"(
Examples:
  autotune backends
  autotune backends --check --target v3     compiles and measures a small kernel with each

Ends with exit code 4 if --check finds one that is there but does not work.)";

struct BackendsOptions {
  std::string target = "v5e";
  std::string plugin;
  bool check = false;
  bool json = false;
};

int RunBackends(const BackendsOptions& options, CommandContext& context) {
  if (absl::Status known = FindDeviceSpec(options.target).status(); !known.ok()) {
    return context.Fail(kExitWrongUse, absl::StrCat("--target: ", known.message()));
  }
  const std::vector<BackendState> states =
      ProbeBackends({.target = options.target, .plugin = options.plugin, .check = options.check});
  json list = json::array();
  TextTable table;
  table.Column("backend", TextTable::Align::kLeft).Column("available", TextTable::Align::kLeft);
  table.Column("", TextTable::Align::kLeft);
  bool broken = false;
  for (const BackendState& state : states) {
    broken |= state.broken;
    list.push_back({{"name", state.name},
                    {"available", state.available},
                    {"broken", state.broken},
                    {"found", state.found},
                    {"missing", state.missing},
                    {"versions", state.versions},
                    {"measured", state.measured},
                    {"says", state.Says()}});
    table.Row({state.name,
               state.broken      ? "broken"
               : state.available ? "yes"
                                 : "no",
               absl::StrReplaceAll(state.Says(), {{"\n", " "}})});
  }
  if (options.json) {
    context.out << DumpJson({{"schema", "autotune.backends/1"}, {"backends", list}}) << "\n";
  } else {
    context.out << table.ToString();
  }
  return broken ? kExitBroken : kExitDone;
}

}  // namespace

void AddBackendsCommand(CLI::App& app, CommandContext& context) {
  CLI::App* command =
      app.add_subcommand("backends", "What can measure here, and why the rest cannot");
  auto options = std::make_shared<BackendsOptions>();
  command->add_flag("--check", options->check, "Measure a small kernel with each");
  command->add_option("--target", options->target, "Generation that aot is checked for")
      ->capture_default_str();
  command->add_option("--plugin", options->plugin,
                      "PJRT plugin of the device to check [a TPU, else a CPU plugin]");
  command->add_flag("--json", options->json, "One JSON document on standard output");
  command->footer(kExamples);
  command->callback([options, &context] { context.exit_code = RunBackends(*options, context); });
}

}  // namespace autotune
