#ifndef AUTOTUNE_SEARCH_TRIAL_HISTORY_H_
#define AUTOTUNE_SEARCH_TRIAL_HISTORY_H_

#include <cstdint>
#include <optional>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"
#include "hardware/config.h"
#include "search/search_strategy.h"

namespace autotune {

// A 64-bit hash of the configuration's key, the same in every process. Two of a million different
// configurations collide with a probability of 3e-8; all that would happen is that one of them is
// taken as seen.
uint64_t ConfigHash(const Config& config);

// A configuration that ran, and the natural logarithm of its median time in seconds.
struct Trial {
  Config config;
  double log_seconds;
};

// What a strategy has proposed and what it was told. Eight to twenty bytes per configuration that
// was only proposed. Thread-compatible.
class TrialHistory {
 public:
  // Whether it was proposed or observed.
  bool Seen(const Config& config) const { return log_seconds_.contains(ConfigHash(config)); }

  // Notes that it is proposed. False if it was seen before.
  bool Propose(const Config& config);

  // Notes results. Only the first result of a configuration counts. Returns those that are new,
  // failures left out.
  std::vector<Trial> Observe(absl::Span<const Observation> observations);

  // The logarithm of the time in seconds, +infinity for a failure; nullopt while unknown.
  std::optional<double> LogSeconds(const Config& config) const;

  // What ran, fastest first (the earlier first among equals).
  const std::vector<Trial>& fastest_first() const { return fastest_first_; }
  // The fastest, or null. Valid until the next Observe.
  const Trial* best() const { return fastest_first_.empty() ? nullptr : &fastest_first_.front(); }

  // How many were proposed or observed.
  int64_t seen_count() const { return static_cast<int64_t>(log_seconds_.size()); }

 private:
  // NaN while the result is unknown.
  absl::flat_hash_map<uint64_t, double> log_seconds_;
  std::vector<Trial> fastest_first_;
};

}  // namespace autotune

#endif  // AUTOTUNE_SEARCH_TRIAL_HISTORY_H_
