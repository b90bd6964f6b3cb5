#include "hardware/sweep_coverage.h"

#include <algorithm>

#include "absl/container/flat_hash_map.h"
#include "hardware/kernel_roofline.h"

namespace autotune {
namespace {

// Occurrences of a kernel, and those of them that are mapped.
struct Occurrences {
  double all = 0;
  double mapped = 0;
};

double SecondsOf(const Kernel& kernel, const DeviceSpec& device) {
  const std::optional<double> estimate = CompilerEstimateSeconds(kernel, device);
  return estimate ? *estimate : RooflineSeconds(kernel, device);
}

}  // namespace

double EstimateDistance(double a_seconds, double b_seconds) {
  return std::max(a_seconds, b_seconds) / std::min(a_seconds, b_seconds) - 1;
}

bool EstimatesDisagree(const Measurement& measurement) {
  return measurement.ok() && measurement.source() == TimeSource::kEstimate &&
         measurement.compiler_estimate_seconds.value_or(0) > 0 &&
         EstimateDistance(measurement.MedianSeconds(), *measurement.compiler_estimate_seconds) >
             kEstimateDisagreement;
}

bool RulesOutKernel(TimeSource source, const Failure& of_default) {
  return source == TimeSource::kEstimate && of_default.kind != FailureKind::kTimeout;
}

SweepCoverage CoverageOf(const AotDefault& program, const Recording& recording,
                         const DeviceSpec& device) {
  absl::flat_hash_map<uint64_t, Occurrences> sites;
  for (const TuningSite& site : program.sites) {
    Occurrences& occurrences = sites[site.fingerprint];
    occurrences.all += 1;
    occurrences.mapped += site.state == SiteState::kMapped ? 1 : 0;
  }
  SweepCoverage coverage;
  coverage.program_compile_seconds = program.compile_seconds;
  for (const Kernel& kernel : program.kernels) {
    const double seconds = static_cast<double>(kernel.count) * SecondsOf(kernel, device);
    const auto found = sites.find(kernel.fingerprint);
    double mapped = program.sites.empty() ? 1 : 0;
    if (found != sites.end()) mapped = found->second.mapped / found->second.all;
    const RecordedKernel* recorded = recording.Find(kernel.fingerprint);
    const RecordedConfig* as_it_is = recorded == nullptr ? nullptr : recorded->Default();
    const bool faithful = as_it_is != nullptr && !as_it_is->seconds.empty();
    ++coverage.kernels;
    coverage.seconds += seconds;
    coverage.mapped_seconds += mapped * seconds;
    if (as_it_is != nullptr) {
      coverage.kernel_compile_seconds += as_it_is->compile_seconds.value_or(0);
    }
    if (!faithful) continue;
    coverage.faithful_seconds += seconds;
    coverage.both_seconds += mapped * seconds;
    if (as_it_is->compiler_estimate_seconds.value_or(0) <= 0) continue;
    ++coverage.compared;
    const double distance =
        EstimateDistance(MedianOf(as_it_is->seconds), *as_it_is->compiler_estimate_seconds);
    coverage.disagreed += distance > kEstimateDisagreement ? 1 : 0;
  }
  return coverage;
}

}  // namespace autotune
