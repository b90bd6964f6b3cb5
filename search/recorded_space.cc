#include "search/recorded_space.h"

#include <algorithm>
#include <cmath>
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

// log2 of the bounds of a tile, kernel first, appended; false for other forms.
bool AppendCoordinates(const Config& config, std::vector<float>& coordinates) {
  if (config.tile() == nullptr) return false;
  for (const WindowBounds* bounds : {&config.tile()->kernel, &config.tile()->output}) {
    for (int64_t bound : *bounds) {
      coordinates.push_back(std::log2(static_cast<float>(std::max<int64_t>(bound, 1))));
    }
  }
  return true;
}

bool SameRanks(const Config& a, const Config& b) {
  return a.tile() != nullptr && b.tile() != nullptr &&
         a.tile()->kernel.size() == b.tile()->kernel.size() &&
         a.tile()->output.size() == b.tile()->output.size();
}

}  // namespace

RecordedSpace::RecordedSpace(std::vector<Config> configs, Options options) : options_(options) {
  configs_.reserve(configs.size());
  for (Config& config : configs) {
    const auto position = static_cast<int32_t>(configs_.size());
    if (positions_.emplace(config.Key(), position).second) configs_.push_back(std::move(config));
  }
  for (const Config& config : configs_) {
    if (!SameRanks(config, configs_.front()) || !AppendCoordinates(config, coordinates_)) {
      coordinates_.clear();
      break;
    }
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

int32_t RecordedSpace::Nearest(const Config& config) const {
  std::vector<float> point;
  const bool fast = !coordinates_.empty() && SameRanks(config, configs_.front()) &&
                    AppendCoordinates(config, point);
  double nearest_distance = std::numeric_limits<double>::infinity();
  int32_t nearest = 0;
  for (size_t i = 0; i < configs_.size(); ++i) {
    double distance = 0;
    if (fast) {
      const float* other = &coordinates_[i * point.size()];
      float sum = 0;
      for (size_t j = 0; j < point.size(); ++j) sum += std::abs(point[j] - other[j]);
      distance = sum;
    } else {
      distance = ConfigDistance(config, configs_[i]);
    }
    if (distance < nearest_distance) {
      nearest_distance = distance;
      nearest = static_cast<int32_t>(i);
    }
  }
  return nearest;
}

Config RecordedSpace::Crossover(const Config& a, const Config& b, Rng& rng) const {
  const Config mix = MixConfigs(a, b, rng);
  const std::optional<int32_t> exact = Find(mix);
  return configs_[exact ? *exact : Nearest(mix)];
}

}  // namespace autotune
