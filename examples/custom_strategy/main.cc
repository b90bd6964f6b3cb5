// A search strategy of one's own, tried on recorded kernels against the random one.
//
//   example_custom_strategy [RECORDING]
//
// To offer it on the command line, list it in search/builtin.cc.

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "absl/status/statusor.h"
#include "hardware/replay_backend.h"
#include "search/random.h"
#include "search/recorded_space.h"
#include "search/search_strategy.h"

namespace autotune {
namespace {

// Walks downhill: proposes the untried neighbours of the best configuration so far, and draws a new
// start where there are none left.
class HillClimb final : public SearchStrategy {
 public:
  HillClimb(const SearchSpace& space, uint64_t seed) : space_(space), random_(seed) {}

  std::vector<Config> Propose(int64_t n) override {
    std::vector<Config> proposals;
    if (best_.has_value()) {
      for (const Config& config : space_.Neighbours(*best_)) {
        if (static_cast<int64_t>(proposals.size()) == n) return proposals;
        if (seen_.insert(config.Key()).second) proposals.push_back(config);
      }
    }
    // Draws may repeat: after many that do the space counts as exhausted.
    for (int64_t draw = 0; draw < 100 * n && static_cast<int64_t>(proposals.size()) < n; ++draw) {
      std::optional<Config> config = space_.Sample(random_);
      if (!config.has_value()) break;
      if (seen_.insert(config->Key()).second) proposals.push_back(*std::move(config));
    }
    return proposals;
  }

  void Observe(absl::Span<const Observation> observations) override {
    for (const Observation& observation : observations) {
      seen_.insert(observation.config.Key());
      if (!observation.measurement.ok()) continue;
      const double seconds = observation.measurement.MedianSeconds();
      if (seconds >= seconds_) continue;
      seconds_ = seconds;
      best_ = observation.config;
    }
  }

 private:
  const SearchSpace& space_;
  Rng random_;
  std::set<std::string> seen_;
  std::optional<Config> best_;
  double seconds_ = std::numeric_limits<double>::infinity();
};

// The same without a memory for what is good.
class RandomDraws final : public SearchStrategy {
 public:
  RandomDraws(const SearchSpace& space, uint64_t seed) : climb_(space, seed) {}
  std::vector<Config> Propose(int64_t n) override { return climb_.Propose(n); }
  void Observe(absl::Span<const Observation>) override {}

 private:
  HillClimb climb_;  // which draws as long as it is told nothing
};

// The best time that a strategy finds within a budget; negative if the backend broke.
double Search(SearchStrategy& strategy, MeasurementBackend& backend, const Kernel& kernel,
              int64_t budget) {
  double best = std::numeric_limits<double>::infinity();
  while (budget > 0) {
    std::vector<Candidate> candidates;
    for (Config& config : strategy.Propose(std::min<int64_t>(4, budget))) {
      candidates.push_back({&kernel, std::move(config)});
    }
    if (candidates.empty()) break;
    budget -= static_cast<int64_t>(candidates.size());
    absl::StatusOr<std::vector<Measurement>> results = backend.Measure(candidates);
    if (!results.ok()) return -1;
    std::vector<Observation> observations;
    for (size_t i = 0; i < candidates.size(); ++i) {
      const Measurement& result = (*results)[i];
      if (result.ok()) best = std::min(best, result.MedianSeconds());
      observations.push_back({candidates[i].config, result});
    }
    strategy.Observe(observations);
  }
  return best;
}

int Run(const std::string& path) {
  absl::StatusOr<Recording> recording = Recording::Load(path);
  if (!recording.ok()) {
    std::fprintf(stderr, "%s\n", recording.status().ToString().c_str());
    return 1;
  }
  std::vector<Recording> recordings;
  recordings.push_back(*std::move(recording));
  absl::StatusOr<std::unique_ptr<ReplayBackend>> backend =
      ReplayBackend::Create(std::move(recordings));
  if (!backend.ok()) return 1;
  constexpr int64_t kBudget = 24;
  constexpr int kSeeds = 5;
  double climbing = 0, drawing = 0, kernels = 0;
  for (const RecordedKernel& recorded : (*backend)->recording().kernels()) {
    if (recorded.Best() == nullptr || recorded.configs().size() < 2 * kBudget) continue;
    std::vector<Config> configs;
    for (const RecordedConfig& config : recorded.configs()) configs.push_back(config.config);
    const RecordedSpace space(std::move(configs));
    const double best = *recorded.Best()->MedianSeconds();
    double climbed = 0, drawn = 0;
    for (uint64_t seed = 0; seed < kSeeds; ++seed) {
      HillClimb climb(space, seed);
      RandomDraws draws(space, seed);
      climbed += Search(climb, **backend, recorded.kernel(), kBudget) / best / kSeeds;
      drawn += Search(draws, **backend, recorded.kernel(), kBudget) / best / kSeeds;
    }
    std::printf("%-24s best known %8.2f us; hill climbing %.3f times that, random %.3f\n",
                recorded.kernel().name.c_str(), best * 1e6, climbed, drawn);
    climbing += std::log(climbed);
    drawing += std::log(drawn);
    ++kernels;
  }
  if (kernels == 0) {
    std::fprintf(stderr, "%s holds no kernel with enough configurations\n", path.c_str());
    return 1;
  }
  std::printf("geometric mean over %.0f kernels, budget %d: hill climbing %.3f, random %.3f\n",
              kernels, static_cast<int>(kBudget), std::exp(climbing / kernels),
              std::exp(drawing / kernels));
  return climbing >= 0 && drawing >= 0 ? 0 : 1;
}

}  // namespace
}  // namespace autotune

int main(int argc, char** argv) {
  return autotune::Run(argc > 1 ? argv[1] : "examples/alexnet/tpu_v3.pb");
}
