#include "hardware/measurement.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <utility>

namespace autotune {
namespace {

constexpr std::pair<FailureKind, absl::string_view> kFailureNames[] = {
    {FailureKind::kKernelNotRecorded, "kernel-not-recorded"},
    {FailureKind::kConfigNotRecorded, "config-not-recorded"},
    {FailureKind::kRecordedFailure, "recorded-failure"},
    {FailureKind::kCompileError, "compile-error"},
    {FailureKind::kCrash, "crash"},
    {FailureKind::kOutOfMemory, "out-of-memory"},
    {FailureKind::kTimeout, "timeout"},
    {FailureKind::kWrongResult, "wrong-result"},
    {FailureKind::kNotFaithful, "not-faithful"},
};

// The p-quantile by linear interpolation between order statistics (type 7 of Hyndman and Fan,
// "Sample quantiles in statistical packages", 1996). REQUIRES: `sorted` is sorted and not empty.
double Quantile(const std::vector<double>& sorted, double p) {
  const double position = p * static_cast<double>(sorted.size() - 1);
  const size_t below = static_cast<size_t>(position);
  if (below + 1 >= sorted.size()) return sorted.back();
  const double fraction = position - static_cast<double>(below);
  return sorted[below] + fraction * (sorted[below + 1] - sorted[below]);
}

}  // namespace

absl::string_view FailureKindName(FailureKind kind) {
  for (const auto& [value, name] : kFailureNames) {
    if (value == kind) return name;
  }
  return "unknown";
}

std::optional<FailureKind> FailureKindFromName(absl::string_view name) {
  for (const auto& [value, known] : kFailureNames) {
    if (known == name) return value;
  }
  return std::nullopt;
}

absl::string_view TimeSourceName(TimeSource source) {
  return source == TimeSource::kHardware ? "hardware" : "estimate";
}

std::optional<TimeSource> TimeSourceFromName(absl::string_view name) {
  if (name == "hardware") return TimeSource::kHardware;
  if (name == "estimate") return TimeSource::kEstimate;
  return std::nullopt;
}

Measurement Measurement::FromSamples(std::vector<double> seconds, TimeSource source) {
  assert(!seconds.empty());
  assert(std::all_of(seconds.begin(), seconds.end(),
                     [](double s) { return std::isfinite(s) && s > 0; }));
  Measurement result;
  result.result_ = std::move(seconds);
  result.source_ = source;
  return result;
}

Measurement Measurement::FromFailure(FailureKind kind, std::string message) {
  Measurement result;
  result.result_ = Failure{kind, std::move(message)};
  return result;
}

double MedianOf(absl::Span<const double> values) {
  assert(!values.empty());
  std::vector<double> sorted(values.begin(), values.end());
  std::sort(sorted.begin(), sorted.end());
  return Quantile(sorted, 0.5);
}

double Measurement::MedianSeconds() const { return MedianOf(samples()); }

double Measurement::SpreadSeconds() const {
  std::vector<double> sorted(samples().begin(), samples().end());
  if (sorted.size() < 4) return 0;
  std::sort(sorted.begin(), sorted.end());
  return (Quantile(sorted, 0.75) - Quantile(sorted, 0.25)) / 2;
}

bool IsNotRecorded(const Measurement& measurement) {
  if (measurement.ok()) return false;
  const FailureKind kind = measurement.failure().kind;
  return kind == FailureKind::kKernelNotRecorded || kind == FailureKind::kConfigNotRecorded;
}

Measurement JoinMeasurements(const Measurement& a, const Measurement& b) {
  if (!b.ok()) return a;
  if (!a.ok()) return b;
  std::vector<double> samples(a.samples().begin(), a.samples().end());
  samples.insert(samples.end(), b.samples().begin(), b.samples().end());
  Measurement joined = Measurement::FromSamples(std::move(samples), a.source());
  joined.compile_seconds = a.compile_seconds ? a.compile_seconds : b.compile_seconds;
  joined.compiler_estimate_seconds =
      a.compiler_estimate_seconds ? a.compiler_estimate_seconds : b.compiler_estimate_seconds;
  joined.method = a.method.empty() ? b.method : a.method;
  return joined;
}

}  // namespace autotune
