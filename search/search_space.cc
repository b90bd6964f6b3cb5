#include "search/search_space.h"

#include <utility>

namespace autotune {

std::vector<Config> SearchSpace::Enumerate(int64_t limit) const {
  std::vector<Config> configs;
  if (limit <= 0) return configs;
  std::unique_ptr<SpaceCursor> cursor = NewCursor();
  while (static_cast<int64_t>(configs.size()) < limit) {
    std::optional<Config> next = cursor->Next();
    if (!next) break;
    configs.push_back(*std::move(next));
  }
  return configs;
}

std::optional<Config> SearchSpace::RandomNeighbour(const Config& config, Rng& rng) const {
  std::vector<Config> neighbours = Neighbours(config);
  if (neighbours.empty()) return std::nullopt;
  return std::move(neighbours[UniformIndex(rng, static_cast<int64_t>(neighbours.size()))]);
}

}  // namespace autotune
