#ifndef AUTOTUNE_SEARCH_FUSION_SCORER_H_
#define AUTOTUNE_SEARCH_FUSION_SCORER_H_

#include <atomic>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <vector>

#include "absl/base/thread_annotations.h"
#include "absl/container/flat_hash_map.h"
#include "absl/synchronization/mutex.h"
#include "hardware/device_spec.h"
#include "hlo/fusion_graph.h"
#include "hlo/fusion_group.h"
#include "hlo/fusion_realised.h"
#include "search/candidate_scorer.h"
#include "search/fusion_groups.h"
#include "search/fusion_kernel_model.h"
#include "search/fusion_overlap_model.h"

namespace autotune {

// A kernel whose time is known, in seconds of one execution. Where the group tells neither what it
// reads nor what it writes, that is taken to be whatever crosses its border.
struct TimedKernel {
  FusionGroup group;
  double seconds = 0;
};

// What a kernel is expected to take, in seconds of one execution: a learned model.
using FusionPrior = std::function<double(const FusionGroup& group)>;

// Scores fusion configurations of a whole program by an analytical model: the natural logarithm of
// the sum of its kernels' times in seconds. A kernel takes the longer of its arithmetic (products
// at the matrix units' peak, other operations at one a lane and cycle, transcendental ones eight)
// and of its traffic (each value that it reads or writes once, at the published bandwidth), and a
// fixed time. Fusing saves the traffic between two kernels; it may repeat arithmetic.
//
// With a prior, kernels take the time that it says instead.
//
// Kernels whose time is known by Learn take that time. Without a prior a factor for the others is
// fitted to it (FusionKernelModel); what then is missed of the known kernels corrects those that
// overlap with them (FusionOverlapModel).
//
// Incremental: keeps the groups of configurations that it scored lately and re-scores of the
// closest one only the groups that differ. Thread-safe; callers wait for each other.
class FusionScorer final : public CandidateScorer {
 public:
  // Without an outline of a compilation: PredictOutline. The graph must outlive the scorer.
  FusionScorer(const FusionGraph* graph, FusionOutline outline, const DeviceSpec& device,
               FusionPrior prior = nullptr);
  ~FusionScorer() override;

  std::vector<double> Score(absl::Span<const Config> configs) const override;
  double ScoreMove(const Config& base, const Config& move) const override;
  int64_t version() const override { return version_; }

  // Takes up what was compiled: kernels with their times, and the time of the whole program
  // without cuts (0: not known), which makes up for what the model does not see.
  void Learn(const std::vector<TimedKernel>& kernels, double default_seconds);

  // A group as it is under `config`, with its time in one execution of the program, in seconds.
  struct Group {
    int32_t root = 0;
    std::vector<int32_t> nodes;  // ascending
    double seconds = 0;
  };
  // All groups, by root.
  std::vector<Group> GroupsUnder(const Config& config) const;

  // The relative change of the program's time under `config` if two of its kernels were one, each
  // given by its operations (ascending): what only they read stays in it. No configuration brings
  // that about. REQUIRES: neither is empty; both run equally often.
  double MergeEffect(const Config& config, const std::vector<int32_t>& first,
                     const std::vector<int32_t>& second) const;

 private:
  struct State;
  struct NodeCost {
    double compute_seconds = 0;
    double bytes = 0;  // of the value, where it takes memory traffic
    bool product = false;
    bool heavy = false;
    uint64_t hash = 0;  // 0: not part of a kernel's identity
  };
  struct GroupCost {
    FusionGroup group;
    FusionKernelFeatures features;
    uint64_t hash = 0;     // of the nodes
    uint64_t traffic = 0;  // of what is read and written
  };
  struct Sample {
    FusionGroup group;
    FusionKernelModel::Sample kernel;
    double prior_seconds = 0;
  };

  void FillCost(const FusionGroups& groups, int32_t root, GroupCost* cost) const;
  // The same of a kernel with these operations, ascending, that reads and writes whatever crosses
  // its border.
  GroupCost CostOf(const std::vector<int32_t>& nodes) const;
  FusionKernelFeatures FeaturesOf(const FusionGroup& group) const;
  // Of what crosses the border of these nodes, ascending.
  FusionGroup WithBorder(const std::vector<int32_t>& nodes) const;
  // Seconds of one execution before any correction.
  double Expect(const FusionGroup& group, const FusionKernelFeatures& features) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  FusionKernelFeatures Finish(double compute_seconds, double bytes,
                              FusionKernelFeatures counts) const;
  // Fits the models to samples_.
  void Refit() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  double SecondsOf(const FusionGroups& groups, int32_t root) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  // Of one execution.
  double SecondsOnce(GroupCost* cost) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  State& Nearest(const std::vector<uint64_t>& cuts) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void MoveTo(const std::vector<uint64_t>& cuts, State* state) const
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  void Rescore(State* state) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  double ScoreOf(const Config& config) const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mutex_);
  std::vector<uint64_t> BitsOf(const Config& config) const;

  const FusionGraph* graph_;
  const FusionOutline outline_;
  const DeviceSpec device_;
  const FusionPrior prior_;
  std::vector<NodeCost> costs_;
  std::vector<int32_t> operand_edges_;  // beside the graph's operands: the edge, or -1
  std::vector<size_t> first_operand_;
  std::atomic<int64_t> version_ = 0;

  mutable absl::Mutex mutex_;
  absl::flat_hash_map<uint64_t, double> known_ ABSL_GUARDED_BY(mutex_);  // by nodes' hash
  std::vector<Sample> samples_ ABSL_GUARDED_BY(mutex_);                  // of known_
  FusionKernelModel model_ ABSL_GUARDED_BY(mutex_);
  FusionOverlapModel overlap_ ABSL_GUARDED_BY(mutex_);
  // By nodes and traffic: what prior_ said, which is dear, and what was made of it.
  mutable absl::flat_hash_map<uint64_t, double> expected_ ABSL_GUARDED_BY(mutex_);
  mutable absl::flat_hash_map<uint64_t, double> corrected_ ABSL_GUARDED_BY(mutex_);
  double offset_ ABSL_GUARDED_BY(mutex_) = 0;
  mutable std::list<State> states_ ABSL_GUARDED_BY(mutex_);  // used last first
  mutable GroupCost scratch_ ABSL_GUARDED_BY(mutex_);        // spares allocations
};

}  // namespace autotune

#endif  // AUTOTUNE_SEARCH_FUSION_SCORER_H_
