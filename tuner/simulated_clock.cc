#include "tuner/simulated_clock.h"

namespace autotune {

DeviceTime SimulatedCost(const Measurement& measurement, const SimulatedClock& clock) {
  if (IsNotRecorded(measurement)) return {};
  DeviceTime time = {.compile = measurement.compile_seconds.value_or(clock.compile_seconds)};
  if (measurement.ok()) {
    time.run = static_cast<double>(clock.repeats) * measurement.MedianSeconds();
  }
  return time;
}

}  // namespace autotune
