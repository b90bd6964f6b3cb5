#include "hardware/aot_estimate.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "gtest/gtest.h"
#include "tests/hardware/aot_fit.h"

namespace autotune {
namespace {

// How well the estimate orders and chooses among the tiles of one kernel.
struct Quality {
  double tau = 0;   // Kendall's, over pairs whose recorded times differ
  double pick = 0;  // recorded time of the tile with the smallest estimate over the best
};

Quality QualityOf(const std::vector<FitRow>& rows, const EstimateConstants& constants,
                  const DeviceSpec& device) {
  std::vector<std::pair<double, double>> pairs;  // estimate, recorded
  for (const FitRow& row : rows) {
    if (row.recorded_seconds <= 0) continue;
    pairs.emplace_back(EstimateSeconds(row.inputs, constants, device), row.recorded_seconds);
  }
  double agree = 0, disagree = 0, best = HUGE_VAL;
  for (size_t i = 0; i < pairs.size(); ++i) {
    best = std::min(best, pairs[i].second);
    for (size_t j = 0; j < i; ++j) {
      const double sign = (pairs[i].first - pairs[j].first) * (pairs[i].second - pairs[j].second);
      if (pairs[i].second == pairs[j].second) continue;
      agree += sign > 0 ? 1 : 0;
      disagree += sign < 0 ? 1 : 0;
    }
  }
  return {.tau = (agree - disagree) / (agree + disagree),
          .pick = std::min_element(pairs.begin(), pairs.end())->second / best};
}

class AotEstimateTest : public testing::Test {
 protected:
  const FitData data_ = ReadFitData(AUTOTUNE_SOURCE_DIR);
  const DeviceSpec device_ = FindDeviceSpec("v3").value();
};

TEST_F(AotEstimateTest, EveryRecordedTileHasAnEstimate) {
  ASSERT_EQ(data_.size(), 7u);
  EXPECT_EQ(data_.at("fusion.191").size(), 581u);
  EXPECT_EQ(data_.at("fusion.232").size(), 60u);
}

TEST_F(AotEstimateTest, ConstantsOrderTheRecordedTiles) {
  const EstimateConstants constants = EstimateConstantsFor(device_);
  const Quality convolution = QualityOf(data_.at("fusion.191"), constants, device_);
  EXPECT_GE(convolution.tau, 0.88);
  EXPECT_LE(convolution.pick, 1.05);
  const Quality reduction = QualityOf(data_.at("fusion.232"), constants, device_);
  EXPECT_GE(reduction.tau, 0.72);
  EXPECT_LE(reduction.pick, 1.05);
}

// The constants in the code are those that the fit gives.
TEST_F(AotEstimateTest, ConstantsAreTheFit) {
  const EstimateConstants fitted = FitConstants(data_, "", device_);
  const EstimateConstants used = EstimateConstantsFor(device_);
  EXPECT_NEAR(used.compute_scale, fitted.compute_scale, 0.03);
  EXPECT_NEAR(used.cycles_per_iteration, fitted.cycles_per_iteration, 5);
  EXPECT_NEAR(used.fixed_cycles, fitted.fixed_cycles, 30);
  EXPECT_NEAR(used.reload_share, fitted.reload_share, 0.1);
}

// The bars of the issue: the constants know nothing of the kernel that they are judged on.
TEST_F(AotEstimateTest, LeaveOneKernelOut) {
  const EstimateConstants all = FitConstants(data_, "", device_);
  for (const auto& [kernel, rows] : data_) {
    const EstimateConstants without = FitConstants(data_, kernel, device_);
    const Quality quality = QualityOf(rows, without, device_);
    const Quality with = QualityOf(rows, all, device_);
    std::printf("%-12s tiles %3zu  all: tau %.3f pick %.3f  left out: tau %.3f pick %.3f\n",
                kernel.c_str(), rows.size(), with.tau, with.pick, quality.tau, quality.pick);
    if (kernel == "fusion.191") {
      EXPECT_GE(quality.tau, 0.88);
      EXPECT_LE(quality.pick, 1.05);
    } else if (kernel == "fusion.232") {
      EXPECT_GE(quality.tau, 0.72);
      EXPECT_LE(quality.pick, 1.05);
    }
  }
}

TEST_F(AotEstimateTest, NothingIsFasterThanTheRoofline) {
  const EstimateConstants constants = EstimateConstantsFor(device_);
  EstimateInputs inputs = data_.at("fusion.191").front().inputs;
  const double free = EstimateSeconds(inputs, constants, device_);
  inputs.roofline_seconds = free / 2;  // below the estimate: changes nothing
  EXPECT_EQ(EstimateSeconds(inputs, constants, device_), free);
  double last = 0;
  for (double roofline : {free, 1.5 * free, 4 * free}) {
    inputs.roofline_seconds = roofline;
    const double floored = EstimateSeconds(inputs, constants, device_);
    EXPECT_GE(floored, roofline);
    EXPECT_NEAR(floored, roofline, 2e-6 * roofline);
    EXPECT_GT(floored, last);
    last = floored;
  }
  // Tiles below the roofline keep their order.
  EstimateInputs more = inputs;
  more.compute_cycles *= 1.5;
  EXPECT_GT(EstimateSeconds(more, constants, device_), EstimateSeconds(inputs, constants, device_));
}

TEST_F(AotEstimateTest, MoreWorkNeverTakesLess) {
  const EstimateConstants constants = EstimateConstantsFor(device_);
  const EstimateInputs base = data_.at("fusion.191").front().inputs;
  const double time = EstimateSeconds(base, constants, device_);
  for (double EstimateInputs::*field :
       {&EstimateInputs::compute_cycles, &EstimateInputs::iterations, &EstimateInputs::moved_bytes,
        &EstimateInputs::reloaded_bytes, &EstimateInputs::first_bytes, &EstimateInputs::runs}) {
    EstimateInputs more = base;
    more.*field *= 2;
    EXPECT_GT(EstimateSeconds(more, constants, device_), time);
  }
  EXPECT_GT(EstimateSeconds(EstimateInputs{}, constants, device_), 0);
}

}  // namespace
}  // namespace autotune
