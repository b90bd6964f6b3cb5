// A network's answer for one configuration of one kernel as plain matrix products. LibTorch takes
// some microseconds for every operation on tensors, whatever their size, and an ensemble of two
// needs some 250 of them, while the arithmetic on a kernel of a dozen operations takes less than
// ten such operations.

#ifndef AUTOTUNE_COSTMODEL_TORCH_DIRECT_NETWORK_H_
#define AUTOTUNE_COSTMODEL_TORCH_DIRECT_NETWORK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "costmodel/network.h"
#include "costmodel/torch_blas.h"
#include "costmodel/torch_rank_network.h"

namespace autotune {

// An ensemble's parameters as they were at a time. Immutable, thread-safe. Results depend on the
// input alone; they are those of RankNetwork but for rounding.
class DirectNetwork {
 public:
  // Null where the ensemble has no such form (it covers GraphSAGE or no graph layers, reductions by
  // mean and maximum or mean alone, and a late join without steps and attention) or the BLAS below
  // LibTorch does not show its products.
  static std::shared_ptr<const DirectNetwork> Create(const NetworkOptions& options,
                                                     const std::vector<RankNetwork>& members);

  // The mean of the members' residuals, in log-seconds; NaN for a graph without nodes or with an
  // opcode that the network does not have. REQUIRES: graph.config_nodes == 0.
  float Residual(const GraphView& graph, const float* config_features) const;

 private:
  // y = x * weight + bias.
  struct Linear {
    int64_t inputs = 0;
    int64_t outputs = 0;
    std::vector<float> weight;  // [inputs, outputs]
    std::vector<float> bias;    // [outputs]
  };
  // Of inputs: (x - mean) * factor, within +-4.
  struct Scaling {
    std::vector<float> mean, factor;
  };
  struct MessageLayer {
    Linear linear;  // for the node itself, and for messages of each direction, side by side
    std::vector<float> norm_weight, norm_bias;
  };
  struct Member {
    Scaling node_scaling, kernel_scaling, config_scaling;
    std::vector<float> opcode_rows;  // [opcodes, hidden]: what an opcode gives as input, with bias
    Linear node_input;               // of the features alone, without bias
    std::vector<MessageLayer> layers;
    Linear per_node;  // where options_.reduction is kPerNode
    Linear kernel_output;
    Linear kernel_terms;  // of all layers of the join, and the level
    std::vector<Linear> join_config;
    Linear output;
  };
  class Parameters;

  DirectNetwork(const NetworkOptions& options, SgemmFunction* product)
      : options_(options), product_(product) {}

  // [rows, features], scaled.
  static std::vector<float> Scale(const Scaling& scaling, const float* values, int64_t rows);
  static Member ReadMember(const NetworkOptions& options, RankNetwork network);
  // y [rows, outputs] of x [rows, inputs].
  void Apply(const Linear& linear, const float* x, int64_t rows, float* y) const;
  std::vector<float> EmbedNodes(const Member& member, const GraphView& graph) const;
  void PassMessages(const MessageLayer& layer, const GraphView& graph,
                    std::vector<float>* nodes) const;
  std::vector<float> Reduce(const Member& member, const std::vector<float>& nodes,
                            int64_t count) const;
  float MemberResidual(const Member& member, const GraphView& graph,
                       const float* config_features) const;

  NetworkOptions options_;
  SgemmFunction* product_;
  std::vector<Member> members_;
};

}  // namespace autotune

#endif  // AUTOTUNE_COSTMODEL_TORCH_DIRECT_NETWORK_H_
