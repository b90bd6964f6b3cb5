#ifndef AUTOTUNE_TUNER_GRAPHVIZ_H_
#define AUTOTUNE_TUNER_GRAPHVIZ_H_

#include <string>

#include "absl/status/statusor.h"

namespace autotune {

// A graph in Graphviz's language (Gansner and North, 2000) as an SVG document, laid out by the
// program `dot` of PATH (docs/decisions/0011). Unavailable, with what to install, if it is not
// there; Internal, with what it said, if it fails.
absl::StatusOr<std::string> DrawSvg(const std::string& graph);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_GRAPHVIZ_H_
