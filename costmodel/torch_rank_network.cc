#include "costmodel/torch_rank_network.h"

#include <functional>
#include <string>
#include <utility>

namespace autotune {
namespace {

constexpr int64_t kHeads = 4;
// A pair counts as told apart once its scores differ by about this many log-seconds.
constexpr double kMargin = 0.1;

torch::Tensor ToTensor(const std::vector<float>& values) {
  return torch::tensor(values, torch::kFloat32);
}

// Where the squared error of log time becomes a linear one.
constexpr double kShapeBeta = 0.1;
constexpr double kLevelBeta = 0.5;

// Standard deviations to both sides of the mean that the steps of a feature are spread over.
constexpr double kBinned = 2;

// Every pair that the truth tells apart, weighted by how far apart it is, up to a limit.
torch::Tensor PairLoss(const TrainingOptions& options, const torch::Tensor& score,
                       const torch::Tensor& target) {
  const torch::Tensor gap = target.unsqueeze(1) - target.unsqueeze(0);  // > 0: the row is slower
  torch::Tensor weight = gap.clamp(0, options.gap_limit);
  if (options.top_emphasis > 0) {
    // gap > 0: the column is the faster one of the pair.
    weight = weight * torch::exp(-options.top_emphasis * (target - target.min())).unsqueeze(0);
  }
  const torch::Tensor margin = score.unsqueeze(1) - score.unsqueeze(0);
  const torch::Tensor loss = options.loss == Loss::kHinge
                                 ? torch::relu(kMargin - margin) / kMargin
                                 : torch::nn::functional::softplus(-margin / kMargin);
  return (weight * loss).sum() / weight.sum().clamp_min(1e-6);
}

// Squared up to `beta`, then linear; the mean over the elements.
torch::Tensor RobustError(const torch::Tensor& error, double beta) {
  return torch::nn::functional::smooth_l1_loss(
      error, torch::zeros_like(error), torch::nn::functional::SmoothL1LossFuncOptions().beta(beta));
}

// The likelihood of the true order under a Plackett-Luce model of -score (Xia et al., "Listwise
// approach to learning to rank", 2008).
torch::Tensor ListLoss(const torch::Tensor& score, const torch::Tensor& target) {
  const torch::Tensor ordered = (-score / kMargin).index_select(0, target.argsort());
  return (ordered.flip(0).logcumsumexp(0).flip(0) - ordered).mean();
}

}  // namespace

RankNetworkImpl::RankNetworkImpl(const NetworkOptions& options) : options_(options) {
  using StaticFeatures = NetworkOptions::StaticFeatures;
  const int64_t hidden = options.hidden;
  const std::pair<const char*, int64_t> inputs[] = {{"node", options.node_features},
                                                    {"kernel", options.kernel_features},
                                                    {"config", options.config_features}};
  for (const auto& [name, size] : inputs) {
    register_buffer(std::string(name) + "_mean", torch::zeros({size}));
    register_buffer(std::string(name) + "_factor", torch::ones({size}));
  }
  opcode_embedding_ = register_module(
      "opcode_embedding", torch::nn::Embedding(options.opcodes, options.opcode_embedding));
  const int64_t at_nodes =
      options.static_features == StaticFeatures::kNode ? options.kernel_features : 0;
  node_input_ = register_module(
      "node_input",
      torch::nn::Linear(options.opcode_embedding + options.node_features + at_nodes, hidden));
  if (options.join == Join::kEarly) {
    const int64_t size = options.config_features * (1 + options.config_bins);
    node_config_ = register_module("node_config", torch::nn::Linear(size, hidden));
  }
  if (options.layer != GraphLayer::kNone) {
    for (int64_t i = 0; i < options.layers; ++i) {
      layers_.push_back(register_module("layer" + std::to_string(i), MessageLayer(options)));
    }
  }
  MakeReduction();
  MakeJoin();
  ChooseConfigFeatures();
}

// Inputs that are not seen have weights of 0, which stay so: in training the inputs are 0 too.
void RankNetworkImpl::ChooseConfigFeatures() {
  if (options_.config_share >= 1) return;
  torch::NoGradGuard no_grad;
  torch::Tensor seen = (torch::rand({options_.config_features}) < options_.config_share);
  if (!seen.any().item<bool>()) seen[0] = true;
  seen_ = seen.to(torch::kFloat32).repeat({1 + options_.config_bins});
  join_config_[0]->weight.mul_(seen_);
  if (!node_config_.is_empty()) node_config_->weight.mul_(seen_);
}

void RankNetworkImpl::MakeReduction() {
  const int64_t hidden = options_.hidden;
  int64_t reduced = hidden;
  switch (options_.reduction) {
    case Reduction::kPerNode:
      per_node_ = register_module("per_node", torch::nn::Linear(hidden, hidden));
      break;
    case Reduction::kColumnWise:
      reduced = 2 * hidden;
      break;
    case Reduction::kLstm:
      lstm_ = register_module(
          "lstm", torch::nn::LSTM(torch::nn::LSTMOptions(hidden, hidden).batch_first(true)));
      break;
    case Reduction::kTransformer:
      transformer_ = register_module(
          "transformer", torch::nn::TransformerEncoder(
                             torch::nn::TransformerEncoderLayer(
                                 torch::nn::TransformerEncoderLayerOptions(hidden, kHeads)
                                     .dim_feedforward(2 * hidden)
                                     .dropout(0)),
                             1));
      break;
  }
  const bool whole = options_.static_features == NetworkOptions::StaticFeatures::kKernel;
  kernel_output_ = register_module(
      "kernel_output", torch::nn::Linear(reduced + (whole ? options_.kernel_features : 0),
                                         options_.kernel_embedding));
}

void RankNetworkImpl::MakeJoin() {
  const int64_t hidden = options_.hidden;
  for (size_t i = 0; i < kJoinLayers; ++i) {
    const std::string number = std::to_string(i);
    const int64_t size = i == 0 ? options_.config_features * (1 + options_.config_bins) : hidden;
    join_kernel_.push_back(register_module("join_kernel" + number,
                                           torch::nn::Linear(options_.kernel_embedding, hidden)));
    join_config_.push_back(
        register_module("join_config" + number, torch::nn::Linear(size, hidden)));
  }
  if (options_.config_attention) {
    config_attention_ = register_module(
        "config_attention",
        torch::nn::MultiheadAttention(torch::nn::MultiheadAttentionOptions(hidden, kHeads)));
  }
  output_ = register_module("output", torch::nn::Linear(hidden, 1));
  level_ = register_module("level", torch::nn::Linear(options_.kernel_embedding, 1));
  // An untrained network predicts a residual of 0: the analytical order.
  torch::NoGradGuard no_grad;
  for (torch::nn::Linear& last : {std::ref(output_), std::ref(level_)}) {
    last->weight.zero_();
    last->bias.zero_();
  }
}

void RankNetworkImpl::SetScaling(const InputScaling& scaling) {
  torch::NoGradGuard no_grad;
  auto buffers = named_buffers(/*recurse=*/false);
  buffers["node_mean"].copy_(ToTensor(scaling.node_mean));
  buffers["node_factor"].copy_(ToTensor(scaling.node_factor));
  buffers["kernel_mean"].copy_(ToTensor(scaling.kernel_mean));
  buffers["kernel_factor"].copy_(ToTensor(scaling.kernel_factor));
  buffers["config_mean"].copy_(ToTensor(scaling.config_mean));
  buffers["config_factor"].copy_(ToTensor(scaling.config_factor));
}

// Clamped: a feature far from all that was trained on must not throw the prediction anywhere.
torch::Tensor RankNetworkImpl::Scaled(const torch::Tensor& rows, const std::string& name) const {
  const auto buffers = named_buffers(/*recurse=*/false);
  const torch::Tensor& factor = buffers[name + "_factor"];
  const torch::Tensor scaled = ((rows - buffers[name + "_mean"]) * factor).clamp(-4, 4);
  if (noise_ == nullptr || noise_->feature_noise <= 0) return scaled;
  return scaled +
         noise_->feature_noise * torch::randn(scaled.sizes(), noise_->generator) * (factor != 0);
}

// Scaled features, and of each its steps: from 0 to 1 over the equal parts of [-kBinned, kBinned].
torch::Tensor RankNetworkImpl::ConfigInput(const torch::Tensor& configs) const {
  const torch::Tensor scaled = Scaled(configs, "config");
  const int64_t bins = options_.config_bins;
  torch::Tensor input = scaled;
  if (bins > 0) {
    const torch::Tensor place = (scaled + kBinned) * (static_cast<double>(bins) / (2 * kBinned));
    std::vector<torch::Tensor> columns = {scaled};
    for (int64_t b = 0; b < bins; ++b) {
      columns.push_back((place - static_cast<double>(b)).clamp(0, 1));
    }
    input = torch::cat(columns, 1);
  }
  return noise_ != nullptr && seen_.defined() ? input * seen_ : input;
}

torch::Tensor RankNetworkImpl::Drop(const torch::Tensor& rows) const {
  if (noise_ == nullptr || noise_->dropout <= 0) return rows;
  const double kept = 1 - noise_->dropout;
  return rows * torch::empty_like(rows).bernoulli_(kept, noise_->generator) / kept;
}

torch::Tensor RankNetworkImpl::EncodeKernels(const GraphBatch& batch,
                                             const NodeConfigs& node_configs) {
  using StaticFeatures = NetworkOptions::StaticFeatures;
  const torch::Tensor kernel_features = Scaled(batch.kernel_features, "kernel");
  std::vector<torch::Tensor> columns = {opcode_embedding_(batch.opcodes),
                                        Scaled(batch.features, "node")};
  if (options_.static_features == StaticFeatures::kNode) {
    columns.push_back(kernel_features.index_select(0, batch.graph_of_node));
  }
  torch::Tensor input = node_input_(torch::cat(columns, 1));
  if (node_configs.rows.defined()) {
    input = input.index_add(0, node_configs.nodes, node_config_(ConfigInput(node_configs.rows)));
  }
  torch::Tensor nodes = torch::relu(input);
  for (MessageLayer& layer : layers_) nodes = layer(nodes, batch);
  torch::Tensor reduced = Reduce(nodes, batch);
  if (options_.static_features == StaticFeatures::kKernel) {
    reduced = torch::cat({reduced, kernel_features}, 1);
  }
  return Drop(torch::relu(kernel_output_(reduced)));
}

// [graphs, longest, hidden], and a mask that is true where there is no node.
torch::Tensor RankNetworkImpl::Padded(const torch::Tensor& nodes, const GraphBatch& batch,
                                      torch::Tensor* mask) {
  const int64_t graphs = batch.node_counts.size(0);
  const int64_t longest = batch.node_counts.max().item<int64_t>();
  const torch::Tensor first = batch.node_counts.cumsum(0) - batch.node_counts;
  const torch::Tensor position =
      torch::arange(nodes.size(0)) - first.index_select(0, batch.graph_of_node);
  const torch::Tensor slot = batch.graph_of_node * longest + position;
  *mask = torch::ones({graphs * longest}, torch::kBool).index_fill(0, slot, false);
  *mask = mask->view({graphs, longest});
  return torch::zeros({graphs * longest, nodes.size(1)})
      .index_add(0, slot, nodes)
      .view({graphs, longest, -1});
}

torch::Tensor RankNetworkImpl::Reduce(const torch::Tensor& nodes, const GraphBatch& batch) {
  const int64_t graphs = batch.node_counts.size(0);
  switch (options_.reduction) {
    case Reduction::kPerNode:
      return GroupMean(torch::relu(per_node_(nodes)), batch.graph_of_node, graphs);
    case Reduction::kColumnWise:
      return torch::cat(
          {GroupMean(nodes, batch.graph_of_node, graphs), GroupMax(nodes, batch.node_counts)}, 1);
    case Reduction::kLstm: {
      torch::Tensor mask;
      const torch::Tensor padded = Padded(nodes, batch, &mask);
      const auto packed = torch::nn::utils::rnn::pack_padded_sequence(
          padded, batch.node_counts, /*batch_first=*/true, /*enforce_sorted=*/false);
      return std::get<0>(std::get<1>(lstm_->forward_with_packed_input(packed)))[0];
    }
    case Reduction::kTransformer: {
      torch::Tensor mask;
      const torch::Tensor padded = Padded(nodes, batch, &mask);
      const torch::Tensor encoded =
          transformer_(padded.transpose(0, 1), torch::Tensor(), mask).transpose(0, 1);
      const torch::Tensor kept = encoded.masked_fill(mask.unsqueeze(2), 0).sum(1);
      return kept / batch.node_counts.unsqueeze(1);
    }
  }
  return torch::Tensor();
}

KernelTerms RankNetworkImpl::JoinTerms(const torch::Tensor& kernels) {
  KernelTerms terms;
  for (torch::nn::Linear& layer : join_kernel_) terms.push_back(layer(kernels));
  terms.push_back(level_(kernels));
  return terms;
}

torch::Tensor RankNetworkImpl::Hidden(const KernelTerms& terms, const torch::Tensor& input) {
  torch::Tensor hidden = torch::relu(terms[0] + join_config_[0](input));
  if (options_.config_attention) {
    const torch::Tensor sequence = hidden.unsqueeze(1);  // [configs, 1, hidden]
    hidden = hidden + std::get<0>(config_attention_(sequence, sequence, sequence)).squeeze(1);
  }
  for (size_t i = 1; i < kJoinLayers; ++i) {
    hidden = hidden + Drop(torch::relu(terms[i] + join_config_[i](hidden)));
  }
  return hidden;
}

torch::Tensor RankNetworkImpl::Residuals(const torch::Tensor& hidden, const KernelTerms& terms) {
  const torch::Tensor own =
      options_.residual_cap * torch::tanh(output_(hidden).squeeze(1) / options_.residual_cap);
  // Joined early, the embedding is of the configuration too, and nothing is left of the kernel
  // alone.
  return options_.join == Join::kEarly ? own : own + terms.back().squeeze(1);
}

torch::Tensor KernelLoss(const TrainingOptions& options, const torch::Tensor& score,
                         const torch::Tensor& target) {
  if (options.loss == Loss::kSquaredError) return (score - target).square().mean();
  const torch::Tensor error = score - target;
  const torch::Tensor level = error.mean();
  const torch::Tensor rank =
      options.loss == Loss::kListMle ? ListLoss(score, target) : PairLoss(options, score, target);
  return rank + options.squared_error_share * RobustError(error - level, kShapeBeta) / kShapeBeta +
         options.level_share * RobustError(level, kLevelBeta);
}

}  // namespace autotune
