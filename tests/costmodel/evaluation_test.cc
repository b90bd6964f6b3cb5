#include "costmodel/evaluation.h"

#include <cmath>

#include "gtest/gtest.h"
#include "tests/costmodel/learning_test_data.h"

namespace autotune {
namespace {

ScoredKernel Scored(const std::string& program, std::vector<double> seconds,
                    std::vector<double> predicted) {
  ScoredKernel kernel;
  kernel.info.program = program;
  kernel.seconds = std::move(seconds);
  for (double value : predicted) kernel.log_seconds.push_back(std::log(value));
  return kernel;
}

TEST(EvaluationTest, MetricsByHand) {
  const std::vector<ScoredKernel> kernels = {
      // Right order: tau 1, APE 0.
      Scored("a", {1e-6, 2e-6, 4e-6}, {1e-6, 2e-6, 4e-6}),
      // Chooses 12 us instead of 10 us, with one of three pairs wrong: tau 1/3.
      Scored("b", {10e-6, 12e-6, 20e-6}, {12e-6, 6e-6, 20e-6})};
  const ModelMetrics metrics = SummarizeScores(kernels, 0, 1);
  EXPECT_EQ(metrics.kernels, 2);
  EXPECT_EQ(metrics.configs, 6);
  EXPECT_EQ(metrics.programs, 2);
  EXPECT_NEAR(metrics.kendall_tau.value, (1 + 1.0 / 3) / 2, 1e-12);
  EXPECT_NEAR(metrics.tile_size_ape.value, 100 * 2 / 11.0, 1e-9);
  EXPECT_NEAR(metrics.program_ape_median.value, 10, 1e-9);
  EXPECT_NEAR(metrics.top1.value, 10, 1e-9);
  EXPECT_NEAR(metrics.top5.value, 0, 1e-9);
  EXPECT_NEAR(metrics.mape.value, 100 * (0.2 + 0.5) / 6, 1e-9);
  EXPECT_NEAR(metrics.mape_5us.value, 100 * (0.2 + 0.5) / 3, 1e-9);
}

TEST(EvaluationTest, IntervalsHoldTheValueAndShrinkWithMoreKernels) {
  std::vector<ScoredKernel> kernels;
  std::mt19937_64 random(5);
  std::uniform_real_distribution<double> uniform(1e-6, 5e-6);
  double width = 0;
  for (const size_t count : {10u, 160u}) {
    while (kernels.size() < count) {
      std::vector<double> seconds, predicted;
      for (int i = 0; i < 8; ++i) {
        seconds.push_back(uniform(random));
        predicted.push_back(seconds.back() * uniform(random));
      }
      kernels.push_back(Scored("p", seconds, predicted));
    }
    const ModelMetrics metrics = SummarizeScores(kernels, 300, 1);
    EXPECT_LT(metrics.kendall_tau.low, metrics.kendall_tau.value);
    EXPECT_GT(metrics.kendall_tau.high, metrics.kendall_tau.value);
    const double now = metrics.kendall_tau.high - metrics.kendall_tau.low;
    if (width > 0) {
      EXPECT_LT(now, width / 2);
    }
    width = now;
    EXPECT_EQ(SummarizeScores(kernels, 300, 1).kendall_tau.low, metrics.kendall_tau.low);
  }
}

TEST(EvaluationTest, TheBaseIsScoredWithoutANetwork) {
  const auto store = MadeUpStore(0, 5);
  const auto scored = ScoreStore(nullptr, *store, 2);
  ASSERT_TRUE(scored.ok()) << scored.status();
  ASSERT_EQ(scored->size(), 5u);
  const KernelExample example = MadeUpExample(3, 5, 15);
  EXPECT_EQ((*scored)[3].info.kernel, "fusion.3");
  EXPECT_FLOAT_EQ(static_cast<float>((*scored)[3].log_seconds[4]), example.base[4]);
  EXPECT_NEAR(std::log((*scored)[3].seconds[4]), example.target[4], 1e-5);
}

TEST(EvaluationTest, NoKernels) {
  const ModelMetrics metrics = SummarizeScores({}, 10, 1);
  EXPECT_EQ(metrics.kernels, 0);
  EXPECT_EQ(metrics.kendall_tau.value, 0);
}

}  // namespace
}  // namespace autotune
