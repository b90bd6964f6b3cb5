#include "search/fusion_kernel_model.h"

#include <cmath>
#include <vector>

#include "gtest/gtest.h"

namespace autotune {
namespace {

FusionKernelFeatures KernelOf(double roofline, int products) {
  return {.roofline_seconds = roofline,
          .arithmetic_share = 0.5,
          .operations = 4,
          .products = products,
          .read_values = 2};
}

TEST(FusionKernelModelTest, KnowsNothingAtFirst) {
  const FusionKernelModel model;
  EXPECT_DOUBLE_EQ(model.Predict(KernelOf(3e-6, 1)), 3e-6);
}

TEST(FusionKernelModelTest, OneKernelGivesItsFactorToAll) {
  FusionKernelModel model;
  model.Fit({{KernelOf(1e-6, 0), 2e-6, 1}});
  EXPECT_NEAR(model.Predict(KernelOf(5e-6, 3)), 10e-6, 1e-10);
}

TEST(FusionKernelModelTest, TellsProductsFromTheRest) {
  FusionKernelModel model;
  std::vector<FusionKernelModel::Sample> samples;
  for (int i = 1; i <= 30; ++i) {
    samples.push_back({KernelOf(i * 1e-6, 0), i * 1.1e-6, 1});
    samples.push_back({KernelOf(i * 1e-6, 1), i * 3e-6, 1});
  }
  model.Fit(samples);
  EXPECT_NEAR(model.Predict(KernelOf(10e-6, 0)), 11e-6, 1.5e-6);
  EXPECT_NEAR(model.Predict(KernelOf(10e-6, 1)), 30e-6, 3e-6);
  model.Fit({});
  EXPECT_DOUBLE_EQ(model.Predict(KernelOf(3e-6, 1)), 3e-6);
}

TEST(FusionKernelModelTest, OneOddKernelDoesNotRunAway) {
  FusionKernelModel model;
  std::vector<FusionKernelModel::Sample> samples(20, {KernelOf(1e-6, 0), 1e-6, 1});
  samples.push_back({KernelOf(1e-6, 1), 1e6, 1});
  model.Fit(samples);
  EXPECT_LE(model.Predict(KernelOf(1e-6, 1)), 1e-6 * std::exp(3.0) * 1.0001);
}

}  // namespace
}  // namespace autotune
