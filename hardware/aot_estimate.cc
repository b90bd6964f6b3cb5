#include "hardware/aot_estimate.h"

#include <algorithm>
#include <cmath>

namespace autotune {
namespace {

// How far estimates that the roofline lifts stay apart.
constexpr double kOrderBelowRoofline = 1e-6;

// Trips of the loops that add to the same output elements.
double ReducedTrips(const TileGeometry& geometry, const TileEvaluation& evaluation) {
  double trips = 1;
  for (size_t i = 0; i < evaluation.trips.size(); ++i) {
    if (geometry.loops()[i].reduced) trips *= static_cast<double>(evaluation.trips[i]);
  }
  return trips;
}

struct ScheduledTraffic {
  double transfers = 0;
  double bytes = 0;
  double runs = 0;
};

ScheduledTraffic TrafficOf(const BundleSchedule& schedule) {
  ScheduledTraffic traffic;
  for (const ScheduledTransfer& transfer : schedule.transfers) {
    traffic.transfers += transfer.executions;
    traffic.bytes += transfer.executions * static_cast<double>(transfer.window_bytes);
    traffic.runs += transfer.executions * static_cast<double>(transfer.contiguous_runs);
  }
  return traffic;
}

}  // namespace

EstimateConstants EstimateConstantsFor(const DeviceSpec&) {
  return EstimateConstants{.compute_scale = 0.583,
                           .bandwidth_scale = 1.1,
                           .cycles_per_iteration = 62.3,
                           .cycles_per_run = 1.65,
                           .reload_share = 0.729,
                           .overlap_exponent = 2.20,
                           .fixed_cycles = 463};
}

EstimateInputs MakeEstimateInputs(const BundleSchedule& schedule, const TileGeometry* geometry,
                                  const TileEvaluation* evaluation) {
  EstimateInputs inputs;
  inputs.compute_cycles = schedule.weighted_bundles + schedule.weighted_delays;
  const ScheduledTraffic traffic = TrafficOf(schedule);
  if (geometry == nullptr || evaluation == nullptr) {
    inputs.iterations = static_cast<double>(std::max<int64_t>(1, schedule.MainTripCount()));
    inputs.moved_bytes = inputs.reloaded_bytes = traffic.bytes;
    inputs.first_bytes = traffic.bytes / inputs.iterations;
    inputs.runs = traffic.runs;
    return inputs;
  }
  // What finishes an accumulator runs once for all the iterations that add to it.
  const double reduced = ReducedTrips(*geometry, *evaluation);
  inputs.compute_cycles -= schedule.conditional_cycles * (1 - 1 / reduced);
  inputs.iterations = static_cast<double>(evaluation->iterations);
  const bool reloads = geometry->hero_kind() == HeroKind::kConvolution;
  double transfers = 0;
  for (size_t i = 0; i < evaluation->window_bytes.size(); ++i) {
    const TileOperand& operand = geometry->operands()[i];
    if (!operand.InHbm()) continue;
    const double bytes = static_cast<double>(evaluation->window_bytes[i]);
    const double moves = static_cast<double>(evaluation->transfers[i]);
    transfers += moves;
    inputs.moved_bytes += bytes * moves;
    if (!operand.is_output) inputs.first_bytes += bytes;
    inputs.reloaded_bytes += bytes * (reloads && !operand.is_output ? inputs.iterations : moves);
  }
  // The schedule knows in how many pieces a window comes, the geometry how often it does.
  inputs.runs = traffic.runs * transfers / std::max(1.0, traffic.transfers);
  return inputs;
}

double EstimateSeconds(const EstimateInputs& inputs, const EstimateConstants& constants,
                       const DeviceSpec& device) {
  const double compute = constants.compute_scale * inputs.compute_cycles / device.clock_hz;
  const double bytes = inputs.moved_bytes * (1 - constants.reload_share) +
                       inputs.reloaded_bytes * constants.reload_share;
  const double bandwidth = device.hbm_bytes_per_second * constants.bandwidth_scale;
  const double transfer =
      bytes / bandwidth + constants.cycles_per_run * inputs.runs / device.clock_hz;
  const double p = constants.overlap_exponent;
  const double steady = std::pow(std::pow(compute, p) + std::pow(transfer, p), 1 / p);
  const double overhead =
      (constants.cycles_per_iteration * inputs.iterations + constants.fixed_cycles) /
      device.clock_hz;
  const double seconds = std::max(1e-9, steady + inputs.first_bytes / bandwidth + overhead);
  const double floor = inputs.roofline_seconds;
  if (seconds >= floor * (1 + kOrderBelowRoofline)) return seconds;
  return floor * (1 + kOrderBelowRoofline * std::min(1.0, seconds / floor));
}

}  // namespace autotune
