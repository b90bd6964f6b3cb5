#ifndef AUTOTUNE_TUNER_SIMULATED_CLOCK_H_
#define AUTOTUNE_TUNER_SIMULATED_CLOCK_H_

#include <cstdint>

#include "hardware/measurement.h"

namespace autotune {

// What measuring candidates on the device would have cost, for backends that only replay. Data
// only.
struct SimulatedClock {
  // Charged for compiling a candidate whose compile time was not recorded. A small kernel takes
  // 0.1 to 1.5 s with the TPU compiler, start of the process included.
  double compile_seconds = 1.0;
  // How often a candidate is run for one measurement.
  int64_t repeats = 10;
};

// Device time, in seconds.
struct DeviceTime {
  double compile = 0;
  double run = 0;
  double total() const { return compile + run; }
};

// The simulated cost of one measurement: its compile time (recorded, else the clock's) and, unless
// it failed, repeats times its median time. An answer that says that nothing is recorded costs
// nothing. Pure.
DeviceTime SimulatedCost(const Measurement& measurement, const SimulatedClock& clock);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_SIMULATED_CLOCK_H_
