#include "costmodel/npz_layouts.h"

#include <cmath>
#include <filesystem>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "costmodel/npz_data.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hardware/atomic_file.h"
#include "hardware/npz_file.h"
#include "tests/costmodel/learning_test_data.h"

namespace autotune {
namespace {

// The arrays of one program in the shapes and types that TpuGraphs documents.
class LayoutFile {
 public:
  // A chain of `nodes` operations; layouts are chosen for every second one. A program is slower by
  // a tenth for each of these, of opcode 3, whose first layout feature is not 1, and faster for
  // each of another opcode: what only the node's opcode and its layout together tell.
  LayoutFile(uint64_t seed, int32_t nodes, int32_t configs) {
    std::mt19937_64 random(seed);
    std::vector<float> features(static_cast<size_t>(nodes) * 140);
    for (float& feature : features) feature = static_cast<float>(random() % 8);
    std::vector<int32_t> opcodes, edges, ids;
    for (int32_t n = 0; n < nodes; ++n) {
      opcodes.push_back(random() % 2 == 0 ? 3 : 63);
      if (n > 0) edges.insert(edges.end(), {n, n - 1});
      if (n % 2 == 0) ids.push_back(n);
    }
    const auto chosen = static_cast<int64_t>(ids.size());
    std::vector<float> layouts;
    std::vector<int32_t> times;
    for (int32_t c = 0; c < configs; ++c) {
      double slowdown = 0;
      for (const int32_t id : ids) {
        const bool first = random() % 2 == 0;
        const bool slow = (opcodes[static_cast<size_t>(id)] == 3) != first;
        slowdown += slow ? 0.1 : 0;
        layouts.push_back(first ? 1.0f : 0.0f);
        layouts.insert(layouts.end(), 17, -1.0f);
      }
      times.push_back(static_cast<int32_t>(1e6 * std::exp(slowdown)));
    }
    Put("node_feat", NpyArray::OfFloats({nodes, 140}, features));
    Put("node_opcode", NpyArray::OfInt32({nodes}, opcodes));
    Put("edge_index", NpyArray::OfInt32({nodes - 1, 2}, edges));
    Put("node_config_ids", NpyArray::OfInt32({chosen}, ids));
    Put("node_config_feat", NpyArray::OfFloats({configs, chosen, 18}, layouts));
    Put("config_runtime", NpyArray::OfInt32({configs}, times));
    Put("node_splits", NpyArray::OfInt32({1, 2}, std::vector<int32_t>{0, nodes}));
  }
  void Put(const std::string& name, NpyArray array) {
    for (NamedNpyArray& named : arrays) {
      if (named.name != name) continue;
      named.array = std::move(array);
      return;
    }
    arrays.push_back({name, std::move(array)});
  }
  std::string Write(const std::string& name) const {
    const std::string path = testing::TempDir() + "/" + name;
    std::filesystem::create_directories(std::filesystem::path(path).parent_path());
    EXPECT_TRUE(WriteFileAtomically(path, SerializeNpz(arrays).value()).ok());
    return path;
  }

