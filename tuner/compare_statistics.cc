#include "tuner/compare_statistics.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>

#include "tuner/metrics.h"

namespace autotune {
namespace {

using Values = std::vector<std::optional<double>>;

// How many evaluations of a run are done after so many seconds of its clock.
int64_t EvaluationsBy(const SearchRun& run, double seconds) {
  // A clock that shows exactly `seconds` after an evaluation counts it, whatever rounding did.
  return std::upper_bound(run.clock_seconds.begin(), run.clock_seconds.end(),
                          seconds * (1 + 1e-12)) -
         run.clock_seconds.begin();
}

// The slowdown of the program: the sum of the kernels' times so far over that of their best.
using EvaluationsAt = std::function<int64_t(const SearchRun&)>;
std::optional<double> ProgramSlowdown(absl::Span<const KernelRuns* const> kernels, size_t seed,
                                      const EvaluationsAt& evaluations) {
  double now = 0, best = 0;
  for (const KernelRuns* kernel : kernels) {
    const SearchRun& run = kernel->runs[seed];
    const double slowdown = SlowdownAfter(run.best_so_far, kernel->best_seconds, evaluations(run));
    now += kernel->weight * kernel->best_seconds * slowdown;
    best += kernel->weight * kernel->best_seconds;
  }
  if (!std::isfinite(now)) return std::nullopt;
  return now / best;
}

SlowdownStatistic SlowdownAt(absl::Span<const KernelRuns* const> kernels, double at,
                             const EvaluationsAt& evaluations) {
  Values values;
  double sum = 0;
  bool all = true;
  for (size_t seed = 0; seed < kernels.front()->runs.size(); ++seed) {
    values.push_back(ProgramSlowdown(kernels, seed, evaluations));
    if (values.back()) sum += *values.back();
    all = all && values.back().has_value();
  }
  SlowdownStatistic result = {.at = at};
  result.p10 = NearestRankPercentile(values, 10);
  result.median = NearestRankPercentile(values, 50);
  result.p90 = NearestRankPercentile(values, 90);
  if (all) result.mean = sum / static_cast<double>(values.size());
  return result;
}

SlowdownStatistic AfterEvaluations(absl::Span<const KernelRuns* const> kernels, double n) {
  return SlowdownAt(kernels, n, [n](const SearchRun&) { return static_cast<int64_t>(n); });
}

SlowdownStatistic AfterSeconds(absl::Span<const KernelRuns* const> kernels, double seconds) {
  return SlowdownAt(kernels, seconds,
                    [seconds](const SearchRun& run) { return EvaluationsBy(run, seconds); });
}

ReachStatistic Reach(double percent, const Values& values) {
  ReachStatistic result = {.percent = percent, .runs = static_cast<int64_t>(values.size())};
  result.reached = std::count_if(values.begin(), values.end(), [](const auto& v) { return !!v; });
  result.p10 = NearestRankPercentile(values, 10);
  result.median = NearestRankPercentile(values, 50);
  result.p90 = NearestRankPercentile(values, 90);
  return result;
}

// Both reach statistics for one percentage: per seed, summed over kernels.
void AddReach(absl::Span<const KernelRuns* const> kernels, double percent, MethodResult& result) {
  Values evaluations, seconds;
  for (size_t seed = 0; seed < kernels.front()->runs.size(); ++seed) {
    std::optional<double> evaluation_sum = 0, second_sum = 0;
    for (const KernelRuns* kernel : kernels) {
      const SearchRun& run = kernel->runs[seed];
      const std::optional<int64_t> n =
          EvaluationsToWithin(run.best_so_far, kernel->best_seconds, percent);
      if (!n) {
        evaluation_sum.reset();
        second_sum.reset();
        break;
      }
      *evaluation_sum += static_cast<double>(*n);
      *second_sum += run.clock_seconds[static_cast<size_t>(*n - 1)];
    }
    evaluations.push_back(evaluation_sum);
    seconds.push_back(second_sum);
  }
  result.evaluations_to_within.push_back(Reach(percent, evaluations));
  result.seconds_to_within.push_back(Reach(percent, seconds));
}

// The points of a curve from `first` to `last`: all of the first 20 whole steps of `step`, then 15
// % apart.
std::vector<double> CurvePoints(double step, double last, bool whole) {
  std::vector<double> points;
  double at = step;
  while (at < last) {
    points.push_back(at);
    const double grown = points.size() < 20 ? at + step : at * 1.15;
    at = whole ? std::ceil(grown) : grown;
  }
  points.push_back(last);
  return points;
}

void AddCurves(absl::Span<const KernelRuns* const> kernels, MethodResult& result) {
  size_t evaluations = 0;
  double last = 0, first = std::numeric_limits<double>::infinity();
  for (const KernelRuns* kernel : kernels) {
    for (const SearchRun& run : kernel->runs) {
      if (run.clock_seconds.empty()) continue;
      evaluations = std::max(evaluations, run.best_so_far.size());
      first = std::min(first, run.clock_seconds.front());
      last = std::max(last, run.clock_seconds.back());
    }
  }
  if (evaluations == 0) return;
  for (double n : CurvePoints(1, static_cast<double>(evaluations), true)) {
    result.evaluation_curve.push_back(AfterEvaluations(kernels, n));
  }
  const double step = first > 0 ? first : std::max(last / 100, 1e-9);
  for (double seconds : CurvePoints(step, std::max(step, last), false)) {
    result.clock_curve.push_back(AfterSeconds(kernels, seconds));
  }
}

}  // namespace

MethodResult Summarize(absl::Span<const KernelRuns* const> kernels, const StatisticPoints& points) {
  MethodResult result = {.runs = static_cast<int64_t>(kernels.front()->runs.size())};
  for (double percent : points.percents) AddReach(kernels, percent, result);
  for (double n : points.evaluations) {
    result.slowdown_after_evaluations.push_back(AfterEvaluations(kernels, n));
  }
  for (double seconds : points.seconds) {
    result.slowdown_after_seconds.push_back(AfterSeconds(kernels, seconds));
  }
  AddCurves(kernels, result);
  return result;
}

}  // namespace autotune
