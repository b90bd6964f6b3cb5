#ifndef AUTOTUNE_HLO_KERNEL_TRIP_COUNT_H_
#define AUTOTUNE_HLO_KERNEL_TRIP_COUNT_H_

#include <cstdint>
#include <optional>

#include "hlo/instruction.h"

namespace autotune {

// How often the body of a while loop runs: what its backend_config states, or what follows from a
// counter of the usual form (starts at a constant, a constant is added in every round, compared
// with a constant). nullopt where neither tells. REQUIRES: `loop` is a while.
std::optional<int64_t> WhileTripCount(const HloInstruction& loop);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_KERNEL_TRIP_COUNT_H_
