#ifndef AUTOTUNE_TUNER_GRAPHVIZ_H_
#define AUTOTUNE_TUNER_GRAPHVIZ_H_

#include <string>

#include "absl/status/statusor.h"
#include "absl/time/time.h"

namespace autotune {

// What drawing may take. A layout takes more than linear time: hundreds of groups can take hours.
inline constexpr absl::Duration kDrawingTimeLimit = absl::Seconds(60);

// A graph in Graphviz's language (Gansner and North, 2000) as an SVG document, laid out by the
// program `dot` of PATH (docs/decisions/0011). Unavailable, with what to install, if it is not
// there; DeadlineExceeded, with what to do, if it takes longer than `time_limit` and is killed;
// Internal, with what it said, if it fails; another code if it cannot be started.
absl::StatusOr<std::string> DrawSvg(const std::string& graph,
                                    absl::Duration time_limit = kDrawingTimeLimit);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_GRAPHVIZ_H_
