#ifndef AUTOTUNE_COSTMODEL_TORCH_RANK_NETWORK_H_
#define AUTOTUNE_COSTMODEL_TORCH_RANK_NETWORK_H_

#include <torch/torch.h>

#include <string>
#include <vector>

#include "costmodel/network.h"
#include "costmodel/torch_graph_layers.h"

namespace autotune {

// What of a kernel the configurations are joined with, one row a kernel: [kernels, hidden] for each
// layer of the join, and at last its level [kernels, 1], a part of all its residuals.
using KernelTerms = std::vector<torch::Tensor>;

// The configuration at the nodes of a batch, for Join::kEarly; undefined for Join::kLate.
struct NodeConfigs {
  torch::Tensor rows;   // [any, config_features], unscaled
  torch::Tensor nodes;  // [any], int64: the node that each row is of
};

// The regularisation of one training step, drawn from a generator of its own: members are trained
// in parallel, and LibTorch's default generator is shared.
struct TrainingNoise {
  double dropout = 0;
  double feature_noise = 0;
  at::Generator generator;
};

// One member of the ensemble: opcodes and node features through graph layers to a kernel embedding,
// joined with the configuration by a small perceptron that gives the residual in log-seconds.
class RankNetworkImpl : public torch::nn::Module {
 public:
  static constexpr size_t kJoinLayers = 3;

  explicit RankNetworkImpl(const NetworkOptions& options);

  void SetScaling(const InputScaling& scaling);

  // Set for the length of a training step; null otherwise.
  void set_noise(TrainingNoise* noise) { noise_ = noise; }

  // [graphs, kernel_embedding]. For Join::kEarly `node_configs` is added to the nodes.
  torch::Tensor EncodeKernels(const GraphBatch& batch, const NodeConfigs& node_configs);

  // What the join needs of the embeddings [kernels, kernel_embedding].
  KernelTerms JoinTerms(const torch::Tensor& kernels);

  // What the join needs of configurations [configs, config_features], unscaled: scaled, with their
  // steps. The same for all members outside of training; what a member does not see has no weights.
  torch::Tensor ConfigInput(const torch::Tensor& configs) const;

  // The last hidden layer [configs, hidden]. `terms`: of one kernel, or a row for each
  // configuration; `input`: of ConfigInput, all of one kernel if the network attends across
  // configurations.
  torch::Tensor Hidden(const KernelTerms& terms, const torch::Tensor& input);

  // [configs], of the last hidden layer and the terms it came from.
  torch::Tensor Residuals(const torch::Tensor& hidden, const KernelTerms& terms);

 private:
  void MakeReduction();
  void MakeJoin();
  void ChooseConfigFeatures();
  torch::Tensor Reduce(const torch::Tensor& nodes, const GraphBatch& batch);
  torch::Tensor Padded(const torch::Tensor& nodes, const GraphBatch& batch, torch::Tensor* mask);
  torch::Tensor Scaled(const torch::Tensor& rows, const std::string& name) const;
  torch::Tensor Drop(const torch::Tensor& rows) const;

  NetworkOptions options_;
  torch::nn::Embedding opcode_embedding_{nullptr};
  torch::nn::Linear node_input_{nullptr};
  torch::nn::Linear node_config_{nullptr};
  std::vector<MessageLayer> layers_;
  torch::nn::LSTM lstm_{nullptr};
  torch::nn::TransformerEncoder transformer_{nullptr};
  torch::nn::Linear per_node_{nullptr};
  torch::nn::Linear kernel_output_{nullptr};
  std::vector<torch::nn::Linear> join_kernel_;
  std::vector<torch::nn::Linear> join_config_;
  torch::nn::MultiheadAttention config_attention_{nullptr};
  torch::nn::Linear output_{nullptr};
  torch::nn::Linear level_{nullptr};
  torch::Tensor seen_;  // 1 for each input of a configuration that is seen; undefined for all
  TrainingNoise* noise_ = nullptr;
};
TORCH_MODULE(RankNetwork);

// The loss of one kernel's configurations. `score` and `target` are log-seconds, [configs].
torch::Tensor KernelLoss(const TrainingOptions& options, const torch::Tensor& score,
                         const torch::Tensor& target);

}  // namespace autotune

#endif  // AUTOTUNE_COSTMODEL_TORCH_RANK_NETWORK_H_
