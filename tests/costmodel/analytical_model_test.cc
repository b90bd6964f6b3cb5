#include "costmodel/analytical_model.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "costmodel/analytical_fit.h"
#include "costmodel/learned_model.h"
#include "costmodel/model_file.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "hardware/recording.h"
#include "tests/costmodel/learning_test_data.h"

namespace autotune {
namespace {

// The tiles of one recorded kernel that have a time.
struct RecordedTiles {
  const RecordedKernel* recorded = nullptr;
  std::unique_ptr<AnalyticalKernel> kernel;
  AnalyticalFitKernel samples;
  std::vector<TileBounds> failed;
};

// How well constants order the tiles of a kernel.
struct Quality {
  double tau = 0;
  int rank_within_5_percent = 0;         // 1 is best
  double top1 = 0, top5 = 0, top10 = 0;  // slowdown over the best, in per cent
};

double PairwiseTau(const std::vector<double>& x, const std::vector<double>& y) {
  double agreement = 0;
  double pairs = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    for (size_t j = 0; j < i; ++j) {
      if (y[i] == y[j]) continue;
      const double product = (x[i] - x[j]) * (y[i] - y[j]);
      agreement += product > 0 ? 1 : product < 0 ? -1 : 0;
      ++pairs;
    }
  }
  return pairs > 0 ? agreement / pairs : 1;
}

Quality Judge(const RecordedTiles& tiles, const AnalyticalConstants& constants) {
  const std::vector<double>& seconds = tiles.samples.seconds;
  AnalyticalScratch scratch;
  std::vector<double> predicted;
  for (const TileBounds& bounds : tiles.samples.tiles) {
    predicted.push_back(tiles.kernel->Estimate(bounds, constants, &scratch).seconds);
  }
  std::vector<size_t> order(seconds.size());
  std::iota(order.begin(), order.end(), size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](size_t a, size_t b) { return predicted[a] < predicted[b]; });
  const double best = *std::min_element(seconds.begin(), seconds.end());
  const auto top = [&](size_t k) {
    double reached = seconds[order[0]];
    for (size_t i = 0; i < std::min(k, order.size()); ++i) {
      reached = std::min(reached, seconds[order[i]]);
    }
    return 100 * (reached / best - 1);
  };
  Quality quality{PairwiseTau(predicted, seconds), 1, top(1), top(5), top(10)};
  while (seconds[order[static_cast<size_t>(quality.rank_within_5_percent - 1)]] > 1.05 * best) {
    ++quality.rank_within_5_percent;
  }
  return quality;
}

class RecordedTilesTest : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    auto loaded = Recording::Load(std::string(AUTOTUNE_SOURCE_DIR) + "/examples/alexnet/tpu_v3.pb");
    ASSERT_TRUE(loaded.ok()) << loaded.status();
    recording_ = new Recording(*std::move(loaded));
    all_ = new std::vector<RecordedTiles>();
    const DeviceSpec device = *FindDeviceSpec("v3");
    for (const RecordedKernel& recorded : recording_->kernels()) {
      if (recorded.HasOpaqueConfigs()) continue;
      auto kernel = AnalyticalKernel::Create(*recorded.kernel().module, device);
      ASSERT_TRUE(kernel.ok()) << kernel.status();
      RecordedTiles tiles;
      tiles.recorded = &recorded;
      tiles.kernel = std::make_unique<AnalyticalKernel>(*std::move(kernel));
      tiles.samples.kernel = tiles.kernel.get();
      for (const RecordedConfig& config : recorded.configs()) {
        ASSERT_TRUE(tiles.kernel->geometry().Check(*config.config.tile()).ok());
        const auto seconds = config.MedianSeconds();
        if (!seconds) {
          tiles.failed.push_back(*config.config.tile());
          continue;
        }
        tiles.samples.tiles.push_back(*config.config.tile());
        tiles.samples.seconds.push_back(*seconds);
      }
      all_->push_back(std::move(tiles));
    }
  }

  static const RecordedTiles& Kernel(const std::string& name) {
    for (const RecordedTiles& tiles : *all_) {
      if (tiles.recorded->kernel().name == name) return tiles;
    }
    ADD_FAILURE() << name << " is not recorded";
    return all_->front();
  }

  static std::vector<AnalyticalFitKernel> Samples(const RecordedTiles* left_out = nullptr) {
    std::vector<AnalyticalFitKernel> samples;
    for (const RecordedTiles& tiles : *all_) {
      if (&tiles != left_out) samples.push_back(tiles.samples);
    }
    return samples;
  }

  static Recording* recording_;
  static std::vector<RecordedTiles>* all_;
};

