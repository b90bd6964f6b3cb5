#include "search/fusion_overlap_model.h"

#include <algorithm>

#include "hlo/cost_analysis.h"
#include "hlo/kernel_kind.h"

namespace autotune {
namespace {

// The weight of the belief that the model is right, against that of an equal kernel (1). From
// leave-one-program-out on eight recorded programs: 0.03 and 1 are little different.
constexpr double kPrior = 0.2;
// What an operation counts at least, in seconds.
constexpr double kOperationSeconds = 20e-9;
constexpr double kTranscendentalCycles = 8;

}  // namespace

FusionOverlapModel::FusionOverlapModel(std::vector<double> costs)
    : costs_(std::move(costs)), known_with_(costs_.size()) {}

void FusionOverlapModel::Add(absl::Span<const int32_t> nodes, double error) {
  Known known;
  known.error = error;
  for (int32_t node : nodes) {
    known.cost += costs_[static_cast<size_t>(node)];
    known_with_[static_cast<size_t>(node)].push_back(static_cast<int32_t>(known_.size()));
  }
  known_.push_back(known);
}

void FusionOverlapModel::Clear() {
  known_.clear();
  for (std::vector<int32_t>& list : known_with_) list.clear();
}

double FusionOverlapModel::Correction(absl::Span<const int32_t> nodes) const {
  if (known_.empty()) return 0;
  double cost = 0;
  std::vector<std::pair<int32_t, double>> shared;  // known kernel, cost of a common node
  for (int32_t node : nodes) {
    const double of_node = costs_[static_cast<size_t>(node)];
    cost += of_node;
    for (int32_t index : known_with_[static_cast<size_t>(node)])
      shared.emplace_back(index, of_node);
  }
  std::sort(shared.begin(), shared.end());
  double weights = kPrior, errors = 0;
  for (size_t i = 0; i < shared.size();) {
    const int32_t index = shared[i].first;
    double common = 0;
    for (; i < shared.size() && shared[i].first == index; ++i) common += shared[i].second;
    const Known& known = known_[static_cast<size_t>(index)];
    const double overlap = common / (cost + known.cost - common);
    const double weight = overlap * overlap * overlap * overlap;
    weights += weight;
    errors += weight * known.error;
  }
  return errors / weights;
}

std::vector<double> OverlapWeights(const FusionGraph& graph, const DeviceSpec& device) {
  const CostAnalysis analysis(graph.module());
  const double lanes =
      static_cast<double>(device.vector_lanes * device.vector_sublanes) * device.clock_hz;
  std::vector<double> weights;
  weights.reserve(graph.nodes().size());
  for (const FusionNode& node : graph.nodes()) {
    double seconds = kOperationSeconds;
    if (!node.free) {
      const Cost& work = analysis.Of(*node.instruction);
      seconds += IsContraction(node.instruction->opcode())
                     ? work.flops / device.bf16_flops_per_second
                     : (work.flops + kTranscendentalCycles * work.transcendentals) / lanes;
      seconds +=
          static_cast<double>(node.instruction->shape().ByteSize()) / device.hbm_bytes_per_second;
    }
    weights.push_back(seconds);
  }
  return weights;
}

}  // namespace autotune
