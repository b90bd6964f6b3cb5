#ifndef AUTOTUNE_TESTS_COSTMODEL_LEARNING_TEST_DATA_H_
#define AUTOTUNE_TESTS_COSTMODEL_LEARNING_TEST_DATA_H_

#include <cmath>
#include <memory>
#include <random>
#include <string>
#include <vector>

#include "costmodel/example.h"
#include "costmodel/example_store.h"
#include "costmodel/network_module.h"
#include "gtest/gtest.h"
#include "hardware/recording.h"

namespace autotune {

// Skips a test where LibTorch was not there to build the module of learned models.
#define SKIP_WITHOUT_NETWORKS()                                                  \
  do {                                                                           \
    if (!FindNetworkModule().ok()) GTEST_SKIP() << FindNetworkModule().status(); \
  } while (false)

inline constexpr int64_t kNodeFeatures = 3;
inline constexpr int64_t kKernelFeatures = 2;
inline constexpr int64_t kConfigFeatures = 4;

// A made-up kernel whose times follow a rule that the base does not know: the residual is a
// configuration's first feature times a factor that the kernel's first feature decides.
inline KernelExample MadeUpExample(uint64_t seed, int64_t nodes, int64_t configs) {
  std::mt19937_64 random(seed);
  std::normal_distribution<float> normal;
  KernelExample example;
  example.program = "program" + std::to_string(seed % 5);
  example.kernel = "fusion." + std::to_string(seed);
  example.fingerprint = seed;
  example.device = "tpu-v3";
  for (int64_t n = 0; n < nodes; ++n) {
    example.graph.opcodes.push_back(static_cast<int32_t>(random() % 5));
    for (int64_t f = 0; f < kNodeFeatures; ++f) {
      example.graph.node_features.push_back(normal(random));
    }
    if (n == 0) continue;
    example.graph.edge_sources.push_back(static_cast<int32_t>(random() % static_cast<uint64_t>(n)));
    example.graph.edge_targets.push_back(static_cast<int32_t>(n));
  }
  for (int64_t f = 0; f < kKernelFeatures; ++f) {
    example.graph.kernel_features.push_back(normal(random));
  }
  const float slope = example.graph.kernel_features[0] > 0 ? 0.6f : 0.3f;
  for (int64_t c = 0; c < configs; ++c) {
    for (int64_t f = 0; f < kConfigFeatures; ++f) {
      example.config_features.push_back(normal(random));
    }
    const float first =
        example
            .config_features[example.config_features.size() - static_cast<size_t>(kConfigFeatures)];
    example.base.push_back(-10 + 0.05f * normal(random));
    example.target.push_back(example.base.back() + slope * first);
  }
  return example;
}

inline NetworkOptions SmallNetwork() {
  NetworkOptions options;
  options.opcodes = 5;
  options.node_features = kNodeFeatures;
  options.kernel_features = kKernelFeatures;
  options.config_features = kConfigFeatures;
  options.hidden = 16;
  options.opcode_embedding = 4;
  options.kernel_embedding = 8;
  options.residual_cap = 4;
  options.layers = 2;
  options.seed = 7;
  return options;
}

inline std::unique_ptr<ExampleStore> MadeUpStore(uint64_t first_seed, int64_t kernels,
                                                 int64_t memory_bytes = 1 << 24) {
  auto store = ExampleStore::Create(testing::TempDir(), memory_bytes);
  EXPECT_TRUE(store.ok()) << store.status();
  for (int64_t k = 0; k < kernels; ++k) {
    const uint64_t seed = first_seed + static_cast<uint64_t>(k);
    EXPECT_TRUE((*store)->Add(MadeUpExample(seed, 2 + k % 7, 12 + k % 5)).ok());
  }
  return *std::move(store);
}

// The recorded kernels of a TPU v3.
inline Recording RecordedKernels() {
  auto recording =
      Recording::Load(std::string(AUTOTUNE_SOURCE_DIR) + "/examples/alexnet/tpu_v3.pb");
  EXPECT_TRUE(recording.ok()) << recording.status();
  return *std::move(recording);
}

inline const RecordedKernel& KernelNamed(const Recording& recording, const std::string& name) {
  for (const RecordedKernel& kernel : recording.kernels()) {
    if (kernel.kernel().name == name) return kernel;
  }
  ADD_FAILURE() << "no kernel " << name;
  return recording.kernels().front();
}

}  // namespace autotune

#endif  // AUTOTUNE_TESTS_COSTMODEL_LEARNING_TEST_DATA_H_
