#include "tuner/fusion_prior.h"

#include <utility>

#include "absl/status/status.h"
#include "costmodel/fusion_time_model.h"
#include "costmodel/model_file.h"
#include "tuner/command_status.h"

namespace autotune {

absl::StatusOr<FusionPrior> CreateFusionPrior(const std::string& model, const FusionGraph* graph,
                                              const DeviceSpec& device) {
  absl::StatusOr<std::string> folder =
      model == "learned" ? FindShippedModel("fusion") : absl::StatusOr<std::string>(model);
  if (!folder.ok()) return WithExitCode(kExitBroken, folder.status());
  absl::StatusOr<ModelFile> file = LoadModel(*folder);
  if (!file.ok()) return WithInputExitCode(file.status());
  absl::StatusOr<std::unique_ptr<FusionTimeModel>> created =
      FusionTimeModel::Create(*file, graph, device);
  if (!created.ok()) return WithInputExitCode(created.status());
  const std::shared_ptr<const FusionTimeModel> times = *std::move(created);
  return FusionPrior([times](const FusionGroup& group) { return times->Seconds(group); });
}

FusionPrior FusionPriorOf(std::shared_ptr<const Network> network, const FusionGraph* graph,
                          const DeviceSpec& device) {
  const auto times = std::make_shared<const FusionTimeModel>(network.get(), graph, device);
  return [times, network = std::move(network)](const FusionGroup& group) {
    return times->Seconds(group);
  };
}

}  // namespace autotune
