#ifndef AUTOTUNE_HLO_SHAPE_VALIDATION_H_
#define AUTOTUNE_HLO_SHAPE_VALIDATION_H_

#include "absl/status/status.h"
#include "hlo/shape.h"

namespace autotune {

// InvalidArgument unless every array within `shape` has extents that are not negative, a size that
// fits int64, a layout that orders each of its dimensions once, and positive tiles of a size that
// real layouts have. The readers refuse anything else, so that the rest of the code can rely on it.
absl::Status ValidateShape(const Shape& shape);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_SHAPE_VALIDATION_H_
