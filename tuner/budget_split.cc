#include "tuner/budget_split.h"

#include <algorithm>
#include <cmath>

#include "tuner/select_best.h"

namespace autotune {
namespace {

double Weight(const KernelPromise& kernel) {
  const double weight = kernel.program_seconds * kernel.headroom;
  return std::isfinite(weight) && weight > 0 ? weight : 0;
}

// True if `a` deserves the next unit more than `b`, with what they were given already.
bool Before(const KernelPromise& a, int64_t a_given, const KernelPromise& b, int64_t b_given) {
  const double a_average = Weight(a) / static_cast<double>(1 + a.spent + a_given);
  const double b_average = Weight(b) / static_cast<double>(1 + b.spent + b_given);
  if (a_average != b_average) return a_average > b_average;
  return a.spent + a_given < b.spent + b_given;
}

}  // namespace

std::vector<int64_t> SplitBudget(absl::Span<const KernelPromise> kernels, int64_t units) {
  std::vector<int64_t> given(kernels.size(), 0);
  for (int64_t unit = 0; unit < units; ++unit) {
    std::optional<size_t> next;
    for (size_t i = 0; i < kernels.size(); ++i) {
      if (given[i] >= kernels[i].candidates) continue;
      if (!next || Before(kernels[i], given[i], kernels[*next], given[*next])) next = i;
    }
    if (!next) break;
    ++given[*next];
  }
  return given;
}

double PredictedHeadroom(std::optional<double> best_log_seconds,
                         std::optional<double> next_log_seconds) {
  if (!best_log_seconds || !next_log_seconds || !std::isfinite(*best_log_seconds)) {
    return kBlindHeadroom;
  }
  if (!std::isfinite(*next_log_seconds)) return 0;
  const double gain = std::max(0.0, 1 - std::exp(*next_log_seconds - *best_log_seconds));
  return std::min(1.0, gain + kModelDoubt);
}

double HeadroomAboveRoofline(double seconds, double roofline_seconds) {
  if (seconds < roofline_seconds * (1 - kTieWindow)) return 1;
  if (seconds < roofline_seconds * (1 + kTieWindow)) return 0;
  return 1 - roofline_seconds / seconds;
}

}  // namespace autotune
