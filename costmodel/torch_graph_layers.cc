#include "costmodel/torch_graph_layers.h"

#include <string>

namespace autotune {
namespace {

constexpr int64_t kHeads = 4;

template <typename T>
torch::Tensor CopyToTensor(const std::vector<T>& values, std::vector<int64_t> shape,
                           torch::Dtype type) {
  return torch::from_blob(const_cast<T*>(values.data()), shape, type).clone();
}

}  // namespace

GraphBatch MakeGraphBatch(const std::vector<const GraphView*>& graphs,
                          const NetworkOptions& options) {
  std::vector<int64_t> opcodes, sources, targets, graph_of_node, node_counts;
  std::vector<float> features, kernel_features;
  for (size_t g = 0; g < graphs.size(); ++g) {
    const GraphView& graph = *graphs[g];
    const auto first_node = static_cast<int64_t>(opcodes.size());
    opcodes.insert(opcodes.end(), graph.opcodes, graph.opcodes + graph.nodes);
    graph_of_node.insert(graph_of_node.end(), static_cast<size_t>(graph.nodes),
                         static_cast<int64_t>(g));
    node_counts.push_back(graph.nodes);
    features.insert(features.end(), graph.features,
                    graph.features + graph.nodes * options.node_features);
    for (int64_t e = 0; e < graph.edges; ++e) {
      sources.push_back(first_node + graph.sources[e]);
      targets.push_back(first_node + graph.targets[e]);
    }
    kernel_features.insert(kernel_features.end(), graph.kernel_features,
                           graph.kernel_features + options.kernel_features);
  }
  const auto nodes = static_cast<int64_t>(opcodes.size());
  const auto edges = static_cast<int64_t>(sources.size());
  const auto count = static_cast<int64_t>(graphs.size());
  return {CopyToTensor(opcodes, {nodes}, torch::kInt64),
          CopyToTensor(features, {nodes, options.node_features}, torch::kFloat32),
          CopyToTensor(sources, {edges}, torch::kInt64),
          CopyToTensor(targets, {edges}, torch::kInt64),
          CopyToTensor(graph_of_node, {nodes}, torch::kInt64),
          CopyToTensor(node_counts, {count}, torch::kInt64),
          CopyToTensor(kernel_features, {count, options.kernel_features}, torch::kFloat32)};
}

torch::Tensor GroupMean(const torch::Tensor& rows, const torch::Tensor& index, int64_t groups) {
  const torch::Tensor sums = torch::zeros({groups, rows.size(1)}).index_add(0, index, rows);
  const torch::Tensor counts =
      torch::zeros({groups}).index_add(0, index, torch::ones({rows.size(0)}));
  return sums / counts.clamp_min(1).unsqueeze(1);
}

torch::Tensor GroupMax(const torch::Tensor& rows, const torch::Tensor& sizes) {
  const auto* const begin = sizes.data_ptr<int64_t>();
  std::vector<torch::Tensor> largest;
  for (const torch::Tensor& group : rows.split_with_sizes({begin, begin + sizes.numel()})) {
    largest.push_back(group.amax(0));
  }
  return torch::stack(largest);
}

MessageLayerImpl::MessageLayerImpl(const NetworkOptions& options)
    : kind_(options.layer), direction_(options.direction) {
  const int64_t hidden = options.hidden;
  self_ = register_module("self", torch::nn::Linear(hidden, hidden));
  norm_ = register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({hidden})));
  const size_t directions = direction_ == EdgeDirection::kBidirectional ? 2 : 1;
  for (size_t d = 0; d < directions; ++d) {
    neighbour_.push_back(
        register_module("neighbour" + std::to_string(d), torch::nn::Linear(hidden, hidden)));
    if (kind_ != GraphLayer::kGat) continue;
    attention_.push_back(
        register_module("attention" + std::to_string(d), torch::nn::Linear(2 * hidden, kHeads)));
  }
}

torch::Tensor MessageLayerImpl::Messages(const torch::Tensor& nodes, const torch::Tensor& from,
                                         const torch::Tensor& to, size_t direction) {
  const torch::Tensor values = neighbour_[direction](nodes).index_select(0, from);
  if (kind_ == GraphLayer::kSage) return GroupMean(values, to, nodes.size(0));
  // Attention over the incoming edges of each node; the softmax is shifted by a bound of the scores
  // rather than by their maximum, which needs no second pass.
  const torch::Tensor pairs =
      torch::cat({nodes.index_select(0, from), nodes.index_select(0, to)}, 1);
  const torch::Tensor weights =
      torch::exp(5 * torch::tanh(attention_[direction](pairs)));  // [edges, heads]
  const torch::Tensor normaliser =
      torch::zeros({nodes.size(0), kHeads}).index_add(0, to, weights).clamp_min(1e-6);
  const torch::Tensor shares = weights / normaliser.index_select(0, to);
  const torch::Tensor heads =
      values.view({values.size(0), kHeads, values.size(1) / kHeads}) * shares.unsqueeze(2);
  return torch::zeros({nodes.size(0), nodes.size(1)}).index_add(0, to, heads.flatten(1));
}

torch::Tensor MessageLayerImpl::forward(const torch::Tensor& nodes, const GraphBatch& batch) {
  torch::Tensor sum = self_(nodes);
  switch (direction_) {
    case EdgeDirection::kDirected:
      sum = sum + Messages(nodes, batch.sources, batch.targets, 0);
      break;
    case EdgeDirection::kBidirectional:
      sum = sum + Messages(nodes, batch.sources, batch.targets, 0) +
            Messages(nodes, batch.targets, batch.sources, 1);
      break;
    case EdgeDirection::kUndirected:
      sum = sum + Messages(nodes, torch::cat({batch.sources, batch.targets}),
                           torch::cat({batch.targets, batch.sources}), 0);
      break;
  }
  return nodes + norm_(torch::relu(sum));
}

}  // namespace autotune
