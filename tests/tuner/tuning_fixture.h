#ifndef AUTOTUNE_TESTS_TUNER_TUNING_FIXTURE_H_
#define AUTOTUNE_TESTS_TUNER_TUNING_FIXTURE_H_

#include <cmath>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "costmodel/cost_model.h"
#include "gtest/gtest.h"
#include "hardware/recording.h"
#include "hardware/replay_backend.h"
#include "tuner/kernel_space.h"
#include "tuner/tuner.h"

namespace autotune {

// The recording that the example ships: ten kernels of a TPU v3.
inline const Recording& ExampleRecording() {
  static const Recording* const recording = new Recording(
      *Recording::Load(absl::StrCat(AUTOTUNE_SOURCE_DIR, "/examples/alexnet/tpu_v3.pb")));
  return *recording;
}

inline std::vector<Kernel> ExampleKernels() {
  std::vector<Kernel> kernels;
  for (const RecordedKernel& kernel : ExampleRecording().kernels()) {
    kernels.push_back(kernel.kernel());
  }
  return kernels;
}

// Predicts what was recorded, multiplied by `factor` to the power of a hash of the configuration: a
// model as good or bad as a test needs it.
class OracleModel : public CostModel {
 public:
  explicit OracleModel(double noise = 0) : noise_(noise) {}

  absl::string_view name() const override { return "oracle"; }
  PredictionUnit unit() const override { return PredictionUnit::kLogSeconds; }
  bool fitted() const override { return fitted_; }
  void set_fitted(bool fitted) { fitted_ = fitted; }

  absl::StatusOr<std::vector<double>> Predict(const Kernel& kernel,
                                              absl::Span<const Config> configs) const override {
    const RecordedKernel* recorded = ExampleRecording().Find(kernel.fingerprint);
    std::vector<double> predictions;
    for (const Config& config : configs) {
      const RecordedConfig* known = recorded->Find(config.Key());
      if (known == nullptr || !known->MedianSeconds()) {
        predictions.push_back(std::numeric_limits<double>::infinity());
        continue;
      }
      uint64_t hash = 1469598103934665603u;
      for (char c : config.Key()) hash = (hash ^ static_cast<uint64_t>(c)) * 1099511628211u;
      const double unit = static_cast<double>(hash >> 11) * 0x1.0p-53;
      predictions.push_back(std::log(*known->MedianSeconds()) + noise_ * (2 * unit - 1));
    }
    return predictions;
  }

  absl::Status Fit(absl::Span<const TrainingSample> samples) override {
    ++fits;
    last_samples = static_cast<int64_t>(samples.size());
    return absl::OkStatus();
  }

  int fits = 0;
  int64_t last_samples = 0;

 private:
  double noise_;
  bool fitted_ = true;
};

// Passes batches on and counts what it was asked; breaks when told to.
class CountingBackend : public MeasurementBackend {
 public:
  explicit CountingBackend(std::string name = "replay")
      : replay_(*ReplayBackend::Create({ExampleRecording()})),
        capabilities_(replay_->capabilities()) {
    capabilities_.name = std::move(name);
  }

  const Capabilities& capabilities() const override { return capabilities_; }

  absl::StatusOr<std::vector<Measurement>> Measure(
      absl::Span<const Candidate> candidates) override {
    if (asked >= breaks_after) return absl::UnavailableError("the device is gone");
    asked += static_cast<int64_t>(candidates.size());
    return replay_->Measure(candidates);
  }

  int64_t asked = 0;
  int64_t breaks_after = std::numeric_limits<int64_t>::max();

 private:
  std::unique_ptr<ReplayBackend> replay_;
  Capabilities capabilities_;
};

// A tuner over the example, with access to its backend.
struct TunerSetup {
  TunerParts parts;
  TunerOptions options;
  TuningTask task;
  CountingBackend* backend = nullptr;

  explicit TunerSetup(int64_t budget, std::shared_ptr<CostModel> model = nullptr,
                      const std::string& backend_name = "replay") {
    auto counting = std::make_unique<CountingBackend>(backend_name);
    backend = counting.get();
    parts.backend = std::move(counting);
    parts.baseline = model;
    parts.model = std::move(model);
    parts.replays = backend_name == "replay";
    parts.space_of = [](const Kernel& kernel) {
      return SpaceFromRecording(kernel, ExampleRecording());
    };
    parts.known = parts.replays ? &ExampleRecording() : nullptr;
    options.strategy = parts.model != nullptr ? "model-greedy" : "annealing";
    options.budget = budget;
    options.seed = 1;
    task.run.id = "run";
    task.kernels = ExampleKernels();
  }

  TuningReport Tune() {
    auto tuner = Tuner::Create(std::move(parts), options);
    EXPECT_TRUE(tuner.ok()) << tuner.status();
    return (*tuner)->Tune(task);
  }
};

inline const KernelReport& FindKernel(const TuningReport& report, const std::string& name) {
  for (const KernelReport& kernel : report.kernels) {
    if (kernel.name == name) return kernel;
  }
  ADD_FAILURE() << "no kernel " << name;
  return report.kernels.front();
}

}  // namespace autotune

#endif  // AUTOTUNE_TESTS_TUNER_TUNING_FIXTURE_H_
