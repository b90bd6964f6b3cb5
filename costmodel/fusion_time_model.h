#ifndef AUTOTUNE_COSTMODEL_FUSION_TIME_MODEL_H_
#define AUTOTUNE_COSTMODEL_FUSION_TIME_MODEL_H_

#include <memory>

#include "absl/status/statusor.h"
#include "costmodel/fusion_features.h"
#include "costmodel/model_file.h"
#include "costmodel/network.h"
#include "hardware/device_spec.h"
#include "hlo/fusion_graph.h"
#include "hlo/fusion_group.h"

namespace autotune {

// A network trained on the fusion task: the time of a kernel that a program would have, from the
// operations in it, as a learned factor on its roofline. An estimate of the compiler's static
// schedule, which is what it was trained on. Immutable, thread-safe.
class FusionTimeModel {
 public:
  // Loads LibTorch. InvalidArgument if the model is of another task or other features, or does not
  // know the device. The graph must outlive the model.
  static absl::StatusOr<std::unique_ptr<FusionTimeModel>> Create(const ModelFile& file,
                                                                 const FusionGraph* graph,
                                                                 const DeviceSpec& device);
  // The same with a network that somebody else owns and keeps.
  FusionTimeModel(const Network* network, const FusionGraph* graph, const DeviceSpec& device);

  // Seconds of one execution of a kernel with these operations; its roofline where the network
  // fails.
  double Seconds(const FusionGroup& group) const;

 private:
  std::unique_ptr<Network> owned_;
  const Network* network_;
  FusionFeaturizer featurizer_;
};

}  // namespace autotune

#endif  // AUTOTUNE_COSTMODEL_FUSION_TIME_MODEL_H_
