#ifndef AUTOTUNE_TUNER_KERNEL_STATE_H_
#define AUTOTUNE_TUNER_KERNEL_STATE_H_

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/status/status.h"
#include "absl/types/span.h"
#include "costmodel/cost_model.h"
#include "search/search_strategy.h"
#include "tuner/budget_split.h"
#include "tuner/kernel_search.h"
#include "tuner/kernel_space.h"
#include "tuner/model_scorer.h"

namespace autotune {

// What a run knows of one kernel so far. Not thread-safe.
class KernelState {
 public:
  // `model` guides the search, `opinion` only says what it thinks of each candidate; both may be
  // null. Kernel and models must outlive the state.
  KernelState(const Kernel& kernel, KernelSpace space, const CostModel* model,
              const CostModel* opinion = nullptr);

  // Makes the search. A kernel that the model cannot rank (opaque, or not of a kind that it knows)
  // is searched without it, with kBlindStrategy if `strategy` needs a model. A kernel that cannot
  // be tuned has no search. Fails for an unknown strategy.
  absl::Status StartSearch(const std::string& strategy, KernelSearchOptions options);
  // Why the model cannot rank this kernel, if it failed when asked.
  const absl::Status& model_error() const { return model_error_; }

  const Kernel& kernel() const { return kernel_; }
  const KernelSpace& space() const { return space_; }
  KernelSearch* search() { return search_.get(); }
  const ModelScorer* scorer() const { return scorer_.get(); }
  // Null too where that model cannot rank the kernel.
  const ModelScorer* opinion() const { return opinion_.get(); }
  const std::optional<Config>& compiler_default() const { return space_.compiler_default; }

  // Ends the search of a kernel of which no configuration can be measured; the reason is reported.
  void RuleOut(std::string reason);

  // Takes results in and tells the search. Samples of one configuration are joined; a failure of
  // one that has a time changes nothing.
  void AddResults(absl::Span<const Observation> results);

  // Everything known, one entry per configuration, in order of first result.
  const std::vector<Observation>& results() const { return results_; }
  // The result of a configuration, or null.
  const Observation* Find(const Config& config) const;
  // SelectBest over results(), the compiler's default preferred; null if nothing has a time.
  const Observation* Best() const;
  // The compiler's default with its result, or null.
  const Observation* Default() const;
  // Whether the compiler's default is known and was not measured.
  bool LacksDefault() const { return compiler_default().has_value() && Default() == nullptr; }

  // How long one run with the compiler's default is predicted to take, in seconds: what Promise
  // goes by until something was measured. Without it a kernel of which nothing was measured
  // promises nothing.
  void ExpectSeconds(double seconds) { expected_seconds_ = seconds; }

  // What one run takes at least, in seconds (RooflineSeconds): a kernel that has come down to it
  // promises nothing more. 0, the default, says nothing.
  void ExpectAtLeast(double seconds) { roofline_seconds_ = seconds; }
  // Whether its fastest result lies there (HeadroomAboveRoofline).
  bool AtRoofline() const { return HeadroomLeft() == 0; }

  // What the kernel promises for the next measurements (see SplitBudget).
  KernelPromise Promise();

  // The model was fitted again.
  void ModelChanged();

  // Budget spent on the kernel, and results that cost nothing.
  int64_t measurements() const { return measured_; }
  int64_t reused() const { return reused_; }
  void CountMeasurement() { ++measured_; }
  void CountReused() { ++reused_; }

 private:
  // Whether a model can tell configurations apart. REQUIRES: a space.
  absl::Status CheckModel(const ModelScorer& scorer) const;
  // HeadroomAboveRoofline of the fastest result, the default not preferred; 1 where nothing has a
  // time.
  double HeadroomLeft() const;

  const Kernel& kernel_;
  KernelSpace space_;
  const CostModel* model_;
  std::unique_ptr<ModelScorer> scorer_;
  std::unique_ptr<ModelScorer> opinion_;
  absl::Status model_error_;
  std::unique_ptr<KernelSearch> search_;
  std::vector<Observation> results_;
  absl::flat_hash_map<std::string, size_t> positions_;
  double expected_seconds_ = 0;
  double roofline_seconds_ = 0;
  int64_t measured_ = 0;
  int64_t reused_ = 0;
};

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_KERNEL_STATE_H_
