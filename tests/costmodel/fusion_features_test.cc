// Features, examples and the time model of groups of operations.

#include "costmodel/fusion_features.h"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "costmodel/example_store.h"
#include "costmodel/fusion_examples.h"
#include "costmodel/fusion_time_model.h"
#include "costmodel/fusion_training.h"
#include "costmodel/network_module.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hardware/atomic_file.h"
#include "hlo/parser.h"
#include "tests/hardware/fusion_chain.h"
#include "tests/hardware/fusion_pair.h"

namespace autotune {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

DeviceSpec V3() { return *FindDeviceSpec("v3"); }

FusionGraph Parse(const std::string& text) {
  auto module = ParseHloText(text);
  EXPECT_TRUE(module.ok()) << module.status();
  auto graph = FusionGraph::Create(*std::move(module));
  EXPECT_TRUE(graph.ok()) << graph.status();
  return *std::move(graph);
}

double Feature(const KernelGraph& graph, const std::string& name) {
  const std::vector<std::string>& names = FusionFeatureSchema().kernel;
  for (size_t i = 0; i < names.size(); ++i) {
    if (names[i] == name) return graph.kernel_features[i];
  }
  ADD_FAILURE() << name;
  return 0;
}

TEST(FusionFeaturesTest, ArraysHaveTheSizesOfTheSchema) {
  const FusionGraph graph = Parse(kChain);
  const FusionFeaturizer featurizer(&graph, V3());
  const KernelGraph kernel = featurizer.GraphOf({{1, 2, 3}, {3}, {0}});
  const FeatureSchema& schema = FusionFeatureSchema();
  EXPECT_EQ(kernel.nodes(), 4);  // the value that is read is one
  EXPECT_EQ(kernel.node_features.size(), 4 * schema.node.size());
  EXPECT_EQ(kernel.kernel_features.size(), schema.kernel.size());
  EXPECT_THAT(kernel.edge_sources, ElementsAre(0, 1, 2));
  EXPECT_THAT(kernel.edge_targets, ElementsAre(1, 2, 3));
  EXPECT_EQ(Feature(kernel, "log_operations"), 2);  // log2(1 + 3)
  EXPECT_EQ(Feature(kernel, "log_count_transcendental"), 1);
  EXPECT_EQ(Feature(kernel, "lane_use_written"), 1);
}

TEST(FusionFeaturesTest, TheRooflineIsTrafficOrProducts) {
  const FusionGraph graph = Parse(R"(HloModule m
ENTRY e {
  x = f32[1024,1024] parameter(0)
  d = f32[1024,1024] dot(x, x), lhs_contracting_dims={1}, rhs_contracting_dims={0}
  s = f32[8,1024] slice(x), slice={[0:8], [0:1024]}
  ROOT n = f32[8,1024] negate(s)
})");
  const DeviceSpec device = V3();
  const FusionFeaturizer featurizer(&graph, device);
  const double product = 2.0 * 1024 * 1024 * 1024 / device.bf16_flops_per_second;
  const double traffic = 2 * 4.0 * 1024 * 1024 / device.hbm_bytes_per_second;
  EXPECT_NEAR(featurizer.RooflineSeconds({{1}, {1}, {0}}), std::max(product, traffic), 1e-12);
  // Of what is sliced only the slice is read.
  EXPECT_NEAR(featurizer.RooflineSeconds({{2, 3}, {3}, {0}}),
              std::max(1e-7, 2 * 4.0 * 8 * 1024 / device.hbm_bytes_per_second), 1e-12);
}

TEST(FusionFeaturesTest, ProductsAreDescribed) {
  const FusionGraph graph = Parse(R"(HloModule m
ENTRY e {
  x = f32[4,512,256] parameter(0)
  y = f32[4,256,64] parameter(1)
  ROOT d = f32[4,512,64] dot(x, y), lhs_batch_dims={0}, rhs_batch_dims={0},
      lhs_contracting_dims={2}, rhs_contracting_dims={1}
})");
  const KernelGraph kernel = FusionFeaturizer(&graph, V3()).GraphOf({{2}, {2}, {0, 1}});
  EXPECT_FLOAT_EQ(Feature(kernel, "product_log_rows"), std::log2(513));
  EXPECT_FLOAT_EQ(Feature(kernel, "product_log_columns"), std::log2(65));
  EXPECT_FLOAT_EQ(Feature(kernel, "product_log_contracted"), std::log2(257));
  EXPECT_FLOAT_EQ(Feature(kernel, "product_log_batch"), std::log2(5));
  EXPECT_EQ(Feature(kernel, "product_use_columns"), 0.5);
}

class FusionExamplesTest : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = absl::StrCat(::testing::TempDir(), "/fusion_examples_",
                           ::testing::UnitTest::GetInstance()->current_test_info()->name());
    std::filesystem::create_directories(folder_);
    WriteFusionPair(folder_, "a", 1);
    WriteFusionPair(folder_, "b", 1);
    WriteFusionPair(folder_, "c", 7);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::unique_ptr<ExampleStore> Store() const { return *ExampleStore::Create(folder_, 1 << 20); }

