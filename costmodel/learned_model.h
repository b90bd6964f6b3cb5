#ifndef AUTOTUNE_COSTMODEL_LEARNED_MODEL_H_
#define AUTOTUNE_COSTMODEL_LEARNED_MODEL_H_

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "costmodel/cost_model.h"
#include "costmodel/example.h"
#include "costmodel/features.h"
#include "costmodel/linear_refit.h"
#include "costmodel/model_file.h"
#include "costmodel/network.h"
#include "hardware/device_spec.h"
#include "hardware/measurement.h"

namespace autotune {

// A prediction with how much the members of the ensemble disagree about it.
struct UncertainPrediction {
  double log_seconds = 0;
  double spread = 0;  // standard deviation, log-seconds
};

// A trained network on top of the analytical model (docs/learned-model.md): predicts the analytical
// log-seconds plus a learned correction. Predict and PredictWithSpread are thread-safe, and what
// they say of a configuration depends on nothing else in the call.
class LearnedModel final : public CostModel {
 public:
  // `source` tells what is to be predicted. Estimates are what the shipped weights were trained on;
  // for times on hardware the base are the analytical model's own constants (or
  // `hardware_constants`) and the correction is scaled by ModelFile::hardware_share. Loads
  // LibTorch. InvalidArgument if the model is of another task or does not know the device.
  static absl::StatusOr<std::unique_ptr<LearnedModel>> Create(
      const ModelFile& file, const DeviceSpec& device, TimeSource source,
      const AnalyticalConstants& hardware_constants = AnalyticalConstants());

  absl::string_view name() const override { return "learned"; }
  PredictionUnit unit() const override { return PredictionUnit::kLogSeconds; }
  bool fitted() const override { return true; }

  // +infinity where the analytical model says so.
  absl::StatusOr<std::vector<double>> Predict(const Kernel& kernel,
                                              absl::Span<const Config> configs) const override;
  absl::StatusOr<std::vector<UncertainPrediction>> PredictWithSpread(
      const Kernel& kernel, absl::Span<const Config> configs) const;

  // Corrects the last layer by what was measured (costmodel/linear_refit.h), starting each time
  // from the trained weights: pass everything measured so far.
  absl::Status Fit(absl::Span<const TrainingSample> samples) override;

 private:
  // What is known of a kernel before any configuration. The module is kept alive, so that its
  // address stays its own.
  struct Entry {
    std::shared_ptr<const HloModule> module;
    std::optional<Featurizer> featurizer;  // nullopt: a kernel that is not tiled
    KernelEmbedding embedding;
  };
  // Features of those configurations of a batch that can run.
  struct Batch {
    std::vector<size_t> positions;
    std::vector<float> features;
    std::vector<double> base;
  };

  // What the trained weights say of a batch, row by row.
  struct Scores {
    std::vector<double> log_seconds;
    std::vector<float> spread;
    std::vector<float> activations;  // [rows, members * hidden], where asked for
  };
  // What they say of a measured configuration; no activations for one that cannot run.
  struct Trained {
    double log_seconds = 0;
    std::vector<float> activations;
  };
  using SampleKey = std::pair<uint64_t, std::string>;  // kernel and configuration

  LearnedModel(const ModelFile& file, const DeviceSpec& device, std::unique_ptr<Network> network);

  std::shared_ptr<const Entry> EntryOf(const Kernel& kernel) const;
  Batch Featurize(const Entry& entry, absl::Span<const Config> configs) const;
  absl::StatusOr<Scores> Score(const Entry& entry, const Batch& batch, bool with_activations) const;
  absl::Status LearnAbout(absl::Span<const TrainingSample> samples);
  size_t ActivationWidth() const;
  const LinearCorrection* CorrectionOf(uint64_t fingerprint) const;

  const DeviceSpec device_;
  const std::unique_ptr<Network> network_;
  AnalyticalConstants feature_constants_;
  // Absent where the base is computed with feature_constants_.
  std::optional<AnalyticalConstants> base_constants_;
  double share_ = 1;
  std::vector<LinearCorrection> corrections_;            // empty until Fit
  absl::flat_hash_map<uint64_t, size_t> correction_of_;  // by fingerprint
  // Refits see the same samples again and again.
  absl::flat_hash_map<SampleKey, Trained> trained_;

  mutable absl::Mutex mutex_;
  mutable absl::flat_hash_map<const HloModule*, std::shared_ptr<const Entry>> entries_
      ABSL_GUARDED_BY(mutex_);
};

}  // namespace autotune

#endif  // AUTOTUNE_COSTMODEL_LEARNED_MODEL_H_