Recording* RecordedTilesTest::recording_ = nullptr;
std::vector<RecordedTiles>* RecordedTilesTest::all_ = nullptr;

TEST_F(RecordedTilesTest, OrdersTilesOfTheConvolution) {
  const Quality quality = Judge(Kernel("fusion.191"), AnalyticalConstants());
  EXPECT_GE(quality.tau, 0.92);
  // One tile of 579 is within 5 %. The default, which is not, may be measured first: rank 2
  // makes 3.
  EXPECT_LE(quality.rank_within_5_percent, 2);
}

TEST_F(RecordedTilesTest, OrdersTilesOfTheReduction) {
  const Quality quality = Judge(Kernel("fusion.232"), AnalyticalConstants());
  EXPECT_GE(quality.tau, 0.75);
  EXPECT_LE(quality.rank_within_5_percent, 3);
}

TEST_F(RecordedTilesTest, HoldsTheRecordedFailuresAndNoOtherTileForTooLarge) {
  int failed = 0;
  for (const RecordedTiles& tiles : *all_) {
    for (const TileBounds& bounds : tiles.failed) {
      ++failed;
      EXPECT_FALSE(tiles.kernel->Fits(tiles.kernel->geometry().Evaluate(bounds))) << bounds.Key();
    }
    for (const TileBounds& bounds : tiles.samples.tiles) {
      EXPECT_TRUE(tiles.kernel->Fits(tiles.kernel->geometry().Evaluate(bounds))) << bounds.Key();
    }
  }
  EXPECT_EQ(failed, 2);
}

// The constants in the source are what the documented fit gives, whatever it starts from.
TEST_F(RecordedTilesTest, ConstantsAreThoseOfTheFit) {
  AnalyticalConstants start;
  for (const NamedConstant& c : AnalyticalConstantList()) start.*c.value *= 1.3;
  const AnalyticalConstants fitted = FitAnalyticalConstants(Samples(), start);
  const AnalyticalConstants used;
  for (const NamedConstant& c : AnalyticalConstantList()) {
    std::printf("%-26s fitted %.4g used %.4g\n", c.name.c_str(), fitted.*c.value, used.*c.value);
    EXPECT_NEAR(fitted.*c.value / (used.*c.value), 1, 0.1) << c.name;
  }
}

TEST_F(RecordedTilesTest, OrdersKernelsThatItWasNotFittedOn) {
  for (const RecordedTiles& tiles : *all_) {
    const AnalyticalConstants fitted = FitAnalyticalConstants(Samples(&tiles), {});
    const Quality in = Judge(tiles, AnalyticalConstants());
    const Quality out = Judge(tiles, fitted);
    std::printf(
        "%-11s %4zu tiles: tau %.3f rank %d top-1/5/10 %.1f %.1f %.1f %%; left out: tau %.3f "
        "rank %d top-1/5/10 %.1f %.1f %.1f %%\n",
        tiles.recorded->kernel().name.c_str(), tiles.samples.tiles.size(), in.tau,
        in.rank_within_5_percent, in.top1, in.top5, in.top10, out.tau, out.rank_within_5_percent,
        out.top1, out.top5, out.top10);
    EXPECT_GE(out.tau, 0.7) << tiles.recorded->kernel().name;
    EXPECT_LE(out.rank_within_5_percent, 5) << tiles.recorded->kernel().name;
  }
}

// The shipped weights on times of hardware, on a base that was fitted without the kernel.
TEST_F(RecordedTilesTest, ShippedWeightsOrderKernelsThatTheBaseWasNotFittedOn) {
  SKIP_WITHOUT_NETWORKS();
  const auto file = LoadModel(std::string(AUTOTUNE_SOURCE_DIR) + "/weights/tile");
  ASSERT_TRUE(file.ok()) << file.status();
  for (const auto& [name, at_least] : {std::pair("fusion.191", 0.85), {"fusion.232", 0.74}}) {
    const RecordedTiles& tiles = Kernel(name);
    const AnalyticalConstants fitted = FitAnalyticalConstants(Samples(&tiles), {});
    const auto model =
        LearnedModel::Create(*file, *FindDeviceSpec("v3"), TimeSource::kHardware, fitted);
    ASSERT_TRUE(model.ok()) << model.status();
    const std::vector<Config> configs(tiles.samples.tiles.begin(), tiles.samples.tiles.end());
    const auto predicted = (*model)->Predict(tiles.recorded->kernel(), configs);
    ASSERT_TRUE(predicted.ok()) << predicted.status();
    const double tau = PairwiseTau(*predicted, tiles.samples.seconds);
    const double analytical = Judge(tiles, fitted).tau;
    std::printf("%s left out: tau %.3f, analytical %.3f\n", name, tau, analytical);
    EXPECT_GE(tau, at_least) << name;
    EXPECT_GE(tau, analytical) << name;
  }
}

