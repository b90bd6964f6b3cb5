#include "tuner/fleet_choice.h"

#include <algorithm>
#include <utility>

#include "hardware/fleet_backend.h"
#include "hardware/fleet_transport.h"
#include "tuner/command_status.h"
#include "tuner/fleet_state.h"

namespace autotune {

absl::StatusOr<ChosenFleet> ConnectFleet(int64_t jobs, double timeout_seconds,
                                         std::function<void(const std::string&)> notify) {
  const absl::StatusOr<FleetState> state = FleetState::Find();
  if (!state.ok()) return WithExitCode(kExitBroken, state.status());
  absl::StatusOr<std::unique_ptr<FleetTransport>> transport = ConnectRayCluster(
      {.address = state->address, .token_path = state->token_path, .resource = state->resource});
  if (!transport.ok()) return WithExitCode(kExitBroken, transport.status());
  FleetOptions options;
  options.workers = static_cast<int>(jobs > 0 ? jobs : std::max<int64_t>(1, state->workers));
  options.timeout = absl::Seconds(timeout_seconds);
  options.notify = std::move(notify);
  ChosenFleet chosen;
  chosen.workers = options.workers;
  chosen.address = state->address;
  absl::StatusOr<std::unique_ptr<FleetBackend>> fleet =
      FleetBackend::Create(*std::move(transport), options);
  if (!fleet.ok()) return WithExitCode(kExitBroken, fleet.status());
  chosen.backend = *std::move(fleet);
  return chosen;
}

}  // namespace autotune
