#ifndef AUTOTUNE_COSTMODEL_ANALYTICAL_CONSTANTS_H_
#define AUTOTUNE_COSTMODEL_ANALYTICAL_CONSTANTS_H_

#include <string>
#include <vector>

namespace autotune {

// What the analytical model does not know from the device's data sheet. Fitted once, by
// FitAnalyticalConstants on the recorded tiles of a TPU v3; docs/analytical-model.md says how and
// how well. Times are of that device: latencies of memory hardly change between generations, and
// what is counted in cycles scales with the clock.
struct AnalyticalConstants {
  // Share of the published bandwidth that a long transfer reaches.
  double bandwidth_share = 0.915;
  // What an iteration that loads waits for besides the bytes themselves.
  double transfer_latency_seconds = 213e-9;
  // For each contiguous run of a strided transfer.
  double run_seconds = 6.92e-9;
  // For each row of a stationary operand that a matrix unit loads.
  double stationary_row_cycles = 0.918;
  // For each pass of the matrix unit: fetching results and changing the stationary operand.
  double pass_cycles = 2.13;
  // For each vector instruction on one register; below 1 because several issue in a cycle and most
  // hide behind the matrix unit.
  double vector_cycles = 0.242;
  // For each register of a convolution's result in each iteration: adding up and storing.
  double accumulate_cycles = 0.941;
  // Control of one iteration.
  double iteration_seconds = 86.1e-9;
  // For each contracted dimension that the bounds do not divide: masking in every iteration.
  double ragged_seconds = 137e-9;
  // Once for each run of a kernel.
  double launch_seconds = 471e-9;
};

// The constants as an array to fit, with their names, in a fixed order.
struct NamedConstant {
  std::string name;
  double AnalyticalConstants::*value;
};
const std::vector<NamedConstant>& AnalyticalConstantList();

}  // namespace autotune

#endif  // AUTOTUNE_COSTMODEL_ANALYTICAL_CONSTANTS_H_
