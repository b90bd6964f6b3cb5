#ifndef AUTOTUNE_TUNER_FLEET_STATE_H_
#define AUTOTUNE_TUNER_FLEET_STATE_H_

#include <cstdint>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"

namespace autotune {

// The fleet that `autotune fleet up` started on this machine, for the commands that use it. A plain
// value, kept in FleetFolder()/fleet.json.
struct FleetState {
  std::string address;     // "127.0.0.1:6399"
  std::string token_path;  // of the file with the cluster's token
  std::string resource;    // what one worker takes
  std::string ray_folder;  // where Ray keeps its logs and sockets
  int64_t workers = 0;

  absl::Status Save() const;
  // NotFound if there is no fleet.
  static absl::StatusOr<FleetState> Load();
  static void Remove();

  // What `--backend fleet` uses: $RAY_ADDRESS (with $RAY_AUTH_TOKEN_PATH, and the resource
  // $AUTOTUNE_FLEET_RESOURCE or TPU), else the stored one. NotFound, saying what to do, if there is
  // neither.
  static absl::StatusOr<FleetState> Find();
};

// $AUTOTUNE_FLEET_FOLDER, else autotune/fleet in the user's folder for states
// ($XDG_STATE_HOME or ~/.local/state). Empty if there is no home.
std::string FleetFolder();

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_FLEET_STATE_H_
