#include "tuner/fleet_state.h"

#include <cstdlib>
#include <filesystem>
#include <system_error>

#include "absl/strings/str_cat.h"
#include "hardware/atomic_file.h"
#include "nlohmann/json.hpp"
#include "tuner/printable.h"

namespace autotune {
namespace {

using nlohmann::json;

constexpr char kSchema[] = "autotune.fleet-state/1";

std::string Environment(const char* name, const std::string& otherwise) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0' ? value : otherwise;
}

std::string StatePath() { return FleetFolder() + "/fleet.json"; }

}  // namespace

std::string FleetFolder() {
  if (const std::string folder = Environment("AUTOTUNE_FLEET_FOLDER", ""); !folder.empty()) {
    return folder;
  }
  if (const std::string state = Environment("XDG_STATE_HOME", ""); !state.empty()) {
    return state + "/autotune/fleet";
  }
  const std::string home = Environment("HOME", "");
  return home.empty() ? "" : home + "/.local/state/autotune/fleet";
}

absl::Status FleetState::Save() const {
  const json state = {{"schema", kSchema},        {"address", address},
                      {"token_path", token_path}, {"resource", resource},
                      {"ray_folder", ray_folder}, {"workers", workers}};
  return WriteFileAtomically(StatePath(), DumpJson(state, 1) + "\n");
}

absl::StatusOr<FleetState> FleetState::Load() {
  const absl::StatusOr<std::string> content = ReadWholeFile(StatePath());
  if (!content.ok()) return absl::NotFoundError("there is no fleet of `autotune fleet up`");
  const json state = json::parse(*content, nullptr, /*allow_exceptions=*/false);
  const auto text = [&](const char* name) {
    const auto member = state.find(name);
    return member != state.end() && member->is_string() ? member->get<std::string>() : "";
  };
  if (!state.is_object() || text("schema") != kSchema || !state.contains("workers") ||
      !state["workers"].is_number_integer()) {
    return absl::InvalidArgumentError(absl::StrCat(StatePath(), " is no state of a fleet"));
  }
  return FleetState{text("address"), text("token_path"), text("resource"), text("ray_folder"),
                    state["workers"].get<int64_t>()};
}

void FleetState::Remove() {
  std::error_code ignored;
  std::filesystem::remove(StatePath(), ignored);
}

absl::StatusOr<FleetState> FleetState::Find() {
  const std::string address = Environment("RAY_ADDRESS", "");
  if (!address.empty()) {
    return FleetState{.address = address,
                      .token_path = Environment("RAY_AUTH_TOKEN_PATH", ""),
                      .resource = Environment("AUTOTUNE_FLEET_RESOURCE", "TPU")};
  }
  absl::StatusOr<FleetState> state = Load();
  if (!absl::IsNotFound(state.status())) return state;
  return absl::NotFoundError(
      "there is no fleet: `autotune fleet up` starts one on this machine, RAY_ADDRESS names the "
      "head of another (docs/fleet.md)");
}

}  // namespace autotune
