#ifndef AUTOTUNE_TESTS_SEARCH_TESTING_SPACES_H_
#define AUTOTUNE_TESTS_SEARCH_TESTING_SPACES_H_

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "gtest/gtest.h"
#include "search/candidate_scorer.h"
#include "search/config_distance.h"
#include "search/recorded_space.h"
#include "search/search_strategy.h"
#include "search/tile_space.h"

namespace autotune::testing {

// Out of line: g++ 12 warns of uninitialised memory where it sees an empty InlinedVector moved.
Config Tile(const WindowBounds& kernel, const WindowBounds& output);

// The bounds ceil(extent / n), n = 1, 2, ..., as the TPU compiler forms them.
inline std::vector<int64_t> EvenBounds(int64_t extent) {
  std::vector<int64_t> bounds;
  for (int64_t n = 1; n <= extent; ++n) bounds.push_back((extent + n - 1) / n);
  return bounds;
}

// A convolution as fusion.191 of the recorded AlexNet step: 3 x 3 weights of 192 x 384 features
// over a 12 x 12 output with a batch of 32. The output features of both move together. Tiles with
// more than `limit` output tiles of 8 x 128 do not fit.
inline std::unique_ptr<TileSpace> ConvolutionSpace(int64_t limit) {
  TileSpaceSpec spec;
  spec.kernel = {{1, 2, 3}, {1, 2, 3}, {16, 24}, {1, 2, 3}};
  spec.output = {EvenBounds(12), EvenBounds(12), {1, 2, 4}, {1, 2, 3}};
  spec.tied_output = {-1, -1, -1, 3};
  spec.tied_bound = [](int, int64_t output_bound) { return output_bound; };
  spec.accepts = [limit](const TileBounds& bounds) {
    int64_t tiles = 1;
    for (int64_t bound : bounds.output) tiles *= bound;
    return tiles <= limit;
  };
  return *TileSpace::Create(std::move(spec));
}

// A loop fusion over a large array: about 10^6 combinations.
inline std::unique_ptr<TileSpace> LargeSpace() {
  TileSpaceSpec spec;
  spec.output = {EvenBounds(512), EvenBounds(224), EvenBounds(112), EvenBounds(32), {1, 2, 4, 8}};
  return *TileSpace::Create(std::move(spec));
}

// Every n-th tile of a space, as a recording would hold a sample.
inline std::unique_ptr<RecordedSpace> EveryNth(const SearchSpace& space, size_t n) {
  std::vector<Config> configs;
  std::vector<Config> all = space.Enumerate(std::numeric_limits<int64_t>::max());
  for (size_t i = 0; i < all.size(); i += n) configs.push_back(all[i]);
  return std::make_unique<RecordedSpace>(std::move(configs));
}

// A smooth landscape of log-seconds with one optimum and two ridges: a synthetic kernel that likes
// the tile `best`, pays for its distance from it, and pays for padding of odd bounds.
inline double LogSeconds(const Config& config, const Config& best) {
  double penalty = 0;
  if (config.tile() != nullptr) {
    for (int64_t bound : config.tile()->output) penalty += bound % 2 == 1 ? 0.05 : 0;
  }
  const double distance = ConfigDistance(config, best);
  return -9 + 0.3 * distance + 0.02 * distance * distance + penalty;
}

// Scores with the landscape itself.
class LandscapeScorer : public CandidateScorer {
 public:
  explicit LandscapeScorer(Config best) : best_(std::move(best)) {}

  std::vector<double> Score(absl::Span<const Config> configs) const override {
    scored_ += static_cast<int64_t>(configs.size());
    std::vector<double> scores;
    for (const Config& config : configs) scores.push_back(LogSeconds(config, best_));
    return scores;
  }

  // How many configurations were scored so far.
  int64_t scored() const { return scored_; }

 private:
  Config best_;
  mutable int64_t scored_ = 0;
};

// A stand-in for measuring: seconds on the landscape, which are finite however far away.
inline Observation Measured(const Config& config, const Config& best) {
  const double log_seconds = std::min(LogSeconds(config, best), 700.0);
  return {config, Measurement::FromSamples({std::exp(log_seconds)}, TimeSource::kHardware)};
}

inline std::vector<std::string> Keys(const std::vector<Config>& configs) {
  std::vector<std::string> keys;
  for (const Config& config : configs) keys.push_back(config.Key());
  return keys;
}

}  // namespace autotune::testing

#endif  // AUTOTUNE_TESTS_SEARCH_TESTING_SPACES_H_
