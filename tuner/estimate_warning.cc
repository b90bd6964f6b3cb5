#include "tuner/estimate_warning.h"

#include <cmath>
#include <cstdint>

#include "absl/strings/str_cat.h"
#include "hardware/sweep_coverage.h"
#include "tuner/text_table.h"

namespace autotune {

void AddEstimateWarning(TuningReport& report) {
  if (report.time_source != TimeSource::kEstimate) return;
  int64_t compared = 0;
  int64_t disagreed = 0;
  const KernelReport* worst = nullptr;
  double most_seconds = 0;
  for (const KernelReport& kernel : report.kernels) {
    if (!kernel.compiler_default.has_value() || !kernel.compiler_default->measurement.ok())
      continue;
    if (!(kernel.compiler_estimate_seconds.value_or(0) > 0)) continue;
    ++compared;
    Measurement both = kernel.compiler_default->measurement;
    both.compiler_estimate_seconds = kernel.compiler_estimate_seconds;
    if (!EstimatesDisagree(both)) continue;
    ++disagreed;
    const double seconds = static_cast<double>(kernel.count) *
                           std::abs(both.MedianSeconds() - *kernel.compiler_estimate_seconds);
    if (seconds <= most_seconds) continue;
    most_seconds = seconds;
    worst = &kernel;
  }
  if (worst == nullptr) return;
  report.warnings.push_back(
      absl::StrCat("the compiler's own estimate differs by more than ",
                   static_cast<int>(std::lround(100 * kEstimateDisagreement)), " % for ", disagreed,
                   " of ", compared, " kernels as the compiler tiles them, most for ", worst->name,
                   " (", FormatSeconds(worst->compiler_default->measurement.MedianSeconds()),
                   " here, the compiler says ", FormatSeconds(*worst->compiler_estimate_seconds),
                   "): only hardware settles which is right"));
}

}  // namespace autotune
