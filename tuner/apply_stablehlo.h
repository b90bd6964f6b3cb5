#ifndef AUTOTUNE_TUNER_APPLY_STABLEHLO_H_
#define AUTOTUNE_TUNER_APPLY_STABLEHLO_H_

#include <string>

#include "absl/status/statusor.h"
#include "hlo/module.h"

namespace autotune {

// The program as StableHLO bytecode. Converted by jaxlib, in the Python that $AUTOTUNE_PYTHON names
// or else `python3`: Unavailable, saying so, where that has none. Tile bounds are lost on the way
// (StableHLO has no place for a backend_config), barriers are not.
absl::StatusOr<std::string> ToStableHlo(const HloModule& program);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_APPLY_STABLEHLO_H_
