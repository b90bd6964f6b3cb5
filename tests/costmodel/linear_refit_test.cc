#include "costmodel/linear_refit.h"

#include <cmath>
#include <random>

#include "gtest/gtest.h"

namespace autotune {
namespace {

constexpr size_t kWidth = 6;

// Samples of kernels whose error is a linear function of the activations and a level, one for each.
class LinearRefitTest : public testing::Test {
 protected:
  std::vector<float> Row() {
    std::vector<float> row;
    for (size_t c = 0; c < kWidth; ++c) row.push_back(3 + normal_(random_));
    return row;
  }
  double Truth(int kernel, const std::vector<float>& row) const {
    return kernel == 0 ? 0.1 * row[0] - 0.05 * row[1] + 2 : -0.1 * row[0] - 1;
  }
  void Sample(int kernel, int count) {
    for (int i = 0; i < count; ++i) {
      const std::vector<float> row = Row();
      samples_.kernel.push_back(kernel);
      samples_.activations.insert(samples_.activations.end(), row.begin(), row.end());
      samples_.error.push_back(Truth(kernel, row));
    }
  }
  double ErrorOf(const LinearCorrection& correction, int kernel) {
    double squares = 0;
    for (int i = 0; i < 200; ++i) {
      const std::vector<float> row = Row();
      squares += std::pow(correction.Of(row) - Truth(kernel, row), 2);
    }
    return std::sqrt(squares / 200);
  }

  std::mt19937_64 random_{3};
  std::normal_distribution<float> normal_;
  RefitSamples samples_;
};

TEST_F(LinearRefitTest, NothingMeasuredCorrectsNothing) {
  const auto corrections = RefitLastLayer(samples_, 2, RefitPrior());
  ASSERT_EQ(corrections.size(), 3u);
  for (const LinearCorrection& correction : corrections) {
    EXPECT_EQ(correction.Of(Row()), 0);
  }
}

TEST_F(LinearRefitTest, OneMeasurementShiftsTheLevelAndNoOrder) {
  Sample(0, 1);
  const auto corrections = RefitLastLayer(samples_, 1, RefitPrior());
  EXPECT_NEAR(corrections[0].Of(Row()), samples_.error[0], 1e-2);
  EXPECT_EQ(corrections[0].Of(Row()), corrections[0].Of(Row()));
}

TEST_F(LinearRefitTest, LearnsEachKernelByItself) {
  Sample(0, 30);
  Sample(1, 30);
  const auto corrections = RefitLastLayer(samples_, 2, RefitPrior());
  EXPECT_LT(ErrorOf(corrections[0], 0), 0.02);
  EXPECT_LT(ErrorOf(corrections[1], 1), 0.02);
  EXPECT_GT(ErrorOf(corrections[1], 0), 1);
}

TEST_F(LinearRefitTest, MoreMeasurementsNeverHurtMuch) {
  double previous = 10;
  for (int count : {2, 8, 32}) {
    samples_ = {};
    Sample(0, count);
    const double error = ErrorOf(RefitLastLayer(samples_, 1, RefitPrior())[0], 0);
    EXPECT_LT(error, previous + 0.02) << count;
    previous = error;
  }
  EXPECT_LT(previous, 0.02);
}

TEST_F(LinearRefitTest, ANarrowPriorKeepsTheTrainedLayer) {
  Sample(0, 10);
  RefitPrior narrow;
  narrow.shared = narrow.kernel = 1e-4;
  const auto corrections = RefitLastLayer(samples_, 1, narrow);
  for (double weight : corrections[0].weights) EXPECT_NEAR(weight, 0, 1e-3);
}

TEST_F(LinearRefitTest, OnlyTheLastSamplesCount) {
  Sample(1, 50);
  Sample(0, 20);
  RefitPrior prior;
  prior.max_samples = 20;
  RefitSamples last;
  last.kernel.assign(samples_.kernel.end() - 20, samples_.kernel.end());
  last.activations.assign(samples_.activations.end() - 20 * kWidth, samples_.activations.end());
  last.error.assign(samples_.error.end() - 20, samples_.error.end());
  const auto all = RefitLastLayer(samples_, 2, prior);
  const auto few = RefitLastLayer(last, 2, prior);
  EXPECT_EQ(all[0].weights, few[0].weights);
}

}  // namespace
}  // namespace autotune
