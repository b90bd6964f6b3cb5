#ifndef AUTOTUNE_SEARCH_RECORDED_SPACE_H_
#define AUTOTUNE_SEARCH_RECORDED_SPACE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/base/call_once.h"
#include "absl/container/flat_hash_map.h"
#include "search/search_space.h"

namespace autotune {

// An explicit list of configurations of any form, such as a recording holds. Neighbours are the
// nearest of the list by ConfigDistance.
class RecordedSpace final : public SearchSpace {
 public:
  struct Options {
    // Each configuration has its so many nearest ones as neighbours, and those that have it among
    // their nearest.
    int64_t nearest = 8;
  };

  // Keeps the first of equal configurations, in the order given. The list may be empty.
  explicit RecordedSpace(std::vector<Config> configs) : RecordedSpace(std::move(configs), {8}) {}
  RecordedSpace(std::vector<Config> configs, Options options);

  std::optional<int64_t> Size() const override { return static_cast<int64_t>(configs_.size()); }
  bool Contains(const Config& config) const override { return Find(config).has_value(); }
  std::unique_ptr<SpaceCursor> NewCursor() const override;
  std::optional<Config> Sample(Rng& rng) const override;
  // The first call prepares the lists of all configurations: quadratic in the size of lists of up
  // to some thousands; larger ones look only at those that are close in one of several orders.
  std::vector<Config> Neighbours(const Config& config) const override;
  std::optional<Config> RandomNeighbour(const Config& config, Rng& rng) const override;
  // The recorded configuration nearest to a mix of the two parents; linear in the size.
  Config Crossover(const Config& a, const Config& b, Rng& rng) const override;

  // The configurations in order.
  const std::vector<Config>& configs() const { return configs_; }

 private:
  // The position of an equal configuration.
  std::optional<int32_t> Find(const Config& config) const;
  const std::vector<std::vector<int32_t>>& NeighbourLists() const;

  // The position of the configuration nearest to `config`; the first among equals. REQUIRES: not
  // empty.
  int32_t Nearest(const Config& config) const;

  std::vector<Config> configs_;
  // log2 of the bounds by configuration, if all are tiles of the same ranks; else empty.
  std::vector<float> coordinates_;
  absl::flat_hash_map<std::string, int32_t> positions_;
  Options options_;

  mutable absl::once_flag neighbours_once_;
  mutable std::vector<std::vector<int32_t>> neighbours_;
};

}  // namespace autotune

#endif  // AUTOTUNE_SEARCH_RECORDED_SPACE_H_
