#include "search/fusion_overlap_model.h"

#include <vector>

#include "gtest/gtest.h"
#include "tests/search/testing_fusion.h"

namespace autotune::testing {
namespace {

TEST(FusionOverlapModelTest, NothingKnownCorrectsNothing) {
  const FusionOverlapModel model({1, 1, 1});
  EXPECT_EQ(model.Correction(std::vector<int32_t>{0, 1}), 0);
}

TEST(FusionOverlapModelTest, TheSameKernelIsOffByNearlyTheSame) {
  FusionOverlapModel model({1, 1, 1});
  model.Add(std::vector<int32_t>{0, 1}, 0.6);
  // One part in six is the belief that the model is right.
  EXPECT_NEAR(model.Correction(std::vector<int32_t>{0, 1}), 0.5, 1e-12);
  EXPECT_EQ(model.Correction(std::vector<int32_t>{2}), 0);
}

TEST(FusionOverlapModelTest, OperationsCountByTheirCost) {
  FusionOverlapModel model({8, 1, 1});
  model.Add(std::vector<int32_t>{0, 1}, 1);
  const double dear = model.Correction(std::vector<int32_t>{0, 2});   // overlaps by 8 of 10
  const double cheap = model.Correction(std::vector<int32_t>{1, 2});  // by 1 of 10
  EXPECT_NEAR(dear, 0.4096 / 0.6096, 1e-12);
  EXPECT_NEAR(cheap, 0.0001 / 0.2001, 1e-12);
}

TEST(FusionOverlapModelTest, TheClosestKernelCountsMost) {
  FusionOverlapModel model({1, 1, 1, 1});
  model.Add(std::vector<int32_t>{0, 1, 2}, 1);
  model.Add(std::vector<int32_t>{2, 3}, -1);
  EXPECT_GT(model.Correction(std::vector<int32_t>{0, 1, 2}), 0.7);
  EXPECT_LT(model.Correction(std::vector<int32_t>{2, 3}), -0.7);
  model.Clear();
  EXPECT_EQ(model.Correction(std::vector<int32_t>{2, 3}), 0);
}

TEST(FusionOverlapModelTest, WeightsArePositiveAndThoseOfProductsLarge) {
  const FusionGraph graph = LayeredGraph(1);
  const std::vector<double> weights = OverlapWeights(graph, *FindDeviceSpec("v3"));
  ASSERT_EQ(weights.size(), graph.node_count());
  const auto of = [&](const char* name) {
    return weights[graph.NodeOf(graph.module().FindInstruction(name))];
  };
  for (double weight : weights) EXPECT_GT(weight, 0);
  EXPECT_GT(of("d1"), of("r1"));
  EXPECT_GT(of("t1"), of("n1"));
}

}  // namespace
}  // namespace autotune::testing
