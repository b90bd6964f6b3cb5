#include "costmodel/npz_examples.h"

#include <cmath>
#include <string>

#include "costmodel/recorded_examples.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hardware/atomic_file.h"
#include "hardware/npz_file.h"
#include "tests/costmodel/learning_test_data.h"

namespace autotune {
namespace {

// A file with the shapes and types that TpuGraphs documents.
class NpzExamplesTest : public testing::Test {
 protected:
  void Put(const std::string& name, NpyArray array) {
    for (NamedNpyArray& named : arrays_) {
      if (named.name == name) {
        named.array = std::move(array);
        return;
      }
    }
    arrays_.push_back({name, std::move(array)});
  }
  void SetUp() override {
    std::vector<float> nodes(3 * 140), configs(5000 * 24);
    for (size_t i = 0; i < nodes.size(); ++i) nodes[i] = static_cast<float>(i % 17);
    for (size_t i = 0; i < configs.size(); ++i) configs[i] = static_cast<float>(i / 24);
    std::vector<int64_t> times, normalizers;
    for (int64_t i = 0; i < 5000; ++i) {
      times.push_back(1000 + i);
      normalizers.push_back(i % 2 + 1);
    }
    Put("node_feat", NpyArray::OfFloats({3, 140}, nodes));
    Put("node_opcode", NpyArray::OfInt32({3}, std::vector<int32_t>{63, 63, 2}));
    Put("edge_index", NpyArray::OfInt32({2, 2}, std::vector<int32_t>{2, 0, 2, 1}));
    Put("config_feat", NpyArray::OfFloats({5000, 24}, configs));
    Put("config_runtime", NpyArray::OfInt64({5000}, times));
    Put("config_runtime_normalizers", NpyArray::OfInt64({5000}, normalizers));
  }
  absl::StatusOr<KernelExample> Read(int64_t max_configs = 1 << 30) {
    const std::string path = testing::TempDir() + "/kernel_7.tile.npz";
    EXPECT_TRUE(WriteFileAtomically(path, SerializeNpz(arrays_).value()).ok());
    return ReadNpzExample(path, TpuGraphsTileSchema(), max_configs);
  }
  std::string ErrorOf() { return std::string(Read().status().message()); }

  std::vector<NamedNpyArray> arrays_;
};

TEST_F(NpzExamplesTest, ReadsWhatTheDocumentationDescribes) {
  const auto example = Read();
  ASSERT_TRUE(example.ok()) << example.status();
  EXPECT_EQ(example->program, "kernel_7");
  EXPECT_EQ(example->graph.nodes(), 3);
  EXPECT_THAT(example->graph.edge_sources, testing::ElementsAre(0, 1));
  EXPECT_THAT(example->graph.edge_targets, testing::ElementsAre(2, 2));
  ASSERT_EQ(example->configs(), 5000);
  EXPECT_NEAR(std::exp(example->target[4]) * 1e9, 1004, 0.01);
  EXPECT_NEAR(std::exp(example->target[5]) * 1e9, 502.5, 0.01);
  EXPECT_EQ(example->config_features[24 * 4999], 4999);
}

TEST_F(NpzExamplesTest, KeepsEvenlySpacedConfigurations) {
  const auto example = Read(10);
  ASSERT_TRUE(example.ok()) << example.status();
  ASSERT_EQ(example->configs(), 10);
  for (size_t i = 0; i < 10; ++i)
    EXPECT_EQ(example->config_features[24 * i], 500.0f * static_cast<float>(i));
  EXPECT_NEAR(std::exp(example->target[1]) * 1e9, 1500, 0.02);
}

TEST_F(NpzExamplesTest, WrongArraysAreNamed) {
  Put("node_opcode", NpyArray::OfInt32({3}, std::vector<int32_t>{63, 63, 1000}));
  EXPECT_THAT(ErrorOf(), testing::HasSubstr("node_opcode has the opcode 1000"));
  SetUp();
  Put("edge_index", NpyArray::OfInt32({2, 3}, std::vector<int32_t>{2, 2, 2, 0, 1, 1}));
  EXPECT_THAT(ErrorOf(), testing::HasSubstr("edge_index must have two columns"));
  Put("edge_index", NpyArray::OfInt32({1, 2}, std::vector<int32_t>{3, 0}));
  EXPECT_THAT(ErrorOf(), testing::HasSubstr("edge_index names a node that is not there"));
  SetUp();
  Put("node_feat", NpyArray::OfFloats({3, 2}, std::vector<float>(6)));
  EXPECT_THAT(ErrorOf(), testing::HasSubstr("node_feat must be 3 x 140"));
  SetUp();
  Put("config_runtime", NpyArray::OfInt64({5000}, std::vector<int64_t>(5000)));
  EXPECT_THAT(ErrorOf(), testing::HasSubstr("config_runtime is not positive at 0"));
  // 64 MiB of zeros in 64 KiB: what expands that far is no program.
  Put("node_opcode", NpyArray{NpyType::kUint8, {(1 << 26) + 1}, std::string((1 << 26) + 1, '\0')});
  EXPECT_THAT(ErrorOf(), testing::HasSubstr("node_opcode has more than 67108864 elements"));
  SetUp();
  arrays_.erase(arrays_.begin());
  EXPECT_THAT(ErrorOf(), testing::HasSubstr("node_feat"));
  EXPECT_EQ(Read().status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(NpzExamplesTest, RecordingsComeBack) {
  const Recording recording = RecordedKernels();
  const KernelExample example =
      MakeExample(KernelNamed(recording, "copy.24"), "alexnet", "tpu-v3", AnalyticalConstants())
          .value()
          .value();
  const std::string path = testing::TempDir() + "/copy.npz";
  ASSERT_TRUE(WriteNpzExample(example, path).ok());
  FeatureSchema schema = TileFeatureSchema();
  const auto read = ReadNpzExample(path, schema, 1000);
  ASSERT_TRUE(read.ok()) << read.status();
  EXPECT_EQ(read->graph.opcodes, example.graph.opcodes);
  EXPECT_EQ(read->graph.node_features, example.graph.node_features);
  EXPECT_EQ(read->graph.edge_sources, example.graph.edge_sources);
  EXPECT_EQ(read->config_features, example.config_features);
  for (size_t i = 0; i < example.target.size(); ++i) {
    EXPECT_NEAR(read->target[i], example.target[i], 1e-6);  // whole picoseconds
  }
}

}  // namespace
}  // namespace autotune
