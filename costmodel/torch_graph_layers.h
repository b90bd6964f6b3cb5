#ifndef AUTOTUNE_COSTMODEL_TORCH_GRAPH_LAYERS_H_
#define AUTOTUNE_COSTMODEL_TORCH_GRAPH_LAYERS_H_

#include <torch/torch.h>

#include <cstdint>
#include <vector>

#include "costmodel/network.h"

namespace autotune {

// Several kernels as one graph without edges between them.
struct GraphBatch {
  torch::Tensor opcodes;          // [nodes], int64
  torch::Tensor features;         // [nodes, node_features]
  torch::Tensor sources;          // [edges], int64
  torch::Tensor targets;          // [edges], int64
  torch::Tensor graph_of_node;    // [nodes], int64, ascending
  torch::Tensor node_counts;      // [graphs], int64
  torch::Tensor kernel_features;  // [graphs, kernel_features]
};

GraphBatch MakeGraphBatch(const std::vector<const GraphView*>& graphs,
                          const NetworkOptions& options);

// The mean over each group of rows: rows[i] goes to group index[i]. An empty group gives zeros.
torch::Tensor GroupMean(const torch::Tensor& rows, const torch::Tensor& index, int64_t groups);
// The largest of each group, column by column: consecutive rows, sizes[g] >= 1 of them in group g.
torch::Tensor GroupMax(const torch::Tensor& rows, const torch::Tensor& sizes);

// One round of messages with a residual connection: GraphSAGE (Hamilton et al., 2017) with mean
// aggregation, or graph attention (Velickovic et al., 2018) with four heads.
class MessageLayerImpl : public torch::nn::Module {
 public:
  explicit MessageLayerImpl(const NetworkOptions& options);

  // nodes: [nodes, hidden]; the result has the same shape.
  torch::Tensor forward(const torch::Tensor& nodes, const GraphBatch& batch);

 private:
  torch::Tensor Messages(const torch::Tensor& nodes, const torch::Tensor& from,
                         const torch::Tensor& to, size_t direction);

  GraphLayer kind_;
  EdgeDirection direction_;
  torch::nn::Linear self_{nullptr};
  std::vector<torch::nn::Linear> neighbour_;
  std::vector<torch::nn::Linear> attention_;
  torch::nn::LayerNorm norm_{nullptr};
};
TORCH_MODULE(MessageLayer);

}  // namespace autotune

#endif  // AUTOTUNE_COSTMODEL_TORCH_GRAPH_LAYERS_H_
