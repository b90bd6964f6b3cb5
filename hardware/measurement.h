#ifndef AUTOTUNE_HARDWARE_MEASUREMENT_H_
#define AUTOTUNE_HARDWARE_MEASUREMENT_H_

#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace autotune {

// Why a candidate has no time. The three first are the answers of a recording; they differ.
enum class FailureKind {
  kKernelNotRecorded,  // the recording does not know this kernel
  kConfigNotRecorded,  // it knows the kernel, not this configuration
  kRecordedFailure,    // it holds a failure of this configuration
  kCompileError,
  kCrash,
  kOutOfMemory,
  kTimeout,
  kWrongResult,
  kNotFaithful,  // compiled, but not to the kernel or configuration that was asked for
};

// "config-not-recorded" and so on; stable, as records and JSON use it.
absl::string_view FailureKindName(FailureKind kind);
std::optional<FailureKind> FailureKindFromName(absl::string_view name);

struct Failure {
  FailureKind kind;
  std::string message;
};

// Where a time comes from. The two never share a column.
enum class TimeSource {
  kHardware,  // measured, or recorded, on a device
  kEstimate,  // derived from the compiler's static schedule
};

// "hardware" or "estimate".
absl::string_view TimeSourceName(TimeSource source);
std::optional<TimeSource> TimeSourceFromName(absl::string_view name);

// The median: of an even number of values the mean of the two in the middle. REQUIRES: not empty.
double MedianOf(absl::Span<const double> values);

// The result of measuring one candidate: samples in seconds, or a failure; never both. An immutable
// value.
class Measurement {
 public:
  // REQUIRES: at least one sample, each finite and positive.
  static Measurement FromSamples(std::vector<double> seconds, TimeSource source);
  static Measurement FromFailure(FailureKind kind, std::string message);

  bool ok() const { return std::holds_alternative<std::vector<double>>(result_); }

  // REQUIRES: ok().
  absl::Span<const double> samples() const { return std::get<std::vector<double>>(result_); }
  double MedianSeconds() const;
  // Half of the interquartile range, in seconds; 0 with fewer than four samples.
  double SpreadSeconds() const;
  TimeSource source() const { return source_; }

  // REQUIRES: !ok().
  const Failure& failure() const { return std::get<Failure>(result_); }

  // Seconds that compiling took, where the backend knows.
  std::optional<double> compile_seconds;
  // The compiler's own estimate in seconds, a second opinion beside an estimate.
  std::optional<double> compiler_estimate_seconds;
  // How the time was taken, where a backend has several ways ("device loop, barrier", "calls");
  // else empty.
  std::string method;

 private:
  std::variant<std::vector<double>, Failure> result_;
  TimeSource source_ = TimeSource::kHardware;
};

// Whether this is what a recording answers of what it does not hold: neither a time nor a failure.
bool IsNotRecorded(const Measurement& measurement);

// Two measurements of one candidate as one: the samples of both, if both have some; else the one
// that has; of two failures the first. Source and details are those of `a` where it knows them.
Measurement JoinMeasurements(const Measurement& a, const Measurement& b);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_MEASUREMENT_H_
