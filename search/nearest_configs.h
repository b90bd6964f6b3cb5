#ifndef AUTOTUNE_SEARCH_NEAREST_CONFIGS_H_
#define AUTOTUNE_SEARCH_NEAREST_CONFIGS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "hardware/config.h"

namespace autotune {

// For each configuration the positions of its `nearest` closest others by ConfigDistance (ties by
// position) and of those that have it among theirs: a symmetric relation, each list ascending.
// Exact up to `exact_limit` configurations. Above that only those are compared that are at most 16
// places apart in one of several orders of the bounds, which takes n log n instead of n^2.
std::vector<std::vector<int32_t>> NearestConfigs(absl::Span<const Config> configs, int64_t nearest,
                                                 int64_t exact_limit = 4096);

}  // namespace autotune

#endif  // AUTOTUNE_SEARCH_NEAREST_CONFIGS_H_
