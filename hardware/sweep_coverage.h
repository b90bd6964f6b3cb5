#ifndef AUTOTUNE_HARDWARE_SWEEP_COVERAGE_H_
#define AUTOTUNE_HARDWARE_SWEEP_COVERAGE_H_

#include <cstdint>
#include <optional>

#include "hardware/aot_backend.h"
#include "hardware/device_spec.h"
#include "hardware/measurement.h"
#include "hardware/recording.h"

namespace autotune {

// A static estimate and the compiler's own that differ by more than this share of the smaller one
// are flagged.
inline constexpr double kEstimateDisagreement = 0.2;

// How far apart two estimates of the same time are, as a share of the smaller one (0.2: 20 %).
// REQUIRES: both positive.
double EstimateDistance(double a_seconds, double b_seconds);

// True if the measurement is an estimate beside which the compiler's own stands and differs by more
// than kEstimateDisagreement: one of the two is wrong, and only hardware tells which.
bool EstimatesDisagree(const Measurement& measurement);

// True if this failure of the compiler's own configuration of a kernel holds for its other
// configurations too: of what can be estimated only by compiling the kernel alone, and cannot be
// compiled so. (Of the kernels of the swept programs whose default failed, those whose default took
// too long had others that came out; of the rest none had.)
bool RulesOutKernel(TimeSource source, const Failure& of_default);

// How much of a program a sweep of its kernels speaks for. Seconds are estimates of one execution
// of the program: the compiler's own for its choice, else what the kernel takes at least.
struct SweepCoverage {
  double seconds = 0;           // of all kernels
  double mapped_seconds = 0;    // of kernels whose hero in the source is known
  double faithful_seconds = 0;  // of kernels that come out as they are when compiled alone
  double both_seconds = 0;
  int64_t kernels = 0;
  int64_t compared = 0;                // kernels for whose default both estimates are there
  int64_t disagreed = 0;               // of these, those whose estimates disagree
  double program_compile_seconds = 0;  // the default compile of the program
  double kernel_compile_seconds = 0;   // compiling each of its kernels once, alone
};

// `recording` holds a sweep of the kernels of `program`. For a program that was optimised already
// (no sites) every kernel counts as mapped.
SweepCoverage CoverageOf(const AotDefault& program, const Recording& recording,
                         const DeviceSpec& device);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_SWEEP_COVERAGE_H_
