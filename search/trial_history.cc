#include "search/trial_history.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

namespace autotune {

uint64_t ConfigHash(const Config& config) {
  // Multiply and fold over eight bytes at a time; the last step mixes all bits (the finaliser of
  // SplitMix64, Steele et al. 2014).
  const std::string& key = config.Key();
  uint64_t hash = 0x9e3779b97f4a7c15u ^ key.size();
  for (size_t i = 0; i < key.size(); i += 8) {
    uint64_t word = 0;
    std::memcpy(&word, key.data() + i, std::min<size_t>(8, key.size() - i));
    hash = (hash ^ word) * 0xff51afd7ed558ccdu;
    hash ^= hash >> 32;
  }
  hash = (hash ^ (hash >> 30)) * 0xbf58476d1ce4e5b9u;
  hash = (hash ^ (hash >> 27)) * 0x94d049bb133111ebu;
  return hash ^ (hash >> 31);
}

bool TrialHistory::Propose(const Config& config) {
  return log_seconds_.emplace(ConfigHash(config), std::numeric_limits<double>::quiet_NaN()).second;
}

std::vector<Trial> TrialHistory::Observe(absl::Span<const Observation> observations) {
  std::vector<Trial> added;
  for (const Observation& observation : observations) {
    const uint64_t hash = ConfigHash(observation.config);
    auto [it, inserted] = log_seconds_.emplace(hash, std::numeric_limits<double>::quiet_NaN());
    if (!inserted && !std::isnan(it->second)) continue;
    const Measurement& measurement = observation.measurement;
    it->second = measurement.ok() ? std::log(measurement.MedianSeconds())
                                  : std::numeric_limits<double>::infinity();
    if (!measurement.ok()) continue;
    Trial trial{observation.config, it->second};
    auto place = std::upper_bound(
        fastest_first_.begin(), fastest_first_.end(), trial,
        [](const Trial& a, const Trial& b) { return a.log_seconds < b.log_seconds; });
    fastest_first_.insert(place, trial);
    added.push_back(std::move(trial));
  }
  return added;
}

std::optional<double> TrialHistory::LogSeconds(const Config& config) const {
  auto it = log_seconds_.find(ConfigHash(config));
  if (it == log_seconds_.end() || std::isnan(it->second)) return std::nullopt;
  return it->second;
}

}  // namespace autotune
