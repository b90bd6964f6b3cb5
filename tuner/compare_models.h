#ifndef AUTOTUNE_TUNER_COMPARE_MODELS_H_
#define AUTOTUNE_TUNER_COMPARE_MODELS_H_

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "absl/types/span.h"
#include "costmodel/cost_model.h"
#include "hardware/recording.h"
#include "tuner/comparison_report.h"

namespace autotune {

// How well predictions, one per recorded configuration of the kernel in recorded order, rank what
// was recorded. Configurations without a time do not count. nullopt if none has a time, or if the
// model holds all that have one impossible: it then says nothing of this kernel. Pure.
std::optional<ModelAccuracy> AssessModel(const std::string& model, PredictionUnit unit,
                                         const RecordedKernel& kernel,
                                         absl::Span<const double> predictions,
                                         absl::Span<const int64_t> top_k);

// The averages over the kernels that have an entry for `model`. Pure.
ModelSummary SummarizeModel(const std::string& model, absl::Span<const KernelComparison> kernels);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_COMPARE_MODELS_H_
