#ifndef AUTOTUNE_HLO_SHARDING_SUBGROUPS_H_
#define AUTOTUNE_HLO_SHARDING_SUBGROUPS_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"
#include "hlo/tile_assignment.h"
#include "proto/xla_data.pb.h"

namespace autotune {

// The product of positive numbers; false if one is not positive or the product leaves int64.
bool ProductOf(absl::Span<const int64_t> values, int64_t* product);

// A tiled sharding in the form in which XLA keeps it, into *sharding. `types` are those of the last
// dimensions of `tiles`, which shard nothing but form groups of devices (replicated, manual, ...);
// equal ones are merged and put in order, and what they make of the whole is simplified. REQUIRES:
// tiles.dimensions are positive and have at least as many entries as `types`.
void TiledShardingToProto(TileAssignment tiles, std::vector<proto::OpSharding::Type> types,
                          proto::OpSharding* sharding);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_SHARDING_SUBGROUPS_H_
