#include <algorithm>
#include <memory>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_replace.h"
#include "hardware/aot_backend.h"
#include "hardware/pjrt_discovery.h"
#include "hlo/parser.h"
#include "nlohmann/json.hpp"
#include "tuner/commands.h"
#include "tuner/text_table.h"

namespace autotune {
namespace {

using nlohmann::json;

constexpr char kExamples[] = R"(
Examples:
  autotune backends
  autotune backends --check --target v3     compiles and measures a small kernel with each

Ends with exit code 4 if --check finds one that is there but does not work.)";

// A program that every TPU compiler turns into one kernel.
constexpr char kProbe[] = R"(HloModule probe
ENTRY probe {
  a = f32[1024,1024] parameter(0)
  b = f32[1024,1024] parameter(1)
  c = f32[1024,1024] multiply(a, b)
  ROOT d = f32[1024,1024] add(c, a)
}
)";

struct BackendsOptions {
  std::string target = "v5e";
  bool check = false;
  bool json = false;
};

struct BackendState {
  std::string name;
  bool available = false;
  bool broken = false;  // available, but the check failed
  std::string says;     // what was found, or what is missing and how to get it
};

// Compiles the probe and measures the compiler's choice for its kernel.
absl::StatusOr<std::string> ProbeAot(const std::string& target) {
  absl::StatusOr<std::unique_ptr<AotBackend>> backend = AotBackend::Create({.target = target});
  if (!backend.ok()) return backend.status();
  absl::StatusOr<std::unique_ptr<HloModule>> probe = ParseHloText(kProbe);
  if (!probe.ok()) return probe.status();
  absl::StatusOr<AotDefault> compiled = (*backend)->CompileProgram(**probe);
  if (!compiled.ok()) return compiled.status();
  const auto kernel = std::find_if(
      compiled->kernels.begin(), compiled->kernels.end(),
      [](const Kernel& k) { return k.compiler_choice && !k.compiler_choice->bounds.IsEmpty(); });
  if (kernel == compiled->kernels.end()) {
    return absl::InternalError("the compiler's output holds no kernel");
  }
  const Candidate candidate = {&*kernel, Config(kernel->compiler_choice->bounds)};
  absl::StatusOr<std::vector<Measurement>> result = (*backend)->Measure({candidate});
  if (!result.ok()) return result.status();
  if (!result->front().ok()) return absl::InternalError(result->front().failure().message);
  return absl::StrCat("checked: ", FormatSeconds(result->front().MedianSeconds()),
                      " (estimate) for a small kernel on ", (*backend)->capabilities().device, "; ",
                      (*backend)->capabilities().versions);
}

BackendState Aot(const BackendsOptions& options) {
  BackendState state = {.name = "aot"};
  absl::StatusOr<std::string> libtpu = FindLibtpu();
  if (!libtpu.ok()) {
    state.says = std::string(libtpu.status().message());
    return state;
  }
  state.available = true;
  state.says = absl::StrCat("the TPU compiler, ahead of time (estimates): ", *libtpu);
  if (!options.check) return state;
  absl::StatusOr<std::string> checked = ProbeAot(options.target);
  state.broken = !checked.ok();
  absl::StrAppend(
      &state.says, "; ",
      checked.ok() ? *checked : absl::StrCat("BROKEN: ", std::string(checked.status().message())));
  return state;
}

std::vector<BackendState> FindBackends(const BackendsOptions& options) {
  return {{.name = "replay",
           .available = true,
           .says = "recorded measurements: --recording FILE, or a recording as PROGRAM"},
          Aot(options),
          {.name = "pjrt", .says = "measuring on a device is not part of this version yet"},
          {.name = "fleet", .says = "measuring on a cluster is not part of this version yet"}};
}

int RunBackends(const BackendsOptions& options, CommandContext& context) {
  const std::vector<BackendState> states = FindBackends(options);
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
                    {"says", state.says}});
    table.Row({state.name,
               state.broken      ? "broken"
               : state.available ? "yes"
                                 : "no",
               absl::StrReplaceAll(state.says, {{"\n", " "}})});
  }
  if (options.json) {
    context.out << json{{"schema", "autotune.backends/1"}, {"backends", list}}.dump(2) << "\n";
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
  command->add_option("--target", options->target, "Generation to check for")
      ->capture_default_str();
  command->add_flag("--json", options->json, "One JSON document on standard output");
  command->footer(kExamples);
  command->callback([options, &context] { context.exit_code = RunBackends(*options, context); });
}

}  // namespace autotune
