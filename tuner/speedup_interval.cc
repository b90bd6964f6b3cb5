#include "tuner/speedup_interval.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "hardware/measurement.h"
#include "search/random.h"

namespace autotune {
namespace {

constexpr uint64_t kSeed = 0x5eed;
constexpr double kConfidence = 0.95;

bool KeepsDefault(const KernelReport& kernel) {
  return SecondsOf(kernel.compiler_default) && SecondsOf(kernel.best) &&
         kernel.compiler_default->config == kernel.best->config;
}

// What draws of one kernel need. Time that is known on one side only stands on both, as in the
// program's totals.
struct Sides {
  double count = 1;
  absl::Span<const double> before;
  absl::Span<const double> after;
  bool same = false;  // one draw serves both
};

std::optional<Sides> SidesOf(const KernelReport& kernel) {
  if (!SecondsOf(kernel.compiler_default) && !SecondsOf(kernel.best)) return std::nullopt;
  const ConfigResult& before =
      SecondsOf(kernel.compiler_default) ? *kernel.compiler_default : *kernel.best;
  const ConfigResult& after = SecondsOf(kernel.best) ? *kernel.best : *kernel.compiler_default;
  return Sides{static_cast<double>(kernel.count), before.measurement.samples(),
               after.measurement.samples(), before.config == after.config};
}

// The median of as many samples as there are, drawn with replacement.
double DrawMedian(absl::Span<const double> samples, Rng& rng, std::vector<double>& scratch) {
  if (samples.size() == 1) return samples[0];
  scratch.clear();
  for (size_t i = 0; i < samples.size(); ++i) {
    scratch.push_back(
        samples[static_cast<size_t>(UniformIndex(rng, static_cast<int64_t>(samples.size())))]);
  }
  return MedianOf(scratch);
}

double DrawRatio(absl::Span<const Sides> kernels, Rng& rng, std::vector<double>& scratch) {
  double before = 0, after = 0;
  for (const Sides& kernel : kernels) {
    const double drawn = DrawMedian(kernel.before, rng, scratch);
    before += kernel.count * drawn;
    after += kernel.count * (kernel.same ? drawn : DrawMedian(kernel.after, rng, scratch));
  }
  return before / after;
}

}  // namespace

std::optional<SpeedupInterval> ProgramSpeedupInterval(absl::Span<const KernelReport> kernels) {
  std::vector<Sides> sides;
  SpeedupInterval interval = {.confidence = kConfidence};
  for (const KernelReport& kernel : kernels) {
    const std::optional<Sides> one = SidesOf(kernel);
    if (!one) continue;
    sides.push_back(*one);
    if (one->same) continue;
    const bool repeats = one->before.size() > 1 && one->after.size() > 1;
    ++(repeats ? interval.kernels : interval.kernels_without_repeats);
  }
  if (interval.kernels == 0) return std::nullopt;
  Rng rng(kSeed);
  std::vector<double> ratios, scratch;
  ratios.reserve(kBootstrapDraws);
  for (int64_t i = 0; i < kBootstrapDraws; ++i) ratios.push_back(DrawRatio(sides, rng, scratch));
  std::sort(ratios.begin(), ratios.end());
  const double tail = (1 - kConfidence) / 2 * static_cast<double>(kBootstrapDraws);
  const size_t low = static_cast<size_t>(std::floor(tail));
  interval.low = ratios[low];
  interval.high = ratios[ratios.size() - 1 - low];
  return interval;
}

std::optional<SpeedupInterval> KernelSpeedupInterval(const KernelReport& kernel) {
  if (KeepsDefault(kernel) || !kernel.Speedup()) return std::nullopt;
  KernelReport alone = kernel;
  alone.count = 1;
  return ProgramSpeedupInterval({alone});
}

}  // namespace autotune
