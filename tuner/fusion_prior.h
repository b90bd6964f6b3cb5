#ifndef AUTOTUNE_TUNER_FUSION_PRIOR_H_
#define AUTOTUNE_TUNER_FUSION_PRIOR_H_

#include <memory>
#include <string>

#include "absl/status/statusor.h"
#include "costmodel/network.h"
#include "hardware/device_spec.h"
#include "hlo/fusion_graph.h"
#include "search/fusion_scorer.h"

namespace autotune {

// The learned model of fusion as a prior of FusionScorer: "learned" for the weights that come with
// autotune, else the folder of a model. The graph must outlive it. Errors carry their exit code.
absl::StatusOr<FusionPrior> CreateFusionPrior(const std::string& model, const FusionGraph* graph,
                                              const DeviceSpec& device);

// The same of a network at hand, which the prior keeps.
FusionPrior FusionPriorOf(std::shared_ptr<const Network> network, const FusionGraph* graph,
                          const DeviceSpec& device);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_FUSION_PRIOR_H_
