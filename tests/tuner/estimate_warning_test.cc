#include "tuner/estimate_warning.h"

#include <string>

#include "absl/strings/match.h"
#include "gtest/gtest.h"

namespace autotune {
namespace {

KernelReport KernelOf(const std::string& name, double seconds, double compiler_seconds,
                      TimeSource source) {
  KernelReport kernel;
  kernel.name = name;
  TileBounds bounds;
  bounds.output = {8, 1};
  kernel.compiler_default =
      ConfigResult{Config(bounds), Measurement::FromSamples({seconds}, source)};
  if (compiler_seconds > 0) kernel.compiler_estimate_seconds = compiler_seconds;
  return kernel;
}

TuningReport ReportOf(TimeSource source) {
  TuningReport report;
  report.time_source = source;
  report.kernels = {KernelOf("close", 1e-6, 1.1e-6, source), KernelOf("far.1", 1e-6, 2e-6, source),
                    KernelOf("far.2", 9e-6, 3e-6, source), KernelOf("silent", 1e-6, 0, source)};
  return report;
}

TEST(EstimateWarning, SaysHowManyAndWhichMattersMost) {
  TuningReport report = ReportOf(TimeSource::kEstimate);
  AddEstimateWarning(report);
  ASSERT_EQ(report.warnings.size(), 1u);
  EXPECT_TRUE(
      absl::StrContains(report.warnings[0],
                        "more than 20 % for 2 of 3 kernels as the compiler tiles them, most "
                        "for far.2 (9.000 us here, the compiler says 3.000 us)"))
      << report.warnings[0];
  // It counts how often a kernel runs.
  report = ReportOf(TimeSource::kEstimate);
  report.kernels[1].count = 100;
  AddEstimateWarning(report);
  EXPECT_TRUE(absl::StrContains(report.warnings[0], "most for far.1")) << report.warnings[0];
}

TEST(EstimateWarning, NoneForTimesOfHardwareOrWithoutDisagreement) {
  TuningReport report = ReportOf(TimeSource::kHardware);
  AddEstimateWarning(report);
  EXPECT_TRUE(report.warnings.empty());
  report = ReportOf(TimeSource::kEstimate);
  report.kernels.resize(1);
  AddEstimateWarning(report);
  EXPECT_TRUE(report.warnings.empty());
}

}  // namespace
}  // namespace autotune
