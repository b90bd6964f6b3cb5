#ifndef AUTOTUNE_COSTMODEL_ANALYTICAL_MODEL_H_
#define AUTOTUNE_COSTMODEL_ANALYTICAL_MODEL_H_

#include <memory>
#include <optional>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "costmodel/analytical_constants.h"
#include "costmodel/analytical_kernel.h"
#include "costmodel/cost_model.h"
#include "hardware/device_spec.h"

namespace autotune {

// The analytical baseline: one formula for all kernels, from the HLO, the tile and the device alone
// (docs/analytical-model.md). Predicts log-seconds. Always fitted; what it does not know from the
// data sheet are constants. Thread-safe.
class AnalyticalModel final : public CostModel {
 public:
  explicit AnalyticalModel(const DeviceSpec& device,
                           const AnalyticalConstants& constants = AnalyticalConstants());

  absl::string_view name() const override { return "analytical"; }
  PredictionUnit unit() const override { return PredictionUnit::kLogSeconds; }
  bool fitted() const override { return true; }

  // +infinity for what is no tile of this kernel, for a tile that does not fit in VMEM, and for all
  // configurations of a kernel that has no tiles.
  absl::StatusOr<std::vector<double>> Predict(const Kernel& kernel,
                                              absl::Span<const Config> configs) const override;

  // Unimplemented: the constants are fitted once, offline.
  absl::Status Fit(absl::Span<const TrainingSample> samples) override;

 private:
  // Modules are kept alive, so that their addresses stay theirs.
  struct Entry {
    std::shared_ptr<const HloModule> module;
    absl::StatusOr<std::shared_ptr<const AnalyticalKernel>> kernel;
  };

  // What is read of a kernel, from the first call on shared. Fails like TileGeometry::Create.
  absl::StatusOr<std::shared_ptr<const AnalyticalKernel>> KernelOf(const Kernel& kernel) const;

  const DeviceSpec device_;
  const AnalyticalConstants constants_;
  mutable absl::Mutex mutex_;
  mutable absl::flat_hash_map<const HloModule*, Entry> kernels_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace autotune

#endif  // AUTOTUNE_COSTMODEL_ANALYTICAL_MODEL_H_
