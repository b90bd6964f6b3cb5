#ifndef AUTOTUNE_TUNER_MODEL_SCORER_H_
#define AUTOTUNE_TUNER_MODEL_SCORER_H_

#include <cstdint>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/status/status.h"
#include "absl/synchronization/mutex.h"
#include "absl/types/span.h"
#include "costmodel/cost_model.h"
#include "search/candidate_scorer.h"

namespace autotune {

// Shows one kernel's predictions of a cost model to strategies, which know no model. Large batches
// are scored in parallel (TBB); each prediction depends on its configuration alone, so the number
// of threads does not show. Does not own the model or the kernel, which must outlive it.
class ModelScorer final : public CandidateScorer {
 public:
  ModelScorer(const CostModel& model, const Kernel& kernel) : model_(model), kernel_(kernel) {}

  // +infinity for all of a block whose prediction failed; status() then says why.
  std::vector<double> Score(absl::Span<const Config> configs) const override;

  int64_t version() const override { return version_; }

  // Tells that the model was fitted again. Not at the same time as Score.
  void ModelChanged() { ++version_; }

  // The first failure of the model, or OK.
  absl::Status status() const;

 private:
  const CostModel& model_;
  const Kernel& kernel_;
  int64_t version_ = 0;
  mutable absl::Mutex mutex_;
  mutable absl::Status status_ ABSL_GUARDED_BY(mutex_);
};

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_MODEL_SCORER_H_
