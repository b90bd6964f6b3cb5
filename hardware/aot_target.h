#ifndef AUTOTUNE_HARDWARE_AOT_TARGET_H_
#define AUTOTUNE_HARDWARE_AOT_TARGET_H_

#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace autotune {

// A TPU generation that the compiler knows, with what an estimate needs to turn cycles and bytes
// into seconds. Figures are for what one program runs on: one TensorCore.
struct AotTarget {
  absl::string_view device;    // "tpu-v3"
  absl::string_view topology;  // the smallest that libtpu accepts: "v3:2x2"
  double clock_hz = 0;
  double hbm_bytes_per_second = 0;
};

// All of them, oldest first.
absl::Span<const AotTarget> AotTargets();

// By "v3" or "tpu-v3". InvalidArgument, listing them, for another name.
absl::StatusOr<AotTarget> FindAotTarget(absl::string_view name);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_AOT_TARGET_H_
