#ifndef AUTOTUNE_HLO_FUSION_APPLY_H_
#define AUTOTUNE_HLO_FUSION_APPLY_H_

#include <memory>

#include "absl/status/statusor.h"
#include "hlo/fusion_decision.h"
#include "hlo/fusion_graph.h"
#include "hlo/module.h"
#include "proto/hlo.pb.h"

namespace autotune {

// The graph's program with an `opt-barrier` in every edge that `decision` cuts: the compiler cannot
// fuse across one. Each value gets one barrier at most, which all its cut consumers read (a barrier
// over a tuple would synchronise its members, so none is made); the other consumers read the value
// itself. A barrier has the shape, layout, sharding and metadata of its value. Everything else
// stays as it is.
//
// InvalidArgument for an edge that is not there; the verifier's complaint if the result were not
// well-formed.
absl::StatusOr<std::unique_ptr<HloModule>> ApplyFusion(const FusionGraph& graph,
                                                       const FusionDecision& decision);

// The same in protobuf form, not verified.
absl::StatusOr<proto::HloModuleProto> FusionProgram(const FusionGraph& graph,
                                                    const FusionDecision& decision);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_FUSION_APPLY_H_
