#include "costmodel/learned_model.h"

#include <cmath>
#include <limits>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hlo/module.h"

namespace autotune {
namespace {

constexpr double kImpossible = std::numeric_limits<double>::infinity();
// Kernels of the largest programs number a few hundred; beyond this the cache starts anew.
constexpr size_t kMaxCachedKernels = 4096;

}  // namespace

LearnedModel::LearnedModel(const ModelFile& file, const DeviceSpec& device,
                           std::unique_ptr<Network> network)
    : device_(device),
      network_(std::move(network)),
      feature_constants_(file.constants.at(device.name)) {}

absl::StatusOr<std::unique_ptr<LearnedModel>> LearnedModel::Create(
    const ModelFile& file, const DeviceSpec& device, TimeSource source,
    const AnalyticalConstants& hardware_constants) {
  if (file.task != "tile" || file.schema != TileFeatureSchema()) {
    return absl::InvalidArgumentError(absl::StrCat("a model of the task \"", file.task,
                                                   "\" on features \"", file.schema.name,
                                                   "\" cannot rank tiles"));
  }
  if (!file.constants.contains(device.name)) {
    std::vector<std::string> known;
    for (const auto& [name, constants] : file.constants) known.push_back(name);
    return absl::InvalidArgumentError(absl::StrCat(
        "the learned model knows ", absl::StrJoin(known, " and "), ", not ", device.name));
  }
  absl::StatusOr<std::unique_ptr<Network>> network = RestoreNetwork(file);
  if (!network.ok()) return network.status();
  std::unique_ptr<LearnedModel> model(new LearnedModel(file, device, *std::move(network)));
  if (source == TimeSource::kHardware) {
    model->base_constants_ = hardware_constants;
    const auto share = file.hardware_share.find(device.name);
    model->share_ = share == file.hardware_share.end() ? 0 : share->second;
  }
  return model;
}

std::shared_ptr<const LearnedModel::Entry> LearnedModel::EntryOf(const Kernel& kernel) const {
  {
    absl::MutexLock lock(&mutex_);
    const auto found = entries_.find(kernel.module.get());
    if (found != entries_.end()) return found->second;
  }
  auto entry = std::make_shared<Entry>();
  entry->module = kernel.module;
  absl::StatusOr<Featurizer> featurizer = Featurizer::Create(kernel, device_);
  if (featurizer.ok()) {
    entry->featurizer = *std::move(featurizer);
    entry->embedding = network_->Encode(ViewOf(entry->featurizer->graph()));
  }
  absl::MutexLock lock(&mutex_);
  if (entries_.size() >= kMaxCachedKernels) entries_.clear();
  return entries_.try_emplace(kernel.module.get(), std::move(entry)).first->second;
}

LearnedModel::Batch LearnedModel::Featurize(const Entry& entry,
                                            absl::Span<const Config> configs) const {
  Batch batch;
  const size_t width = TileFeatureSchema().config.size();
  batch.features.resize(configs.size() * width);
  AnalyticalScratch scratch;
  for (size_t i = 0; i < configs.size(); ++i) {
    const TileBounds* bounds = configs[i].tile();
    if (bounds == nullptr || !entry.featurizer->geometry().Accepts(*bounds)) continue;
    const absl::Span<float> row =
        absl::MakeSpan(batch.features).subspan(batch.positions.size() * width, width);
    AnalyticalEstimate estimate =
        entry.featurizer->ConfigFeatures(*bounds, feature_constants_, row, &scratch);
    if (!estimate.fits) continue;
    if (base_constants_) {
      estimate = entry.featurizer->analytical().Estimate(*bounds, *base_constants_, &scratch);
    }
    batch.positions.push_back(i);
    batch.base.push_back(std::log(estimate.seconds));
  }
  batch.features.resize(batch.positions.size() * width);
  return batch;
}

const LinearCorrection* LearnedModel::CorrectionOf(uint64_t fingerprint) const {
  if (corrections_.empty()) return nullptr;
  const auto found = correction_of_.find(fingerprint);
  return found != correction_of_.end() ? &corrections_[found->second] : &corrections_.back();
}

absl::Status LearnedModel::Score(const Entry& entry, const Batch& batch,
                                 std::vector<double>* scores, std::vector<float>* spread) const {
  const size_t count = batch.positions.size();
  std::vector<float> residuals(count);
  if (spread != nullptr) spread->resize(count);
  network_->Score(ViewOf(entry.featurizer->graph()), entry.embedding, batch.features.data(),
                  static_cast<int64_t>(count), residuals.data(),
                  spread == nullptr ? nullptr : spread->data());
  scores->assign(batch.base.begin(), batch.base.end());
  for (size_t i = 0; i < count; ++i) {
    if (!std::isfinite(residuals[i])) {
      return absl::InternalError("the learned model's prediction is not a number");
    }
    (*scores)[i] += share_ * residuals[i];
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<UncertainPrediction>> LearnedModel::PredictWithSpread(
    const Kernel& kernel, absl::Span<const Config> configs) const {
  if (kernel.module == nullptr) return absl::InvalidArgumentError("The kernel has no module");
  std::vector<UncertainPrediction> predictions(configs.size(), {kImpossible, 0});
  const std::shared_ptr<const Entry> entry = EntryOf(kernel);
  if (!entry->featurizer) return predictions;
  const Batch batch = Featurize(*entry, configs);
  std::vector<double> scores;
  std::vector<float> spread;
  if (absl::Status status = Score(*entry, batch, &scores, &spread); !status.ok()) return status;
  std::vector<float> activations;
  const LinearCorrection* correction = CorrectionOf(kernel.fingerprint);
  const size_t width = correction == nullptr ? 0 : correction->weights.size();
  if (width > 0) {
    activations.resize(batch.positions.size() * width);
    network_->Activations(ViewOf(entry->featurizer->graph()), entry->embedding,
                          batch.features.data(), static_cast<int64_t>(batch.positions.size()),
                          activations.data());
  }
  for (size_t i = 0; i < batch.positions.size(); ++i) {
    UncertainPrediction& prediction = predictions[batch.positions[i]];
    prediction = {scores[i], share_ * spread[i]};
    if (width == 0) continue;
    prediction.log_seconds +=
        correction->Of(absl::MakeConstSpan(activations).subspan(i * width, width));
  }
  return predictions;
}

absl::StatusOr<std::vector<double>> LearnedModel::Predict(const Kernel& kernel,
                                                          absl::Span<const Config> configs) const {
  absl::StatusOr<std::vector<UncertainPrediction>> predictions = PredictWithSpread(kernel, configs);
  if (!predictions.ok()) return predictions.status();
  std::vector<double> result;
  result.reserve(configs.size());
  for (const UncertainPrediction& prediction : *predictions) {
    result.push_back(prediction.log_seconds);
  }
  return result;
}

absl::Status LearnedModel::Fit(absl::Span<const TrainingSample> samples) {
  RefitSamples refit;
  correction_of_.clear();
  const auto width = static_cast<size_t>(network_->options().members * network_->options().hidden);
  for (const TrainingSample& sample : samples) {
    const std::shared_ptr<const Entry> entry = EntryOf(*sample.kernel);
    if (!entry->featurizer || !(sample.seconds > 0)) continue;
    const Batch batch = Featurize(*entry, {&sample.config, 1});
    if (batch.positions.empty()) continue;
    std::vector<double> score;
    if (absl::Status status = Score(*entry, batch, &score, nullptr); !status.ok()) return status;
    refit.activations.resize(refit.activations.size() + width);
    network_->Activations(ViewOf(entry->featurizer->graph()), entry->embedding,
                          batch.features.data(), 1,
                          refit.activations.data() + refit.activations.size() - width);
    const size_t kernel =
        correction_of_.try_emplace(sample.kernel->fingerprint, correction_of_.size()).first->second;
    refit.kernel.push_back(static_cast<int>(kernel));
    refit.error.push_back(std::log(sample.seconds) - score[0]);
  }
  corrections_ = RefitLastLayer(refit, static_cast<int>(correction_of_.size()), RefitPrior());
  return absl::OkStatus();
}

}  // namespace autotune
