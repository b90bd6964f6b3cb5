#ifndef AUTOTUNE_HLO_FUSION_INLINE_H_
#define AUTOTUNE_HLO_FUSION_INLINE_H_

#include <memory>

#include "absl/status/statusor.h"
#include "hlo/fusion_graph.h"
#include "hlo/module.h"

namespace autotune {

// The program with the body of its callee in place of every `call`, as the compiler does before it
// fuses: operations that a call keeps apart in the text are then neighbours, and each call site has
// operations of its own. Names and ids of what was there stay; what comes from a callee gets fresh
// ones and keeps its metadata (the call's where it has none). Computations that nothing calls any
// more go. Calls with control dependencies, composites and collectives' computations stay.
//
// Computes the same. InvalidArgument for a scheduled module.
absl::StatusOr<std::unique_ptr<HloModule>> InlineCalls(const HloModule& module);

// The fusion graph of a program with its calls put in place: what configurations of the program
// (cuts by number) refer to. Errors as InlineCalls and FusionGraph::Create have them.
absl::StatusOr<FusionGraph> InlinedFusionGraph(const HloModule& module);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_FUSION_INLINE_H_
