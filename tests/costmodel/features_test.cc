#include "costmodel/features.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "costmodel/graph_features.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hlo/module.h"
#include "hlo/opcode.h"
#include "tests/costmodel/learning_test_data.h"

namespace autotune {
namespace {

class FeaturesTest : public testing::Test {
 protected:
  const Recording recording_ = RecordedKernels();
  const Kernel& convolution_ = KernelNamed(recording_, "fusion.191").kernel();
  const DeviceSpec v3_ = FindDeviceSpec("v3").value();

  static int64_t Column(const std::vector<std::string>& names, const std::string& name) {
    const auto found = std::find(names.begin(), names.end(), name);
    EXPECT_NE(found, names.end()) << name;
    return found - names.begin();
  }
  static float NodeFeature(const KernelGraph& graph, int64_t node, const std::string& name) {
    const auto& names = TileFeatureSchema().node;
    return graph.node_features[static_cast<size_t>(node * static_cast<int64_t>(names.size()) +
                                                   Column(names, name))];
  }
};

TEST_F(FeaturesTest, NamesAreDistinctAndCountWhatIsWritten) {
  const FeatureSchema& schema = TileFeatureSchema();
  EXPECT_GT(schema.version, 0);
  for (const auto* names : {&schema.node, &schema.kernel, &schema.config}) {
    EXPECT_EQ(std::set<std::string>(names->begin(), names->end()).size(), names->size());
  }
  const auto featurizer = Featurizer::Create(convolution_, v3_);
  ASSERT_TRUE(featurizer.ok()) << featurizer.status();
  const KernelGraph& graph = featurizer->graph();
  EXPECT_EQ(graph.node_features.size(), graph.opcodes.size() * schema.node.size());
  EXPECT_EQ(graph.kernel_features.size(), schema.kernel.size());
  for (int32_t opcode : graph.opcodes) EXPECT_LT(opcode, schema.opcodes);
}

TEST_F(FeaturesTest, GraphInlinesFusionsAndKeepsEdgesFromProducersToConsumers) {
  const auto featurizer = Featurizer::Create(convolution_, v3_);
  ASSERT_TRUE(featurizer.ok());
  const KernelGraph& graph = featurizer->graph();
  const auto fusion = static_cast<int32_t>(HloOpcode::kFusion);
  EXPECT_EQ(std::count(graph.opcodes.begin(), graph.opcodes.end(), fusion), 0);
  const auto convolution = static_cast<int32_t>(HloOpcode::kConvolution);
  const auto hero = std::find(graph.opcodes.begin(), graph.opcodes.end(), convolution);
  ASSERT_NE(hero, graph.opcodes.end());
  for (size_t e = 0; e < graph.edge_sources.size(); ++e) {
    EXPECT_LT(graph.edge_sources[e], graph.edge_targets[e]) << "operands come before users";
  }
  const auto node = static_cast<int64_t>(hero - graph.opcodes.begin());
  EXPECT_EQ(std::count(graph.edge_targets.begin(), graph.edge_targets.end(), node), 2);
  // A 3x3 window: the logarithms of two extents of 3 add up to 4.
  EXPECT_FLOAT_EQ(NodeFeature(graph, node, "log_window_size"), 4);
}

TEST_F(FeaturesTest, ConfigFeaturesFollowTheTile) {
  const auto featurizer = Featurizer::Create(convolution_, v3_);
  ASSERT_TRUE(featurizer.ok());
  const auto& names = TileFeatureSchema().config;
  std::vector<float> features(names.size());
  AnalyticalScratch scratch;
  int checked = 0;
  for (const RecordedConfig& config : KernelNamed(recording_, "fusion.191").configs()) {
    const TileBounds& bounds = *config.config.tile();
    const AnalyticalEstimate estimate = featurizer->ConfigFeatures(
        bounds, AnalyticalConstants(), absl::MakeSpan(features), &scratch);
    const TileEvaluation tile = featurizer->geometry().Evaluate(bounds);
    const auto of = [&](const std::string& name) {
      return features[static_cast<size_t>(Column(names, name))];
    };
    EXPECT_FLOAT_EQ(of("log_iterations"), std::log2(1 + static_cast<float>(tile.iterations)));
    EXPECT_FLOAT_EQ(of("log_output_bound_0"),
                    std::log2(1 + static_cast<float>(bounds.output.back())));
    EXPECT_NEAR(of("analytical_log_seconds"), std::log2(estimate.seconds), 1e-4);
    EXPECT_LE(of("analytical_matrix_share"), 1.0f);
    for (float feature : features) EXPECT_TRUE(std::isfinite(feature));
    if (++checked == 100) break;
  }
}

TEST_F(FeaturesTest, RatiosSetATileAgainstItsKernel) {
  const auto featurizer = Featurizer::Create(convolution_, v3_);
  ASSERT_TRUE(featurizer.ok());
  const TileGeometry& geometry = featurizer->geometry();
  const auto log = [](double value) { return std::log2(1 + value); };
  int64_t largest_output = 0;
  double bytes = 0;
  for (const TileOperand& operand : geometry.operands()) {
    bytes += static_cast<double>(operand.total_bytes);
    if (operand.is_output) largest_output = std::max(largest_output, operand.total_bytes);
  }
  std::vector<float> features(TileFeatureSchema().config.size());
  AnalyticalScratch scratch;
  float least = 0;
  for (const RecordedConfig& config : KernelNamed(recording_, "fusion.191").configs()) {
    const TileBounds& bounds = *config.config.tile();
    const AnalyticalEstimate estimate = featurizer->ConfigFeatures(
        bounds, AnalyticalConstants(), absl::MakeSpan(features), &scratch);
    const auto of = [&](const std::string& name) {
      return features[static_cast<size_t>(Column(TileFeatureSchema().config, name))];
    };
    const TileEvaluation tile = geometry.Evaluate(bounds);
    // A window is no larger than its array but for padding, and is loaded at least once.
    EXPECT_LE(of("log_window_share_of_output_0"), 2);
    EXPECT_GE(of("log_loads_of_output_0"), of("log_window_share_of_output_0") + 1);
    least = std::min(least, of("log_window_share_of_output_0"));
    EXPECT_NEAR(of("log_window_share_of_output_0"),
                of("log_window_bytes_of_output_0") - log(static_cast<double>(largest_output)),
                1e-4);
    EXPECT_NEAR(of("log_iterations_of_byte"),
                log(static_cast<double>(tile.iterations)) - log(bytes), 1e-4);
    EXPECT_NEAR(of("log_transfer_cycles_of_byte"),
                log(estimate.transfer_seconds * v3_.clock_hz) - log(bytes), 1e-4);
    EXPECT_NEAR(of("log_compute_over_transfer_cycles"),
                of("log_compute_cycles") - of("log_transfer_cycles"), 1e-4);
    EXPECT_NEAR(of("log_compute_cycles_of_flop"),
                of("log_compute_cycles") - featurizer->graph().kernel_features[static_cast<size_t>(
                                               Column(TileFeatureSchema().kernel, "log_flops"))],
                1e-4);
  }
  EXPECT_LT(least, -3) << "some tile is a small part of the output";
}

TEST_F(FeaturesTest, DoNotDependOnNamesButOnTheDevice) {
  const auto v3 = Featurizer::Create(convolution_, v3_);
  Kernel renamed = convolution_;
  renamed.name = "other";
  const auto other = Featurizer::Create(renamed, v3_);
  const auto v5e = Featurizer::Create(convolution_, FindDeviceSpec("v5e").value());
  ASSERT_TRUE(v3.ok() && other.ok() && v5e.ok());
  EXPECT_EQ(v3->graph().node_features, other->graph().node_features);
  EXPECT_EQ(v3->graph().kernel_features, other->graph().kernel_features);
  EXPECT_EQ(v3->graph().node_features, v5e->graph().node_features);
  EXPECT_NE(v3->graph().kernel_features, v5e->graph().kernel_features);
}

TEST_F(FeaturesTest, KernelWithoutModuleIsRefused) {
  EXPECT_EQ(Featurizer::Create(Kernel(), v3_).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace autotune