  std::string folder_;
};

TEST_F(FusionExamplesTest, EachKernelIsOnOneSide) {
  const std::vector<FusionPair> pairs = FusionPairsOf(folder_);
  ASSERT_EQ(pairs.size(), 3);
  const auto training = Store(), validation = Store(), test = Store();
  const auto data =
      ReadFusionData(pairs, {{"b", Side::kTest}}, training.get(), validation.get(), test.get());
  ASSERT_TRUE(data.ok()) << data.status();
  EXPECT_EQ(test->size(), 3);
  EXPECT_EQ(training->size(), 3);  // of c; a has the kernels of b
  EXPECT_EQ(validation->size(), 0);
  EXPECT_EQ(data->duplicates, 3);
  const auto example = test->Read(0);
  ASSERT_TRUE(example.ok());
  EXPECT_EQ((*example)->program, "b");
  EXPECT_NEAR((*example)->target[0], std::log(1e-4), 1e-5);
  EXPECT_EQ((*example)->configs(), 1);
  // Read x and written f, 4 MB each.
  EXPECT_NEAR((*example)->base[0], std::log(2 * 4194304 / V3().hbm_bytes_per_second), 1e-5);
}

TEST_F(FusionExamplesTest, ARecordingOfAnotherProgramIsRefused) {
  const std::string other = absl::StrCat(folder_, "/c.hlo");
  ASSERT_TRUE(WriteFileAtomically(other, R"(HloModule m
ENTRY e { x = f32[8] parameter(0)  ROOT n = f32[8] negate(x) })")
                  .ok());
  const auto read = ReadFusionPair({other, absl::StrCat(folder_, "/c.jsonl.gz")});
  EXPECT_THAT(std::string(read.status().message()), HasSubstr("another program"));
}

TEST_F(FusionExamplesTest, TrainedTimesComeCloserThanTheRoofline) {
  if (!FindNetworkModule().ok()) GTEST_SKIP() << FindNetworkModule().status();
  const std::vector<FusionPair> pairs = FusionPairsOf(folder_);
  const auto network = TrainFusionWithout(pairs, {"c"}, 1, 1, folder_);
  ASSERT_TRUE(network.ok()) << network.status();
  const FusionGraph graph = Parse(kChain);
  const FusionTimeModel model(network->get(), &graph, V3());
  const FusionFeaturizer featurizer(&graph, V3());
  const FusionGroup whole{{1, 2, 3, 4, 5}, {5}, {0}};
  const double roofline = std::abs(std::log(featurizer.RooflineSeconds(whole) / 1e-4));
  EXPECT_LT(std::abs(std::log(model.Seconds(whole) / 1e-4)), roofline);
  EXPECT_EQ(model.Seconds(whole), model.Seconds(whole));
}

TEST_F(FusionExamplesTest, AModelOfTilesIsRefused) {
  const FusionGraph graph = Parse(kChain);
  ModelFile file;
  EXPECT_THAT(std::string(FusionTimeModel::Create(file, &graph, V3()).status().message()),
              HasSubstr("--task fusion"));
}

}  // namespace
}  // namespace autotune
