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
// About a kilobyte each.
constexpr size_t kMaxCachedSamples = size_t{1} << 16;

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
        "the learned model knows ", known.empty() ? "no device" : absl::StrJoin(known, " and "),
        ", not ", device.name));
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

size_t LearnedModel::ActivationWidth() const {
  return static_cast<size_t>(network_->options().members * network_->options().hidden);
}

absl::StatusOr<LearnedModel::Scores> LearnedModel::Score(const Entry& entry, const Batch& batch,
                                                         bool with_activations) const {
  const size_t count = batch.positions.size();
  Scores scores;
  std::vector<float> residuals(count);
  scores.spread.resize(count);
  if (with_activations) scores.activations.resize(count * ActivationWidth());
  network_->Score(ViewOf(entry.featurizer->graph()), entry.embedding, batch.features.data(),
                  static_cast<int64_t>(count), residuals.data(), scores.spread.data(),
                  with_activations ? scores.activations.data() : nullptr);
  scores.log_seconds = batch.base;
  for (size_t i = 0; i < count; ++i) {
    if (!std::isfinite(residuals[i])) {
      return absl::InternalError("the learned model's prediction is not a number");
    }
    scores.log_seconds[i] += share_ * residuals[i];
  }
  return scores;
}

absl::StatusOr<std::vector<UncertainPrediction>> LearnedModel::PredictWithSpread(
    const Kernel& kernel, absl::Span<const Config> configs) const {
  if (kernel.module == nullptr) return absl::InvalidArgumentError("The kernel has no module");
  std::vector<UncertainPrediction> predictions(configs.size(), {kImpossible, 0});
  const std::shared_ptr<const Entry> entry = EntryOf(kernel);
  if (!entry->featurizer) return predictions;
  const Batch batch = Featurize(*entry, configs);
  const LinearCorrection* correction = CorrectionOf(kernel.fingerprint);
  const size_t width = correction == nullptr ? 0 : correction->weights.size();
  absl::StatusOr<Scores> scores = Score(*entry, batch, width > 0);
  if (!scores.ok()) return scores.status();
  const absl::Span<const float> activations = scores->activations;
  for (size_t i = 0; i < batch.positions.size(); ++i) {
    UncertainPrediction& prediction = predictions[batch.positions[i]];
    prediction = {scores->log_seconds[i], share_ * scores->spread[i]};
    if (width > 0) prediction.log_seconds += correction->Of(activations.subspan(i * width, width));
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

// Scores by the trained weights what was not scored for a refit before, kernel by kernel.
absl::Status LearnedModel::LearnAbout(absl::Span<const TrainingSample> samples) {
  if (trained_.size() > kMaxCachedSamples) trained_.clear();
  std::vector<std::pair<const Kernel*, std::vector<Config>>> unknown;
  absl::flat_hash_map<const Kernel*, size_t> place;
  for (const TrainingSample& sample : samples) {
    const SampleKey key(sample.kernel->fingerprint, sample.config.Key());
    if (!trained_.try_emplace(key).second) continue;
    const auto [at, added] = place.try_emplace(sample.kernel, unknown.size());
    if (added) unknown.push_back({sample.kernel, {}});
    unknown[at->second].second.push_back(sample.config);
  }
  const size_t width = ActivationWidth();
  for (const auto& [kernel, configs] : unknown) {
    const std::shared_ptr<const Entry> entry = EntryOf(*kernel);
    if (!entry->featurizer) continue;
    const Batch batch = Featurize(*entry, configs);
    absl::StatusOr<Scores> scores = Score(*entry, batch, /*with_activations=*/true);
    if (!scores.ok()) {
      trained_.clear();
      return scores.status();
    }
    for (size_t i = 0; i < batch.positions.size(); ++i) {
      const Config& config = configs[batch.positions[i]];
      Trained& trained = trained_[SampleKey(kernel->fingerprint, config.Key())];
      trained.log_seconds = scores->log_seconds[i];
      const auto row = absl::MakeConstSpan(scores->activations).subspan(i * width, width);
      trained.activations.assign(row.begin(), row.end());
    }
  }
  return absl::OkStatus();
}

absl::Status LearnedModel::Fit(absl::Span<const TrainingSample> samples) {
  if (absl::Status status = LearnAbout(samples); !status.ok()) return status;
  RefitSamples refit;
  correction_of_.clear();
  for (const TrainingSample& sample : samples) {
    const Trained& trained = trained_[SampleKey(sample.kernel->fingerprint, sample.config.Key())];
    if (trained.activations.empty() || !(sample.seconds > 0)) continue;
    refit.activations.insert(refit.activations.end(), trained.activations.begin(),
                             trained.activations.end());
    const size_t kernel =
        correction_of_.try_emplace(sample.kernel->fingerprint, correction_of_.size()).first->second;
    refit.kernel.push_back(static_cast<int>(kernel));
    refit.error.push_back(std::log(sample.seconds) - trained.log_seconds);
  }
  corrections_ = RefitLastLayer(refit, static_cast<int>(correction_of_.size()), RefitPrior());
  return absl::OkStatus();
}

}  // namespace autotune
