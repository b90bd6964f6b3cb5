#ifndef AUTOTUNE_TESTS_HARDWARE_AOT_FIT_H_
#define AUTOTUNE_TESTS_HARDWARE_AOT_FIT_H_

#include <algorithm>
#include <array>
#include <cmath>
#include <fstream>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/numbers.h"
#include "absl/strings/str_split.h"
#include "gtest/gtest.h"
#include "hardware/aot_estimate.h"

namespace autotune {

// One recorded tile: what the compiler says, and the time on the device (0: the recording failed).
struct FitRow {
  std::string tile;
  EstimateInputs inputs;
  double recorded_seconds = 0;
};
using FitData = std::map<std::string, std::vector<FitRow>>;  // by kernel

// tests/hardware/data/aot_v3_estimates.tsv.
inline FitData ReadFitData(const std::string& source_folder) {
  FitData data;
  std::ifstream file(source_folder + "/tests/hardware/data/aot_v3_estimates.tsv");
  std::string line;
  while (std::getline(file, line)) {
    if (line.empty() || line[0] == '#') continue;
    const std::vector<std::string> cells = absl::StrSplit(line, '\t');
    FitRow row{.tile = cells.at(1)};
    double* const values[] = {&row.inputs.compute_cycles, &row.inputs.iterations,
                              &row.inputs.moved_bytes,    &row.inputs.reloaded_bytes,
                              &row.inputs.first_bytes,    &row.inputs.runs};
    for (size_t i = 0; i < 6; ++i) EXPECT_TRUE(absl::SimpleAtod(cells.at(i + 2), values[i]));
    if (absl::SimpleAtod(cells.at(8), &row.recorded_seconds)) row.recorded_seconds *= 1e-9;
    data[cells[0]].push_back(row);
  }
  return data;
}

inline constexpr size_t kFitted = 6;
using FitPoint = std::array<double, kFitted>;

// Bandwidth is not fitted: one busy core gets a little more than its half of the chip's.
inline EstimateConstants ConstantsAt(const FitPoint& x) {
  return {.compute_scale = std::abs(x[0]),
          .bandwidth_scale = 1.1,
          .cycles_per_iteration = std::abs(x[1]),
          .cycles_per_run = std::abs(x[2]),
          .reload_share = std::clamp(x[3], 0.0, 1.0),
          .overlap_exponent = 1 + std::exp(x[4]),
          .fixed_cycles = std::abs(x[5])};
}

// Mean over kernels of the mean absolute logarithm of estimate over time, with weak priors for what
// only some kernels tell: 0.8 for the reload share (only convolutions do), p = 2.
inline double FitLoss(const FitData& data, const std::string& left_out, const DeviceSpec& device,
                      const FitPoint& x) {
  const EstimateConstants constants = ConstantsAt(x);
  double loss = 0;
  int kernels = 0;
  for (const auto& [kernel, rows] : data) {
    if (kernel == left_out) continue;
    double sum = 0;
    int count = 0;
    for (const FitRow& row : rows) {
      if (row.recorded_seconds <= 0) continue;
      sum +=
          std::abs(std::log(EstimateSeconds(row.inputs, constants, device) / row.recorded_seconds));
      ++count;
    }
    loss += sum / count;
    ++kernels;
  }
  const double outside = x[3] - std::clamp(x[3], 0.0, 1.0);
  return loss / kernels + 0.02 * (x[3] - 0.8) * (x[3] - 0.8) + 0.002 * x[4] * x[4] +
         10 * outside * outside;
}

// Nelder and Mead's simplex method with the usual coefficients.
inline FitPoint Minimise(const std::function<double(const FitPoint&)>& f, const FitPoint& start,
                         int evaluations) {
  std::vector<std::pair<double, FitPoint>> simplex = {{f(start), start}};
  for (size_t i = 0; i < kFitted; ++i) {
    FitPoint corner = start;
    corner[i] = corner[i] == 0 ? 0.1 : corner[i] * 1.2;
    simplex.emplace_back(f(corner), corner);
  }
  for (int n = 0; n < evaluations;) {
    std::sort(simplex.begin(), simplex.end());
    auto& worst = simplex.back();
    FitPoint centre = {};
    for (size_t c = 0; c < kFitted; ++c) {
      for (size_t i = 0; i < kFitted; ++i) centre[i] += simplex[c].second[i] / kFitted;
    }
    const auto along = [&](double t) {
      FitPoint point;
      for (size_t i = 0; i < kFitted; ++i) {
        point[i] = centre[i] + t * (worst.second[i] - centre[i]);
      }
      ++n;
      return std::make_pair(f(point), point);
    };
    auto next = along(-1);
    if (next.first < simplex.front().first) {
      next = std::min(next, along(-2));
    } else if (next.first >= simplex[kFitted - 1].first) {
      next = std::min(next, along(next.first < worst.first ? -0.5 : 0.5));
    }
    if (next.first < worst.first) {
      worst = next;
      continue;
    }
    for (size_t c = 1; c < simplex.size(); ++c) {
      for (size_t i = 0; i < kFitted; ++i) {
        simplex[c].second[i] = (simplex[c].second[i] + simplex[0].second[i]) / 2;
      }
      simplex[c].first = f(simplex[c].second);
      ++n;
    }
  }
  return std::min_element(simplex.begin(), simplex.end())->second;
}

// The constants for all kernels but `left_out` (empty: for all).
inline EstimateConstants FitConstants(const FitData& data, const std::string& left_out,
                                      const DeviceSpec& device) {
  const auto loss = [&](const FitPoint& x) { return FitLoss(data, left_out, device, x); };
  FitPoint best = {};
  double best_loss = HUGE_VAL;
  for (const FitPoint& start :
       {FitPoint{0.6, 60, 2, 0.8, 0, 300}, FitPoint{0.5, 100, 5, 0.8, 1, 500},
        FitPoint{1, 30, 1, 0.8, -1, 200}}) {
    FitPoint end = Minimise(loss, start, 1500);
    end = Minimise(loss, end, 1500);  // a fresh simplex gets out of a collapsed one
    if (loss(end) < best_loss) {
      best_loss = loss(end);
      best = end;
    }
  }
  return ConstantsAt(best);
}

}  // namespace autotune

#endif  // AUTOTUNE_TESTS_HARDWARE_AOT_FIT_H_
