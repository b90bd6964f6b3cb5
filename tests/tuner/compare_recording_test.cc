// The bars of the comparison on the recorded TPU v3 kernels of the example.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "tuner/compare.h"
#include "tuner/models.h"

namespace autotune {
namespace {

ComparisonReport CompareRecording(bool with_default) {
  const absl::StatusOr<Recording> recording =
      Recording::Load(std::string(AUTOTUNE_SOURCE_DIR) + "/examples/alexnet/tpu_v3.pb");
  if (!recording.ok()) {
    ADD_FAILURE() << recording.status();
    return {};
  }
  std::vector<Kernel> kernels;
  for (const RecordedKernel& kernel : recording->kernels()) kernels.push_back(kernel.kernel());
  const auto model = CreateModel("analytical", recording->origin().device);
  if (!model.ok()) {
    ADD_FAILURE() << model.status();
    return {};
  }
  const std::vector<NamedModel> models = {{"analytical", model->get()}};
  ComparisonOptions options;
  options.methods =
      *ParseSearchMethods("annealing+analytical,genetic+analytical,model-greedy+analytical");
  options.with_default = with_default;
  absl::StatusOr<ComparisonReport> report = RunComparison(kernels, *recording, models, options);
  if (!report.ok()) {
    ADD_FAILURE() << report.status();
    return {};
  }
  return *std::move(report);
}

const KernelComparison* Find(const ComparisonReport& report, const std::string& name) {
  for (const KernelComparison& kernel : report.kernels) {
    if (kernel.name == name) return &kernel;
  }
  return nullptr;
}

void ExpectWithinFivePercentAfter(const ComparisonReport& report, const std::string& name,
                                  double evaluations) {
  const KernelComparison* kernel = Find(report, name);
  ASSERT_NE(kernel, nullptr) << name;
  ASSERT_EQ(kernel->methods.size(), 3u);
  for (const MethodResult& method : kernel->methods) {
    const ReachStatistic& five = method.evaluations_to_within.front();
    EXPECT_EQ(five.reached, 100) << name << " " << method.method;
    EXPECT_LE(five.median.value_or(1e9), evaluations) << name << " " << method.method;
  }
}

TEST(CompareRecordingTest, MethodsWithTheModelNeedFewMeasurements) {
  const ComparisonReport report = CompareRecording(/*with_default=*/false);
  ExpectWithinFivePercentAfter(report, "fusion.191", 5);
  ExpectWithinFivePercentAfter(report, "fusion.232", 8);
}

TEST(CompareRecordingTest, AndFewerWithTheDefaultFirst) {
  const ComparisonReport report = CompareRecording(/*with_default=*/true);
  ExpectWithinFivePercentAfter(report, "fusion.191", 3);
  ExpectWithinFivePercentAfter(report, "fusion.232", 3);
}

TEST(CompareRecordingTest, TheModelRanksTheRecordedTiles) {
  const ComparisonReport report = CompareRecording(/*with_default=*/false);
  for (const auto& [name, tau] : {std::pair("fusion.191", 0.80), std::pair("fusion.232", 0.70)}) {
    const KernelComparison* kernel = Find(report, name);
    ASSERT_NE(kernel, nullptr) << name;
    ASSERT_EQ(kernel->models.size(), 1u);
    EXPECT_GE(kernel->models[0].kendall_tau.value_or(0), tau) << name;
  }
  int opaque = 0;
  for (const KernelComparison& kernel : report.kernels) {
    opaque += kernel.opaque ? 1 : 0;
    EXPECT_EQ(kernel.models.empty(), kernel.opaque) << kernel.name;
  }
  EXPECT_EQ(report.kernels.size(), 10u);
  EXPECT_EQ(opaque, 3);
}

}  // namespace
}  // namespace autotune
