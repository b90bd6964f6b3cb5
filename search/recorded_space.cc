#include "search/recorded_space.h"

#include <limits>
#include <utility>

#include "search/config_distance.h"
#include "search/nearest_configs.h"

namespace autotune {
namespace {

class ListCursor final : public SpaceCursor {
 public:
  explicit ListCursor(const std::vector<Config>& configs) : configs_(configs) {}

  std::optional<Config> Next() override {
    if (next_ == configs_.size()) return std::nullopt;
    return configs_[next_++];
  }

 private:
  const std::vector<Config>& configs_;
  size_t next_ = 0;
};

}  // namespace

RecordedSpace::RecordedSpace(std::vector<Config> configs, Options options) : options_(options) {
  configs_.reserve(configs.size());
  for (Config& config : configs) {
    const auto position = static_cast<int32_t>(configs_.size());
    if (positions_.emplace(config.Key(), position).second) configs_.push_back(std::move(config));
  }
}

std::optional<int32_t> RecordedSpace::Find(const Config& config) const {
  auto it = positions_.find(config.Key());
  if (it == positions_.end()) return std::nullopt;
  return it->second;
}

std::unique_ptr<SpaceCursor> RecordedSpace::NewCursor() const {
  return std::make_unique<ListCursor>(configs_);
}

std::optional<Config> RecordedSpace::Sample(Rng& rng) const {
  if (configs_.empty()) return std::nullopt;
  return configs_[UniformIndex(rng, static_cast<int64_t>(configs_.size()))];
}

const std::vector<std::vector<int32_t>>& RecordedSpace::NeighbourLists() const {
  absl::call_once(neighbours_once_,
                  [this] { neighbours_ = NearestConfigs(configs_, options_.nearest); });
  return neighbours_;
}

std::vector<Config> RecordedSpace::Neighbours(const Config& config) const {
  std::vector<Config> neighbours;
  const std::optional<int32_t> position = Find(config);
  if (!position) return neighbours;
  for (int32_t neighbour : NeighbourLists()[*position]) neighbours.push_back(configs_[neighbour]);
  return neighbours;
}

std::optional<Config> RecordedSpace::RandomNeighbour(const Config& config, Rng& rng) const {
  const std::optional<int32_t> position = Find(config);
  if (!position) return std::nullopt;
  const std::vector<int32_t>& list = NeighbourLists()[*position];
  if (list.empty()) return std::nullopt;
  return configs_[list[UniformIndex(rng, static_cast<int64_t>(list.size()))]];
}

Config RecordedSpace::Crossover(const Config& a, const Config& b, Rng& rng) const {
  const Config mix = MixConfigs(a, b, rng);
  if (std::optional<int32_t> exact = Find(mix)) return configs_[*exact];
  double best_distance = std::numeric_limits<double>::infinity();
  const Config* best = &a;
  for (const Config& config : configs_) {
    const double distance = ConfigDistance(mix, config);
    if (distance < best_distance) {
      best_distance = distance;
      best = &config;
    }
  }
  return *best;
}

}  // namespace autotune
