#include <memory>
#include <ostream>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "nlohmann/json.hpp"
#include "tuner/command_status.h"
#include "tuner/commands.h"
#include "tuner/fleet_cluster.h"
#include "tuner/fleet_state.h"
#include "tuner/number_options.h"
#include "tuner/printable.h"
#include "tuner/text_table.h"

namespace autotune {
namespace {

constexpr char kExamples[] = R"(
Examples:
  autotune fleet up --workers 4 --worker-config worker.json
  autotune program.hlo --backend fleet --budget 200
  autotune fleet down
worker.json says what the workers measure with, {"backend": "pjrt"} or {"backend": "aot", "target": "v5e"}.
docs/fleet.md has clusters of several hosts. Whoever holds the fleet's token can run code on its hosts.)";

struct FleetCommandOptions {
  FleetUpOptions up;
  bool json = false;
};

int Up(const FleetCommandOptions& options, CommandContext& context) {
  const absl::StatusOr<FleetState> state = StartFleet(options.up);
  if (absl::IsInvalidArgument(state.status()) || absl::IsAlreadyExists(state.status())) {
    return context.Fail(WithExitCode(kExitWrongUse, state.status()));
  }
  if (!state.ok()) return context.Fail(WithExitCode(kExitBroken, state.status()));
  context.out << "the fleet is up at " << PrintableLine(state->address) << ": "
              << CountOf(state->workers, "worker") << "; its token is in "
              << PrintableLine(state->token_path) << "\n";
  return kExitDone;
}

int Status(const FleetCommandOptions& options, CommandContext& context) {
  const absl::StatusOr<FleetState> state = FleetState::Load();
  if (!state.ok() && !absl::IsNotFound(state.status())) return context.Fail(state.status());
  const std::vector<int> processes = state.ok() ? FleetProcesses(*state) : std::vector<int>();
  const bool up = !processes.empty();
  if (options.json) {
    nlohmann::json document = {{"schema", "autotune.fleet/1"}, {"up", up}};
    if (up) {
      document["address"] = state->address;
      document["workers"] = state->workers;
      document["resource"] = state->resource;
      document["processes"] = processes;
    }
    context.out << DumpJson(document) << "\n";
  } else if (up) {
    context.out << "up at " << PrintableLine(state->address) << ": "
                << CountOf(state->workers, "worker") << ", " << processes.size() << " processes\n";
  } else {
    context.out << (state.ok() ? "down: its processes are gone\n" : "down\n");
  }
  return up ? kExitDone : kExitNothingMeasured;
}

int Down(CommandContext& context) {
  const absl::Status status = StopFleet();
  if (absl::IsNotFound(status)) {
    context.out << "there was no fleet\n";
    return kExitDone;
  }
  if (!status.ok()) return context.Fail(WithExitCode(kExitBroken, status));
  context.out << "the fleet is down\n";
  return kExitDone;
}

}  // namespace

void AddFleetCommand(CLI::App& app, CommandContext& context) {
  CLI::App* fleet =
      app.add_subcommand("fleet", "Start, look at and end a fleet of workers on this machine");
  fleet->require_subcommand(1);
  fleet->footer(kExamples);
  auto options = std::make_shared<FleetCommandOptions>();
  CLI::App* up = fleet->add_subcommand("up", "Start Ray and let workers measure");
  AddNumber(*up, "--workers", options->up.workers, {1, 1024}, "One for each device")
      ->capture_default_str();
  AddNumber(*up, "--port", options->up.port, {1024, 65535}, "That the head listens on")
      ->capture_default_str();
  up->add_option("--address", options->up.address,
                 "That the head listens on; a loopback address stays on this machine")
      ->capture_default_str();
  up->add_option("--resource", options->up.resource, "What a worker takes: TPU on TPU hosts")
      ->capture_default_str();
  up->add_option("--worker-config", options->up.worker_config,
                 "JSON file: what the workers measure with")
      ->required();
  up->callback([options, &context] { context.exit_code = Up(*options, context); });
  CLI::App* status = fleet->add_subcommand("status", "Exit code 0 if it is up, else 1");
  status->add_flag("--json", options->json, "One JSON document on standard output");
  status->callback([options, &context] { context.exit_code = Status(*options, context); });
  CLI::App* down = fleet->add_subcommand("down", "End it");
  down->callback([&context] { context.exit_code = Down(context); });
}

}  // namespace autotune
