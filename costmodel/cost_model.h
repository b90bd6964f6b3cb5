#ifndef AUTOTUNE_COSTMODEL_COST_MODEL_H_
#define AUTOTUNE_COSTMODEL_COST_MODEL_H_

#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hardware/config.h"
#include "hlo/kernel.h"

namespace autotune {

// What a model's numbers mean. Lower is better in both.
enum class PredictionUnit {
  kLogSeconds,  // natural logarithm of a predicted time in seconds: comparable across kernels
  kRankScore,   // comparable within one kernel only
};

// A measured configuration of a kernel, to learn from. Does not own the kernel.
struct TrainingSample {
  const Kernel* kernel;
  Config config;
  double seconds;
};

// Predicts how fast a kernel is under each configuration. Predict is thread-safe; Fit is not and
// must not run at the same time as Predict.
class CostModel {
 public:
  virtual ~CostModel() = default;

  virtual absl::string_view name() const = 0;
  virtual PredictionUnit unit() const = 0;

  // False until the model may be asked. An unfitted model's Predict fails with FailedPrecondition.
  virtual bool fitted() const = 0;

  // One prediction per configuration, in order; +infinity for one that cannot run (does not fit in
  // VMEM) and for one that the model cannot read (an opaque configuration).
  virtual absl::StatusOr<std::vector<double>> Predict(const Kernel& kernel,
                                                      absl::Span<const Config> configs) const = 0;

  // Learns from what was measured, on top of what the model knows. Unimplemented for a model with
  // nothing to learn.
  virtual absl::Status Fit(absl::Span<const TrainingSample> samples) = 0;
};

}  // namespace autotune

#endif  // AUTOTUNE_COSTMODEL_COST_MODEL_H_
