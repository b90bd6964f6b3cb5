#include "tuner/report_text.h"

#include <algorithm>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"

namespace autotune {

std::string DescribeInterval(const TuningReport& report) {
  if (const std::optional<SpeedupInterval>& interval = report.speedup_interval) {
    std::string text = absl::StrFormat("%.3fx to %.3fx with %.0f %% confidence", interval->low,
                                       interval->high, 100 * interval->confidence);
    if (interval->kernels_without_repeats > 0) {
      absl::StrAppend(&text, " (", interval->kernels_without_repeats,
                      interval->kernels_without_repeats == 1 ? " kernel" : " kernels",
                      " without repeats)");
    }
    return text;
  }
  const bool changed =
      std::any_of(report.kernels.begin(), report.kernels.end(), [](const KernelReport& kernel) {
        return kernel.best && kernel.compiler_default &&
               !(kernel.best->config == kernel.compiler_default->config);
      });
  if (!changed) return "";
  if (report.time_source == TimeSource::kEstimate) return "an estimate, not a measurement";
  return report.backend == "replay" ? "replayed, no repeats" : "one sample each, no repeats";
}

std::string TotalTitle(const std::string& name) {
  if (name == "default") return "compiler's default";
  if (name == "best found" || name == "best known") return name;
  return absl::StrCat(name, " model's choice");
}

}  // namespace autotune
