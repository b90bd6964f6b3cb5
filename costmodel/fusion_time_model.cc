#include "costmodel/fusion_time_model.h"

#include <cmath>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "costmodel/example.h"

namespace autotune {

absl::StatusOr<std::unique_ptr<FusionTimeModel>> FusionTimeModel::Create(const ModelFile& file,
                                                                         const FusionGraph* graph,
                                                                         const DeviceSpec& device) {
  if (file.task != "fusion") {
    return absl::InvalidArgumentError(absl::StrCat("the model is of the task \"", file.task,
                                                   "\"; fusion needs one of \"fusion\"",
                                                   " (autotune train --task fusion)"));
  }
  if (!(file.schema == FusionFeatureSchema())) {
    return absl::FailedPreconditionError(
        "the model was trained on other features than this version of autotune computes of groups "
        "of operations; train it again");
  }
  if (!file.constants.contains(device.name)) {
    return absl::InvalidArgumentError(absl::StrCat("the model does not know ", device.name));
  }
  absl::StatusOr<std::unique_ptr<Network>> network = RestoreNetwork(file);
  if (!network.ok()) return network.status();
  auto model = std::make_unique<FusionTimeModel>(network->get(), graph, device);
  model->owned_ = *std::move(network);
  return model;
}

FusionTimeModel::FusionTimeModel(const Network* network, const FusionGraph* graph,
                                 const DeviceSpec& device)
    : network_(network), featurizer_(graph, device) {}

double FusionTimeModel::Seconds(const FusionGroup& group) const {
  double roofline = 0;
  const KernelGraph graph = featurizer_.GraphOf(group, &roofline);
  if (graph.opcodes.empty()) return roofline;
  const float none = 0;
  const float residual = network_->ScoreOnce(ViewOf(graph), &none);
  return std::isfinite(residual) ? roofline * std::exp(static_cast<double>(residual)) : roofline;
}

}  // namespace autotune
