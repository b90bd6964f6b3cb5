#ifndef AUTOTUNE_COSTMODEL_NETWORK_JSON_H_
#define AUTOTUNE_COSTMODEL_NETWORK_JSON_H_

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "costmodel/network.h"
#include "costmodel/trainer.h"
#include "nlohmann/json.hpp"

namespace autotune {

// {"layer": "sage", "direction": "bidirectional", "hidden": 64, ...}: every field of the options,
// choices by name.
nlohmann::json ToJson(const NetworkOptions& options);
nlohmann::json ToJson(const TrainingOptions& options);
nlohmann::json ToJson(const RankingQuality& quality);
nlohmann::json ToJson(const EpochReport& report);

// Overwrites the fields that `json` names. InvalidArgument, naming the field, for one that is not
// known or has a value that it cannot have.
absl::Status UpdateFromJson(const nlohmann::json& json, NetworkOptions* options);
absl::Status UpdateFromJson(const nlohmann::json& json, TrainingOptions* options);

// {"network": {...}, "step": {...}, "epochs": 60, ...}: all but jobs, checkpoint and fingerprint.
nlohmann::json ToJson(const TrainerOptions& options);
absl::Status UpdateFromJson(const nlohmann::json& json, TrainerOptions* options);

absl::StatusOr<EpochReport> EpochReportFromJson(const nlohmann::json& json);

}  // namespace autotune

#endif  // AUTOTUNE_COSTMODEL_NETWORK_JSON_H_