TEST_F(RecordedTilesTest, PredictsLogSecondsAndInfinityForWhatCannotRun) {
  const AnalyticalModel model(*FindDeviceSpec("v3"));
  EXPECT_EQ(model.unit(), PredictionUnit::kLogSeconds);
  EXPECT_TRUE(model.fitted());
  const RecordedTiles& tiles = Kernel("fusion.191");
  TileBounds wrong_rank;
  wrong_rank.output = {1, 1};
  const std::vector<Config> configs = {Config(tiles.samples.tiles[0]), Config(OpaqueConfig{3}),
                                       Config(tiles.failed[0]), Config(wrong_rank)};
  const auto predictions = model.Predict(tiles.recorded->kernel(), configs);
  ASSERT_TRUE(predictions.ok()) << predictions.status();
  ASSERT_EQ(predictions->size(), 4u);
  const double seconds = std::exp((*predictions)[0]);
  EXPECT_NEAR(seconds / tiles.samples.seconds[0], 1, 0.4);
  for (size_t i = 1; i < 4; ++i) EXPECT_TRUE(std::isinf((*predictions)[i])) << i;
}

TEST_F(RecordedTilesTest, EmptyTilesGetNoPrediction) {
  const AnalyticalModel model(*FindDeviceSpec("v3"));
  int opaque = 0;
  for (const RecordedKernel& kernel : recording_->kernels()) {
    if (!kernel.HasOpaqueConfigs()) continue;
    ++opaque;
    std::vector<Config> configs;
    for (const RecordedConfig& config : kernel.configs()) configs.push_back(config.config);
    const auto predictions = model.Predict(kernel.kernel(), configs);
    ASSERT_TRUE(predictions.ok());
    for (const double p : *predictions) EXPECT_TRUE(std::isinf(p));
  }
  EXPECT_EQ(opaque, 3);
}

TEST_F(RecordedTilesTest, SaysWhereTheTimeGoes) {
  const AnalyticalConstants constants;
  AnalyticalScratch scratch;
  const RecordedTiles& convolution = Kernel("fusion.191");
  const auto best =
      std::min_element(convolution.samples.seconds.begin(), convolution.samples.seconds.end());
  const TileBounds& bounds =
      convolution.samples.tiles[static_cast<size_t>(best - convolution.samples.seconds.begin())];
  const auto compute_bound = convolution.kernel->Estimate(bounds, constants, &scratch);
  EXPECT_GT(compute_bound.matrix_seconds, compute_bound.transfer_seconds);
  EXPECT_LE(compute_bound.seconds, compute_bound.compute_seconds + compute_bound.transfer_seconds +
                                       compute_bound.overhead_seconds + 1e-12);
  // 54 passes of 4,608 rows on two units at 940 MHz.
  EXPECT_NEAR(compute_bound.matrix_seconds, 54 * 4608 / 2 / 940e6, 1e-6);

  const RecordedTiles& reduction = Kernel("fusion.232");
  const auto memory_bound = reduction.kernel->Estimate(
      reduction.recorded->Default()->config.tile()[0], constants, &scratch);
  EXPECT_GT(memory_bound.transfer_seconds, memory_bound.compute_seconds);
  EXPECT_EQ(memory_bound.matrix_seconds, 0);
}

TEST_F(RecordedTilesTest, LearnsNothingFromARun) {
  AnalyticalModel model(*FindDeviceSpec("v3"));
  EXPECT_EQ(model.Fit({}).code(), absl::StatusCode::kUnimplemented);
}

TEST(AnalyticalFitTest, NothingToFitKeepsTheStart) {
  AnalyticalConstants start;
  start.pass_cycles = 7;
  EXPECT_EQ(FitAnalyticalConstants({}, start).pass_cycles, 7);
}

}  // namespace
}  // namespace autotune
