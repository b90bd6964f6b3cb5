#include "search/nearest_configs.h"

#include <algorithm>
#include <numeric>
#include <utility>

#include "search/config_distance.h"

namespace autotune {
namespace {

constexpr int64_t kPlacesApart = 16;
constexpr size_t kMaxOrders = 12;

// The bounds of a tile in one list; the position for other forms.
std::vector<int64_t> SortKey(const Config& config, int64_t position) {
  if (config.tile() == nullptr) return {position};
  std::vector<int64_t> key(config.tile()->kernel.begin(), config.tile()->kernel.end());
  key.insert(key.end(), config.tile()->output.begin(), config.tile()->output.end());
  return key;
}

// Orders of all positions: one for each bound, with that bound as the least significant one, so
// that configurations that differ in it alone stand beside each other.
std::vector<std::vector<int32_t>> Orders(absl::Span<const Config> configs) {
  std::vector<std::vector<int64_t>> keys;
  size_t rank = 0;
  for (size_t i = 0; i < configs.size(); ++i) {
    keys.push_back(SortKey(configs[i], static_cast<int64_t>(i)));
    rank = std::max(rank, keys.back().size());
  }
  std::vector<std::vector<int32_t>> orders;
  for (size_t order = 0; order < std::min(rank, kMaxOrders); ++order) {
    std::vector<int32_t> positions(configs.size());
    std::iota(positions.begin(), positions.end(), 0);
    std::sort(positions.begin(), positions.end(), [&](int32_t a, int32_t b) {
      if (keys[a] != keys[b]) return keys[a] < keys[b];
      return a < b;
    });
    orders.push_back(std::move(positions));
    for (auto& key : keys) {
      if (!key.empty()) std::rotate(key.begin(), key.begin() + 1, key.end());
    }
  }
  return orders;
}

// The positions that each one is compared with, without repeats.
std::vector<std::vector<int32_t>> CloseInSomeOrder(absl::Span<const Config> configs) {
  std::vector<std::vector<int32_t>> candidates(configs.size());
  const auto n = static_cast<int64_t>(configs.size());
  for (const std::vector<int32_t>& order : Orders(configs)) {
    for (int64_t i = 0; i < n; ++i) {
      const int64_t end = std::min(n, i + kPlacesApart + 1);
      for (int64_t j = std::max<int64_t>(0, i - kPlacesApart); j < end; ++j) {
        if (j != i) candidates[order[i]].push_back(order[j]);
      }
    }
  }
  for (std::vector<int32_t>& list : candidates) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return candidates;
}

// The `nearest` of `candidates` (without `self`).
std::vector<int32_t> Nearest(absl::Span<const Config> configs, int32_t self,
                             const std::vector<int32_t>& candidates, int64_t nearest) {
  std::vector<std::pair<double, int32_t>> distances;
  for (int32_t other : candidates) {
    if (other != self) distances.emplace_back(ConfigDistance(configs[self], configs[other]), other);
  }
  const size_t kept = std::min(distances.size(), static_cast<size_t>(nearest));
  std::partial_sort(distances.begin(), distances.begin() + kept, distances.end());
  std::vector<int32_t> result;
  for (size_t i = 0; i < kept; ++i) result.push_back(distances[i].second);
  return result;
}

}  // namespace

std::vector<std::vector<int32_t>> NearestConfigs(absl::Span<const Config> configs, int64_t nearest,
                                                 int64_t exact_limit) {
  const bool exact = static_cast<int64_t>(configs.size()) <= exact_limit;
  std::vector<int32_t> all(configs.size());
  std::iota(all.begin(), all.end(), 0);
  std::vector<std::vector<int32_t>> candidates;
  if (!exact) candidates = CloseInSomeOrder(configs);

  std::vector<std::vector<int32_t>> lists(configs.size());
  for (int32_t i = 0; i < static_cast<int32_t>(configs.size()); ++i) {
    for (int32_t j : Nearest(configs, i, exact ? all : candidates[i], nearest)) {
      lists[i].push_back(j);
      lists[j].push_back(i);
    }
  }
  for (std::vector<int32_t>& list : lists) {
    std::sort(list.begin(), list.end());
    list.erase(std::unique(list.begin(), list.end()), list.end());
  }
  return lists;
}

}  // namespace autotune