  std::vector<NamedNpyArray> arrays;
};

TEST(NpzLayoutsTest, ReadsWhatTheDocumentationDescribes) {
  const LayoutFile file(1, 5, 7);
  const std::string path = file.Write("bert.1.npz");
  EXPECT_TRUE(IsNpzLayouts(path));
  EXPECT_EQ(DetectNpzSchema(path).value(), &TpuGraphsLayoutSchema());
  const auto example = ReadNpzLayouts(path, 100);
  ASSERT_TRUE(example.ok()) << example.status();
  EXPECT_EQ(example->program, "bert");
  EXPECT_EQ(example->graph.nodes(), 5);
  EXPECT_THAT(example->graph.edge_sources, testing::ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(example->graph.edge_targets, testing::ElementsAre(1, 2, 3, 4));
  EXPECT_THAT(example->graph.config_nodes, testing::ElementsAre(0, 2, 4));
  ASSERT_EQ(example->configs(), 7);
  EXPECT_EQ(example->config_features, file.arrays[4].array.Floats());
  const auto times = file.arrays[5].array.Integers().value();
  for (size_t i = 0; i < 7; ++i) {
    EXPECT_NEAR(std::exp(example->target[i]) * 1e9, static_cast<double>(times[i]), 10);
    EXPECT_EQ(example->base[i], example->base[0]);
  }
}

TEST(NpzLayoutsTest, KeepsEvenlySpacedConfigurations) {
  const LayoutFile file(2, 9, 4000);  // several parts of the stream
  const auto all = ReadNpzLayouts(file.Write("all.npz"), 1 << 20);
  const auto some = ReadNpzLayouts(file.Write("some.npz"), 10);
  ASSERT_TRUE(all.ok() && some.ok()) << all.status() << some.status();
  ASSERT_EQ(some->configs(), 10);
  const std::ptrdiff_t width = 5 * 18;
  for (std::ptrdiff_t i = 0; i < 10; ++i) {
    EXPECT_EQ(some->target[static_cast<size_t>(i)], all->target[static_cast<size_t>(400 * i)]);
    EXPECT_TRUE(std::equal(some->config_features.begin() + i * width,
                           some->config_features.begin() + (i + 1) * width,
                           all->config_features.begin() + 400 * i * width));
  }
}

TEST(NpzLayoutsTest, WrongArraysAreNamed) {
  const LayoutFile good(3, 5, 4);
  const auto error_with = [&good](const std::string& name, NpyArray array) {
    LayoutFile file = good;
    file.Put(name, std::move(array));
    const auto example = ReadNpzLayouts(file.Write("wrong.npz"), 100);
    EXPECT_EQ(example.status().code(), absl::StatusCode::kInvalidArgument) << name;
    return std::string(example.status().message());
  };
  const auto ints = [](std::vector<int64_t> shape, std::vector<int32_t> values) {
    return NpyArray::OfInt32(std::move(shape), values);
  };
  EXPECT_THAT(error_with("node_config_ids", ints({3}, {0, 2, 5})),
              testing::HasSubstr("node_config_ids names a node that is not there: 5"));
  EXPECT_THAT(error_with("node_config_ids", ints({3}, {0, 2, 2})),
              testing::HasSubstr("node_config_ids names node 2 twice"));
  EXPECT_THAT(error_with("node_config_ids", ints({0}, {})),
              testing::HasSubstr("node_config_ids is empty"));
  EXPECT_THAT(error_with("node_config_ids", ints({2}, {0, 2})),
              testing::HasSubstr("node_config_feat must be 4 x 2 x 18"));
  EXPECT_THAT(error_with("config_runtime", ints({4}, {5, 5, 0, 5})),
              testing::HasSubstr("config_runtime is not positive at 2"));
  EXPECT_THAT(error_with("config_runtime", ints({0}, {})),
              testing::HasSubstr("config_runtime is empty"));
  EXPECT_THAT(error_with("node_opcode", ints({5}, {0, 1, 2, 3, -1})),
              testing::HasSubstr("node_opcode has the opcode -1"));
  std::vector<float> layouts(4 * 3 * 18);
  layouts[100] = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(error_with("node_config_feat", NpyArray::OfFloats({4, 3, 18}, layouts)),
              testing::HasSubstr("node_config_feat has a value that is no number"));
}

// Cut or damaged anywhere, a file gives an error or (where only unused bytes changed) is read.
TEST(NpzLayoutsTest, DamagedFilesDoNotCrash) {
  const std::string bytes = SerializeNpz(LayoutFile(4, 5, 4).arrays).value();
  const std::string path = testing::TempDir() + "/damaged.npz";
  for (size_t i = 0; i < bytes.size(); i += 7) {
    ASSERT_TRUE(WriteFileAtomically(path, bytes.substr(0, i)).ok());
    EXPECT_FALSE(ReadNpzLayouts(path, 10).ok()) << i;
    std::string changed = bytes;
    changed[i] = static_cast<char>(changed[i] ^ 0x55);
    ASSERT_TRUE(WriteFileAtomically(path, changed).ok());
    const auto example = ReadNpzLayouts(path, 10);
    EXPECT_TRUE(!example.ok() || example->configs() == 4) << i;
  }
}

class LayoutTrainingTest : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_NETWORKS();
    std::vector<std::string> files;
    for (uint64_t seed = 0; seed < 24; ++seed) {
      const std::string folder = seed < 18 ? "layouts/train/" : "layouts/test/";
      files.push_back(LayoutFile(seed, 8 + static_cast<int32_t>(seed % 5), 24)
                          .Write(folder + "program" + std::to_string(seed) + ".npz"));
    }
    for (auto* store : {&training_, &none_, &test_}) {
      *store = ExampleStore::Create(testing::TempDir(), 1 << 24).value();
    }
    const auto data =
        ReadNpzData(files, TpuGraphsLayoutSchema(), {}, 100, training_.get(), nullptr, test_.get());
    ASSERT_TRUE(data.ok()) << data.status();
    ASSERT_EQ(training_->size(), 18);
    options_ = LayoutTrainerOptions();
    options_.network.opcodes = TpuGraphsLayoutSchema().opcodes;
    options_.network.hidden = 16;
    options_.network.seed = 1;
    options_.epochs = 25;
    options_.step.learning_rate = 5e-3;
    options_.step.dropout = 0;
    options_.step.feature_noise = 0;
  }
  double TestTau() {
    const auto trained = TrainNetwork(*training_, *none_, options_, nullptr);
    EXPECT_TRUE(trained.ok()) << trained.status();
    return trained.ok() ? AssessNetwork(*trained->network, *test_, 2)->kendall_tau : 0;
  }

  std::unique_ptr<ExampleStore> training_, none_, test_;
  TrainerOptions options_;
};

TEST_F(LayoutTrainingTest, TheOrderOfUnseenProgramsIsLearned) { EXPECT_GT(TestTau(), 0.85); }

// Joined late, the configuration is the mean over its nodes: which node it was of is lost, and with
// it all that could be learned here.
TEST_F(LayoutTrainingTest, JoinedLateNodesCannotBeToldApart) {
  options_.network.join = Join::kLate;
  EXPECT_LT(TestTau(), 0.6);
}

}  // namespace
}  // namespace autotune
