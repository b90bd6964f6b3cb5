#ifndef AUTOTUNE_TUNER_SELECT_BEST_H_
#define AUTOTUNE_TUNER_SELECT_BEST_H_

#include <cstddef>
#include <optional>

#include "absl/types/span.h"
#include "hardware/measurement.h"

namespace autotune {

// Times closer than this share of the fastest one are ties. Recorded defaults that were measured
// again differ by 0.03 to 3.8 %, so that 1 % is at the noise of a good measurement.
inline constexpr double kTieWindow = 0.01;

// The position of the best result: the one with the smallest median, the first of equals; unless
// the one at `preferred` (the compiler's default) is within `tie_window` of it, which then wins,
// because a change needs a reason. Failures never win; nullopt if all of them are failures. Pure.
std::optional<size_t> SelectBest(absl::Span<const Measurement> results,
                                 std::optional<size_t> preferred = std::nullopt,
                                 double tie_window = kTieWindow);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_SELECT_BEST_H_
