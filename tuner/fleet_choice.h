#ifndef AUTOTUNE_TUNER_FLEET_CHOICE_H_
#define AUTOTUNE_TUNER_FLEET_CHOICE_H_

#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "hardware/measurement_backend.h"

namespace autotune {

// The fleet that FleetState::Find gives, connected and ready.
struct ChosenFleet {
  std::unique_ptr<MeasurementBackend> backend;
  int64_t workers = 0;
  std::string address;
};

// `jobs` is the number of workers to ask for; 0: those of the stored fleet, or 1. One candidate may
// take `timeout_seconds`. `notify` is told of workers and hosts that fail. Errors carry their exit
// code.
absl::StatusOr<ChosenFleet> ConnectFleet(int64_t jobs, double timeout_seconds,
                                         std::function<void(const std::string&)> notify);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_FLEET_CHOICE_H_
