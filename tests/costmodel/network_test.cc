// The networks of libautotune_torch.so, behind their interface.

#include "costmodel/network.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <set>
#include <thread>

#include "costmodel/network_module.h"
#include "gtest/gtest.h"
#include "tests/costmodel/learning_test_data.h"

namespace autotune {
namespace {

std::vector<float> ScoreOf(const Network& network, const KernelExample& example) {
  std::vector<float> residual(example.target.size());
  network.Score(example.View(), network.Encode(example.View()), example.config_features.data(),
                example.configs(), residual.data(), nullptr, nullptr);
  return residual;
}

TrainingKernel ViewAll(const KernelExample& example) {
  return {example.View(), example.configs(), example.config_features.data(), example.base.data(),
          example.target.data()};
}

double TrainOn(Network& network, const std::vector<KernelExample>& examples,
               const TrainingOptions& options, int steps) {
  std::vector<TrainingKernel> batch;
  for (const KernelExample& example : examples) batch.push_back(ViewAll(example));
  double loss = 0;
  std::string error;
  for (int step = 0; step < steps; ++step) {
    for (int64_t m = 0; m < network.options().members; ++m) {
      loss = network.TrainStep(m, batch, options, &error);
    }
  }
  EXPECT_EQ(error, "");
  return loss;
}

std::vector<KernelExample> Examples(int count) {
  std::vector<KernelExample> examples;
  for (int i = 0; i < count; ++i)
    examples.push_back(MadeUpExample(100 + static_cast<uint64_t>(i), 2 + i, 20));
  return examples;
}

// Every kind of network: layer, direction, reduction, join, attention, static features.
struct Kind {
  const char* name;
  void (*set)(NetworkOptions&);
};

class NetworkKindTest : public testing::TestWithParam<Kind> {};

TEST_P(NetworkKindTest, LearnsWhatTheBaseDoesNotKnow) {
  SKIP_WITHOUT_NETWORKS();
  NetworkOptions options = SmallNetwork();
  GetParam().set(options);
  auto network = CreateNetwork(options);
  ASSERT_TRUE(network.ok()) << network.status();
  const std::vector<KernelExample> examples = Examples(6);
  for (float residual : ScoreOf(**network, examples[0])) {
    EXPECT_EQ(residual, 0) << "untrained, it says what the base says";
  }
  TrainingOptions training;
  training.loss = Loss::kSquaredError;
  training.learning_rate = 3e-3;
  training.dropout = training.feature_noise = 0;
  const double before = TrainOn(**network, examples, training, 1);
  const double after = TrainOn(**network, examples, training, 150);
  EXPECT_LT(after, 0.35 * before) << GetParam().name;
  // Saved and loaded it is the same.
  auto copy = CreateNetwork(options);
  std::string error;
  ASSERT_TRUE((*copy)->Load((*network)->Save(false), &error)) << error;
  EXPECT_EQ(ScoreOf(**copy, examples[2]), ScoreOf(**network, examples[2]));
}

// A graph without edges ended the process with graph attention.
TEST_P(NetworkKindTest, TakesAKernelOfOneOperation) {
  SKIP_WITHOUT_NETWORKS();
  NetworkOptions options = SmallNetwork();
  GetParam().set(options);
  auto network = CreateNetwork(options);
  ASSERT_TRUE(network.ok()) << network.status();
  const std::vector<KernelExample> examples = {MadeUpExample(7, 1, 6)};
  ASSERT_EQ(examples[0].graph.edges(), 0);
  EXPECT_TRUE(std::isfinite(TrainOn(**network, examples, TrainingOptions(), 2)));
  for (const float residual : ScoreOf(**network, examples[0])) {
    EXPECT_TRUE(std::isfinite(residual));
  }
}

// The form without tensors, where there is one, follows the parameters.
TEST_P(NetworkKindTest, AnswersOnceAsItScoresButForRounding) {
  SKIP_WITHOUT_NETWORKS();
  NetworkOptions options = SmallNetwork();
  options.members = 2;
  GetParam().set(options);
  auto network = CreateNetwork(options);
  ASSERT_TRUE(network.ok()) << network.status();
  std::vector<KernelExample> examples = Examples(5);
  examples.push_back(MadeUpExample(7, 1, 6));  // no edges
  examples.push_back(MadeUpExample(8, 40, 3));
  TrainingOptions training;
  training.loss = Loss::kSquaredError;
  training.learning_rate = 1e-2;
  for (int round = 0; round < 2; ++round) {
    TrainOn(**network, examples, training, 2);
    for (const KernelExample& example : examples) {
      const GraphView view = example.View();
      const float* const config = example.config_features.data() + kConfigFeatures;
      float scored = 0;
      (*network)->Score(view, (*network)->Encode(view), config, 1, &scored, nullptr, nullptr);
      EXPECT_NE(scored, 0);
      EXPECT_NEAR((*network)->ScoreOnce(view, config), scored, 2e-5 * (1 + std::abs(scored)))
          << example.kernel << ", round " << round;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(
    All, NetworkKindTest,
    testing::Values(
        Kind{"Default", [](NetworkOptions&) {}},
        Kind{"Directed", [](NetworkOptions& o) { o.direction = EdgeDirection::kDirected; }},
        Kind{"Undirected", [](NetworkOptions& o) { o.direction = EdgeDirection::kUndirected; }},
        Kind{"Gat", [](NetworkOptions& o) { o.layer = GraphLayer::kGat; }},
        Kind{"NoLayers", [](NetworkOptions& o) { o.layer = GraphLayer::kNone; }},
        Kind{"PerNode", [](NetworkOptions& o) { o.reduction = Reduction::kPerNode; }},
        Kind{"Lstm", [](NetworkOptions& o) { o.reduction = Reduction::kLstm; }},
        Kind{"Transformer", [](NetworkOptions& o) { o.reduction = Reduction::kTransformer; }},
        Kind{"ConfigBins", [](NetworkOptions& o) { o.config_bins = 4; }},
        Kind{"ConfigShare", [](NetworkOptions& o) { o.config_share = 0.5; }},
        Kind{"EarlyJoin", [](NetworkOptions& o) { o.join = Join::kEarly; }},
        Kind{"ConfigAttention", [](NetworkOptions& o) { o.config_attention = true; }},
        Kind{"NoStatic",
             [](NetworkOptions& o) { o.static_features = NetworkOptions::StaticFeatures::kOff; }},
        Kind{"StaticAtNodes",
             [](NetworkOptions& o) { o.static_features = NetworkOptions::StaticFeatures::kNode; }}),
    [](const testing::TestParamInfo<Kind>& kind) { return kind.param.name; });

class NetworkTest : public testing::Test {
 protected:
  void SetUp() override {
    SKIP_WITHOUT_NETWORKS();
    auto network = CreateNetwork(SmallNetwork());
    ASSERT_TRUE(network.ok()) << network.status();
    network_ = *std::move(network);
  }
  std::unique_ptr<Network> network_;
};

// How many features of a configuration a network's answer depends on.
int SeenFeatures(const Network& network, const KernelExample& example) {
  const float before = ScoreOf(network, example)[0];
  int seen = 0;
  for (int64_t f = 0; f < kConfigFeatures; ++f) {
    KernelExample changed = example;
    changed.config_features[static_cast<size_t>(f)] += 0.5f;
    seen += ScoreOf(network, changed)[0] != before ? 1 : 0;
  }
  return seen;
}

TEST_F(NetworkTest, MemberSeesAShareOfTheFeaturesBeforeAndAfterLoading) {
  const std::vector<KernelExample> examples = Examples(6);
  std::set<int> counts;
  for (uint64_t seed = 1; seed <= 6; ++seed) {
    NetworkOptions options = SmallNetwork();
    options.seed = seed;
    options.config_share = 0.5;
    auto network = CreateNetwork(options);
    auto loaded = CreateNetwork(options);
    ASSERT_TRUE(network.ok() && loaded.ok());
    TrainingOptions training;
    training.learning_rate = 1e-2;
    TrainOn(**network, examples, training, 20);
    counts.insert(SeenFeatures(**network, examples[0]));
    std::string error;
    ASSERT_TRUE((*loaded)->Load((*network)->Save(/*with_optimizer=*/true), &error)) << error;
    TrainOn(**loaded, examples, training, 5);
    EXPECT_EQ(SeenFeatures(**loaded, examples[0]), SeenFeatures(**network, examples[0]));
  }
  EXPECT_LT(*counts.begin(), kConfigFeatures);
  EXPECT_GT(*counts.rbegin(), 0);
  TrainOn(*network_, examples, TrainingOptions(), 20);
  EXPECT_EQ(SeenFeatures(*network_, examples[0]), kConfigFeatures);
  NetworkOptions options = SmallNetwork();
  options.config_share = 0;
  EXPECT_EQ(CreateNetwork(options).status().code(), absl::StatusCode::kInvalidArgument);
}

TEST_F(NetworkTest, EveryLossLearnsTheOrder) {
  for (Loss loss : {Loss::kHinge, Loss::kLogistic, Loss::kListMle}) {
    auto network = CreateNetwork(SmallNetwork());
    ASSERT_TRUE(network.ok());
    TrainingOptions training;
    training.loss = loss;
    training.learning_rate = 3e-3;
    training.dropout = training.feature_noise = 0;
    const std::vector<KernelExample> examples = Examples(6);
    TrainOn(**network, examples, training, 150);
    int right = 0, pairs = 0;
    const std::vector<float> residual = ScoreOf(**network, examples[3]);
    for (size_t i = 0; i < residual.size(); ++i) {
      for (size_t j = 0; j < i; ++j) {
        const float truth = examples[3].target[i] - examples[3].target[j];
        const float score = residual[i] + examples[3].base[i] - residual[j] - examples[3].base[j];
        right += truth * score > 0 ? 1 : 0;
        ++pairs;
      }
    }
    EXPECT_GT(right, 0.9 * pairs) << static_cast<int>(loss);
  }
}

// A configuration's score is the same alone, among others, at another place and on other threads.
TEST_F(NetworkTest, ScoresDoNotDependOnWhatElseIsScored) {
  const KernelExample example = MadeUpExample(1, 5, 700);
  TrainOn(*network_, {example}, TrainingOptions(), 20);
  const std::vector<float> together = ScoreOf(*network_, example);
  const KernelEmbedding embedding = network_->Encode(example.View());
  std::vector<float> alone(700);
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&, t] {
      for (int64_t i = t; i < 700; i += 4) {
        network_->Score(example.View(), embedding,
                        example.config_features.data() + i * kConfigFeatures, 1,
                        &alone[static_cast<size_t>(i)], nullptr, nullptr);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(together, alone);
}

// Nor what is asked for once on other threads, between other kernels.
TEST_F(NetworkTest, AnswersOnceDoNotDependOnThreads) {
  const std::vector<KernelExample> examples = Examples(12);
  TrainOn(*network_, examples, TrainingOptions(), 20);
  std::vector<float> in_turn;
  for (const KernelExample& example : examples) {
    in_turn.push_back(network_->ScoreOnce(example.View(), example.config_features.data()));
  }
  for (int t = 0; t < 3; ++t) {
    std::vector<float> answers(examples.size());
    std::vector<std::thread> threads;
    for (size_t first = 0; first < 4; ++first) {
      threads.emplace_back([&, first] {
        for (size_t i = first; i < examples.size(); i += 4) {
          answers[i] = network_->ScoreOnce(examples[i].View(), examples[i].config_features.data());
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_EQ(answers, in_turn);
  }
}

TEST_F(NetworkTest, AnOpcodeThatTheNetworkHasNotGivesNoNumber) {
  KernelExample example = MadeUpExample(1, 5, 1);
  example.graph.opcodes[3] = 5;
  EXPECT_TRUE(std::isnan(network_->ScoreOnce(example.View(), example.config_features.data())));
}

TEST_F(NetworkTest, CorrectionsStayWithinTheCap) {
  NetworkOptions options = SmallNetwork();
  options.residual_cap = 0.05;
  auto network = CreateNetwork(options);
  ASSERT_TRUE(network.ok());
  TrainingOptions training;
  training.loss = Loss::kSquaredError;
  training.learning_rate = 1e-2;
  const std::vector<KernelExample> examples = Examples(4);
  TrainOn(**network, examples, training, 60);
  const std::vector<float> residual = ScoreOf(**network, examples[0]);
  const auto [least, most] = std::minmax_element(residual.begin(), residual.end());
  EXPECT_GT(*most - *least, 0.05);
  EXPECT_LE(*most - *least, 0.1001);
}

TEST_F(NetworkTest, ActivationsAreThoseOfAllMembers) {
  NetworkOptions options = SmallNetwork();
  options.members = 2;
  auto ensemble = CreateNetwork(options);
  ASSERT_TRUE(ensemble.ok());
  const KernelExample example = MadeUpExample(1, 5, 300);
  const auto width = static_cast<size_t>(2 * options.hidden);
  std::vector<float> activations(300 * width), last(width);
  const KernelEmbedding embedding = (*ensemble)->Encode(example.View());
  std::vector<float> residual(300);
  (*ensemble)->Score(example.View(), embedding, example.config_features.data(), 300,
                     residual.data(), nullptr, activations.data());
  EXPECT_EQ(residual, ScoreOf(**ensemble, example));
  (*ensemble)->Score(example.View(), embedding,
                     example.config_features.data() + 299 * kConfigFeatures, 1, residual.data(),
                     nullptr, last.data());
  EXPECT_TRUE(
      std::equal(last.begin(), last.end(), activations.end() - static_cast<std::ptrdiff_t>(width)));
  EXPECT_FALSE(
      std::equal(last.begin(), last.begin() + options.hidden, last.begin() + options.hidden));
}

TEST_F(NetworkTest, MembersOfAnEnsembleDisagreeWithinTheirSpread) {
  NetworkOptions options = SmallNetwork();
  options.members = 3;
  auto ensemble = CreateNetwork(options);
  ASSERT_TRUE(ensemble.ok());
  const std::vector<KernelExample> examples = Examples(4);
  TrainOn(**ensemble, examples, TrainingOptions(), 30);
  std::vector<float> residual(20), spread(20);
  (*ensemble)->Score(examples[0].View(), (*ensemble)->Encode(examples[0].View()),
                     examples[0].config_features.data(), 20, residual.data(), spread.data(),
                     nullptr);
  EXPECT_GT(*std::max_element(spread.begin(), spread.end()), 0);
  for (float s : spread) EXPECT_LT(s, 1);
}

TEST_F(NetworkTest, TrainingGoesOnFromSavedStateAsIfNothingHadHappened) {
  const std::vector<KernelExample> examples = Examples(4);
  TrainOn(*network_, examples, TrainingOptions(), 10);
  const std::string saved = network_->Save(/*with_optimizer=*/true);
  TrainOn(*network_, examples, TrainingOptions(), 10);
  auto resumed = CreateNetwork(SmallNetwork());
  std::string error;
  ASSERT_TRUE((*resumed)->Load(saved, &error)) << error;
  TrainOn(**resumed, examples, TrainingOptions(), 10);
  EXPECT_EQ(ScoreOf(**resumed, examples[1]), ScoreOf(*network_, examples[1]));
}

TEST_F(NetworkTest, SeedsDecideTheParameters) {
  const std::vector<KernelExample> examples = Examples(2);
  NetworkOptions other_seed = SmallNetwork();
  ++other_seed.seed;
  auto same = CreateNetwork(SmallNetwork());
  auto other = CreateNetwork(other_seed);
  for (Network* network : {network_.get(), same->get(), other->get()}) {
    TrainOn(*network, examples, TrainingOptions(), 3);
  }
  EXPECT_EQ(ScoreOf(*network_, examples[0]), ScoreOf(**same, examples[0]));
  EXPECT_NE(ScoreOf(*network_, examples[0]), ScoreOf(**other, examples[0]));
}

TEST_F(NetworkTest, DamagedParametersAreRefused) {
  const std::string saved = network_->Save(false);
  std::string error;
  for (size_t size = 0; size < saved.size(); size += saved.size() / 20) {
    error.clear();
    EXPECT_FALSE(network_->Load(saved.substr(0, size), &error)) << size;
    EXPECT_NE(error, "");
  }
  NetworkOptions larger = SmallNetwork();
  larger.members = 2;
  auto other = CreateNetwork(larger);
  EXPECT_FALSE((*other)->Load(saved, &error));
}

TEST_F(NetworkTest, AWeightThatIsNoNumberIsRefused) {
  InputScaling scaling;
  const NetworkOptions options = SmallNetwork();
  const auto ones = [](int64_t size) { return std::vector<float>(static_cast<size_t>(size), 1); };
  scaling.node_mean = scaling.node_factor = ones(options.node_features);
  scaling.kernel_mean = scaling.kernel_factor = ones(options.kernel_features);
  scaling.config_mean = scaling.config_factor = ones(options.config_features);
  scaling.config_mean[0] = std::numeric_limits<float>::quiet_NaN();
  network_->SetScaling(scaling);
  std::string error;
  EXPECT_FALSE(network_->Load(network_->Save(false), &error));
  EXPECT_EQ(error, "a weight is no number");
}

TEST_F(NetworkTest, OptionsThatMakeNoNetworkAreRefused) {
  NetworkOptions options = SmallNetwork();
  options.hidden = 6;
  EXPECT_EQ(CreateNetwork(options).status().code(), absl::StatusCode::kInvalidArgument);
  options = SmallNetwork();
  options.members = 0;
  EXPECT_EQ(CreateNetwork(options).status().code(), absl::StatusCode::kInvalidArgument);
}

}  // namespace
}  // namespace autotune
