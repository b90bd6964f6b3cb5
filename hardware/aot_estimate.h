#ifndef AUTOTUNE_HARDWARE_AOT_ESTIMATE_H_
#define AUTOTUNE_HARDWARE_AOT_ESTIMATE_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "hardware/bundle_schedule.h"
#include "hardware/device_spec.h"
#include "hlo/tile_geometry.h"

namespace autotune {

// What a static schedule and the tile's geometry say about the time of a kernel, before any
// constant is applied. Cycles are those of the core's clock.
struct EstimateInputs {
  double compute_cycles = 0;
  double iterations = 1;
  // HBM traffic: if a window is transferred only when it moves, and if every iteration of a
  // convolution or matrix product loads all its input windows.
  double moved_bytes = 0;
  double reloaded_bytes = 0;
  // Input windows of the first iteration, whose transfer nothing hides.
  double first_bytes = 0;
  // Contiguous pieces that the transfers consist of.
  double runs = 0;
  // What the kernel takes at least (hardware/kernel_roofline.h); 0 where it is not known.
  double roofline_seconds = 0;
};

// The constants of the estimate: one set for a generation, none for a kernel.
struct EstimateConstants {
  double compute_scale = 1;    // cycles per cycle of the static schedule
  double bandwidth_scale = 1;  // attained share of the published HBM bandwidth of a core
  double cycles_per_iteration = 0;
  double cycles_per_run = 0;
  double reload_share = 0;      // 0: only windows that move are loaded; 1: all of them
  double overlap_exponent = 1;  // 1: compute and transfer add up; large: the longer one counts
  double fixed_cycles = 0;      // of a kernel
};

// The constants for a generation. Only TPU v3 times were there to fit them: the others take the
// same numbers with their own clock and bandwidth.
EstimateConstants EstimateConstantsFor(const DeviceSpec& device);

// `evaluation` may be null, for operations that TileGeometry does not know: the schedule's own
// transfers count instead.
EstimateInputs MakeEstimateInputs(const BundleSchedule& schedule, const TileGeometry* geometry,
                                  const TileEvaluation* evaluation);

// Seconds: ((a C)^p + T^p)^(1/p) + F + i n + f with C the compute cycles, T the transfer time
// (bytes over bandwidth and a cost for each contiguous piece), F the transfer of the first windows
// and n the iterations. Never below the roofline: there it stays that, with a millionth of the
// formula's share added so that tiles keep their order. Always finite and positive.
double EstimateSeconds(const EstimateInputs& inputs, const EstimateConstants& constants,
                       const DeviceSpec& device);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_AOT_ESTIMATE_H_
