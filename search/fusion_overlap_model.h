#ifndef AUTOTUNE_SEARCH_FUSION_OVERLAP_MODEL_H_
#define AUTOTUNE_SEARCH_FUSION_OVERLAP_MODEL_H_

#include <cstdint>
#include <utility>
#include <vector>

#include "absl/types/span.h"
#include "hardware/device_spec.h"
#include "hlo/fusion_graph.h"

namespace autotune {

// By how much a model of kernels' times is off on a kernel, judged by the kernels of the same
// program whose times are known: a cut leaves most of a kernel as it was, and so what the model
// misses of it. Kernel regression (Nadaraya, 1964; Watson, 1964) of the error of log time, weighted
// by the fourth power of how much two kernels overlap (Jaccard's index of their operations, each
// counting by its cost). Kernels that share nothing with a known one are left as they are.
//
// A value; reading is thread-safe.
class FusionOverlapModel {
 public:
  // `costs`: of each node of the program, positive.
  explicit FusionOverlapModel(std::vector<double> costs);

  // A known kernel with the error of the model there, in log-seconds (known - predicted).
  void Add(absl::Span<const int32_t> nodes, double error);
  void Clear();

  // The expected error, to be added to the model's log-seconds. Nodes are distinct.
  double Correction(absl::Span<const int32_t> nodes) const;

 private:
  struct Known {
    double cost = 0;
    double error = 0;
  };

  std::vector<double> costs_;
  std::vector<Known> known_;
  std::vector<std::vector<int32_t>> known_with_;  // by node
};

// What each node of a program counts when overlaps are weighed, in seconds: its arithmetic and one
// pass over its value, and a little.
std::vector<double> OverlapWeights(const FusionGraph& graph, const DeviceSpec& device);

}  // namespace autotune

#endif  // AUTOTUNE_SEARCH_FUSION_OVERLAP_MODEL_H_
