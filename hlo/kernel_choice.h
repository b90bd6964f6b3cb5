#ifndef AUTOTUNE_HLO_KERNEL_CHOICE_H_
#define AUTOTUNE_HLO_KERNEL_CHOICE_H_

#include <cstdint>
#include <optional>

#include "absl/strings/string_view.h"
#include "hlo/kernel.h"

namespace autotune {

// The `window_config` of a TPU backend_config (JSON whose integers are written as strings); nullopt
// if there is none or it cannot be read.
std::optional<CompilerChoice> ParseCompilerChoice(absl::string_view backend_config);

// The trip count that a while loop's backend_config states ("known_trip_count": {"n": "24"}).
std::optional<int64_t> ParseKnownTripCount(absl::string_view backend_config);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_KERNEL_CHOICE_H_
