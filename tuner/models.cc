#include "tuner/models.h"

#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "costmodel/analytical_model.h"
#include "costmodel/learned_model.h"
#include "costmodel/model_file.h"
#include "hardware/device_spec.h"
#include "tuner/command_status.h"

namespace autotune {
namespace {

absl::StatusOr<std::shared_ptr<CostModel>> CreateLearnedModel(const std::string& directory,
                                                              const DeviceSpec& device,
                                                              TimeSource source) {
  absl::StatusOr<ModelFile> file = LoadModel(directory);
  if (!file.ok()) return WithInputExitCode(file.status());
  absl::StatusOr<std::unique_ptr<LearnedModel>> model = LearnedModel::Create(*file, device, source);
  if (!model.ok()) return WithInputExitCode(model.status());
  return std::shared_ptr<CostModel>(*std::move(model));
}

}  // namespace

std::string ModelFingerprint(const std::string& name) {
  if (name == "learned") return WeightsFingerprint(FindShippedModel("tile").value_or(""));
  return IsModelFolder(name) ? WeightsFingerprint(name) : "";
}

bool IsModelFolder(const std::string& name) {
  std::error_code error;
  return name != "none" && name != "analytical" && name != "learned" &&
         std::filesystem::is_directory(name, error);
}

absl::StatusOr<std::shared_ptr<CostModel>> CreateModel(const std::string& name,
                                                       const std::string& device,
                                                       TimeSource source) {
  if (name == "none") return std::shared_ptr<CostModel>();
  if (absl::StrContains(name, '/') && !IsModelFolder(name)) {
    return BadInput(absl::StrCat("the model's folder ", name, " is not there"));
  }
  if (name != "analytical" && name != "learned" && !IsModelFolder(name)) {
    return WrongUse(
        absl::StrCat("--model takes learned, analytical, none or the folder of a trained "
                     "model; got \"",
                     name, "\""));
  }
  absl::StatusOr<DeviceSpec> spec = FindDeviceSpec(device);
  if (!spec.ok()) return WithExitCode(kExitBadInput, spec.status());
  if (name == "analytical") return std::make_shared<AnalyticalModel>(*spec);
  if (name != "learned") return CreateLearnedModel(name, *spec, source);
  absl::StatusOr<std::string> shipped = FindShippedModel("tile");
  if (!shipped.ok()) {
    return WithExitCode(kExitBroken, absl::UnavailableError(absl::StrCat(
                                         "--model learned: ", shipped.status().message())));
  }
  return CreateLearnedModel(*shipped, *spec, source);
}

std::function<std::vector<double>(absl::Span<const Config>)> SpreadOf(const CostModel* model,
                                                                      const Kernel& kernel) {
  const auto* learned = dynamic_cast<const LearnedModel*>(model);
  if (learned == nullptr) return nullptr;
  return [learned, &kernel](absl::Span<const Config> configs) {
    std::vector<double> spread(configs.size(), 0);
    absl::StatusOr<std::vector<UncertainPrediction>> predictions =
        learned->PredictWithSpread(kernel, configs);
    if (!predictions.ok()) return spread;
    for (size_t i = 0; i < spread.size(); ++i) spread[i] = (*predictions)[i].spread;
    return spread;
  };
}

}  // namespace autotune
