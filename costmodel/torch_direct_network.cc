#include "costmodel/torch_direct_network.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

namespace autotune {
namespace {

constexpr float kLargestInput = 4;     // as RankNetworkImpl::Scaled
constexpr float kNormEpsilon = 1e-5f;  // torch::nn::LayerNormOptions

std::vector<float> Copy(const torch::Tensor& tensor) {
  const torch::Tensor rows = tensor.detach().contiguous();
  return std::vector<float>(rows.data_ptr<float>(), rows.data_ptr<float>() + rows.numel());
}

// As torch::relu, which keeps what is no number.
void Relu(std::vector<float>* values) {
  for (float& value : *values) value = value < 0 ? 0 : value;
}

bool HasDirectForm(const NetworkOptions& options) {
  return options.layer != GraphLayer::kGat &&
         (options.reduction == Reduction::kColumnWise ||
          options.reduction == Reduction::kPerNode) &&
         options.join == Join::kLate && !options.config_attention && options.config_bins == 0 &&
         options.static_features != NetworkOptions::StaticFeatures::kNode;
}

void AddRow(const float* __restrict row, int64_t width, float* __restrict sum) {
  for (int64_t c = 0; c < width; ++c) sum[c] += row[c];
}

// The mean, for each node, of the messages along the edges to it, added to `sums`. Node i's message
// begins at messages + i * stride.
void AddMeans(const int32_t* from, const int32_t* to, int64_t edges, const float* messages,
              int64_t stride, int64_t nodes, int64_t width, std::vector<float>* sums) {
  std::vector<float> totals(static_cast<size_t>(nodes * width));
  std::vector<int32_t> counts(static_cast<size_t>(nodes));
  for (int64_t e = 0; e < edges; ++e) {
    ++counts[static_cast<size_t>(to[e])];
    AddRow(messages + from[e] * stride, width, totals.data() + to[e] * width);
  }
  for (int64_t node = 0; node < nodes; ++node) {
    const int32_t count = counts[static_cast<size_t>(node)];
    if (count == 0) continue;
    float* const total = totals.data() + node * width;
    const auto edges_to = static_cast<float>(count);
    for (int64_t c = 0; c < width; ++c) total[c] /= edges_to;
    AddRow(total, width, sums->data() + node * width);
  }
}

// The sum of (row[c] - centre)^power for a power of 1 or 2, in four parts, as the order of a sum is
// the compiler's to keep. REQUIRES: 4 divides the width, as it does all hidden sizes.
template <int power>
float SumOf(const float* row, size_t width, float centre) {
  float parts[4] = {};
  for (size_t c = 0; c < width; c += 4) {
    for (size_t lane = 0; lane < 4; ++lane) {
      const float value = row[c + lane] - centre;
      parts[lane] += power == 1 ? value : value * value;
    }
  }
  return (parts[0] + parts[1]) + (parts[2] + parts[3]);
}

// Adds the layer norm of each row of `rows`, with weight and bias, to that of `nodes`.
void AddNormed(const std::vector<float>& rows, const std::vector<float>& weight,
               const std::vector<float>& bias, std::vector<float>* nodes) {
  const size_t width = weight.size();
  for (size_t first = 0; first < rows.size(); first += width) {
    const float* __restrict const row = rows.data() + first;
    const float mean = SumOf<1>(row, width, 0) / static_cast<float>(width);
    const float variance = SumOf<2>(row, width, mean) / static_cast<float>(width);
    const float factor = 1 / std::sqrt(variance + kNormEpsilon);
    float* __restrict const node = nodes->data() + first;
    for (size_t c = 0; c < width; ++c) node[c] += (row[c] - mean) * factor * weight[c] + bias[c];
  }
}

}  // namespace

// The parameters and buffers of a member by name.
class DirectNetwork::Parameters {
 public:
  explicit Parameters(RankNetwork& network)
      : parameters_(network->named_parameters()), buffers_(network->named_buffers()) {}

  torch::Tensor Of(const std::string& name) const { return parameters_[name].detach(); }

  Linear LinearOf(const std::vector<std::string>& names) const {
    std::vector<torch::Tensor> weights, biases;
    for (const std::string& name : names) {
      weights.push_back(Of(name + ".weight"));
      biases.push_back(Of(name + ".bias"));
    }
    const torch::Tensor weight = torch::cat(weights);
    return {weight.size(1), weight.size(0), Copy(weight.t()), Copy(torch::cat(biases))};
  }

  Scaling ScalingOf(const std::string& name) const {
    return {Copy(buffers_[name + "_mean"]), Copy(buffers_[name + "_factor"])};
  }

 private:
  torch::OrderedDict<std::string, torch::Tensor> parameters_, buffers_;
};

DirectNetwork::Member DirectNetwork::ReadMember(const NetworkOptions& options,
                                                RankNetwork network) {
  const Parameters parameters(network);
  Member member;
  member.node_scaling = parameters.ScalingOf("node");
  member.kernel_scaling = parameters.ScalingOf("kernel");
  member.config_scaling = parameters.ScalingOf("config");
  const int64_t embedding = options.opcode_embedding;
  const torch::Tensor input = parameters.Of("node_input.weight");  // [hidden, inputs]
  member.opcode_rows =
      Copy(torch::addmm(parameters.Of("node_input.bias"), parameters.Of("opcode_embedding.weight"),
                        input.slice(1, 0, embedding).t()));
  member.node_input = {
      options.node_features, options.hidden, Copy(input.slice(1, embedding).t()), {}};
  const int64_t layers = options.layer == GraphLayer::kNone ? 0 : options.layers;
  for (int64_t i = 0; i < layers; ++i) {
    const std::string name = "layer" + std::to_string(i);
    std::vector<std::string> parts = {name + ".self", name + ".neighbour0"};
    if (options.direction == EdgeDirection::kBidirectional) parts.push_back(name + ".neighbour1");
    member.layers.push_back({parameters.LinearOf(parts), Copy(parameters.Of(name + ".norm.weight")),
                             Copy(parameters.Of(name + ".norm.bias"))});
  }
  if (options.reduction == Reduction::kPerNode) member.per_node = parameters.LinearOf({"per_node"});
  member.kernel_output = parameters.LinearOf({"kernel_output"});
  std::vector<std::string> terms;
  for (size_t i = 0; i < RankNetworkImpl::kJoinLayers; ++i) {
    terms.push_back("join_kernel" + std::to_string(i));
    member.join_config.push_back(parameters.LinearOf({"join_config" + std::to_string(i)}));
  }
  terms.push_back("level");
  member.kernel_terms = parameters.LinearOf(terms);
  member.output = parameters.LinearOf({"output"});
  return member;
}

std::shared_ptr<const DirectNetwork> DirectNetwork::Create(
    const NetworkOptions& options, const std::vector<RankNetwork>& members) {
  SgemmFunction* const product = FindSgemm();
  if (product == nullptr || !HasDirectForm(options)) return nullptr;
  torch::NoGradGuard no_grad;
  const std::shared_ptr<DirectNetwork> network(new DirectNetwork(options, product));
  for (const RankNetwork& member : members) {
    network->members_.push_back(ReadMember(options, member));
  }
  return network;
}

void DirectNetwork::Apply(const Linear& linear, const float* x, int64_t rows, float* y) const {
  // A bias is there, or y is added to as it is.
  for (int64_t row = 0; row < rows && !linear.bias.empty(); ++row) {
    std::copy(linear.bias.begin(), linear.bias.end(), y + row * linear.outputs);
  }
  // The BLAS counts by columns, so these are the transposed matrices.
  const auto m = static_cast<int>(linear.outputs);
  const auto n = static_cast<int>(rows);
  const auto k = static_cast<int>(linear.inputs);
  const float one = 1;
  product_("n", "n", &m, &n, &k, &one, linear.weight.data(), &m, x, &k, &one, y, &m);
}

std::vector<float> DirectNetwork::Scale(const Scaling& scaling, const float* values, int64_t rows) {
  const size_t width = scaling.mean.size();
  std::vector<float> scaled(width * static_cast<size_t>(rows));
  for (size_t first = 0; first < scaled.size(); first += width) {
    for (size_t i = 0; i < width; ++i) {
      scaled[first + i] = std::clamp((values[first + i] - scaling.mean[i]) * scaling.factor[i],
                                     -kLargestInput, kLargestInput);
    }
  }
  return scaled;
}

std::vector<float> DirectNetwork::EmbedNodes(const Member& member, const GraphView& graph) const {
  const int64_t width = options_.hidden;
  const std::vector<float> features = Scale(member.node_scaling, graph.features, graph.nodes);
  std::vector<float> nodes(static_cast<size_t>(graph.nodes * width));
  for (int64_t i = 0; i < graph.nodes; ++i) {
    std::copy_n(member.opcode_rows.data() + graph.opcodes[i] * width, width,
                nodes.data() + i * width);
  }
  Apply(member.node_input, features.data(), graph.nodes, nodes.data());
  Relu(&nodes);
  return nodes;
}

void DirectNetwork::PassMessages(const MessageLayer& layer, const GraphView& graph,
                                 std::vector<float>* nodes) const {
  const int64_t width = options_.hidden;
  const int64_t stride = layer.linear.outputs;
  std::vector<float> all(static_cast<size_t>(graph.nodes * stride));
  Apply(layer.linear, nodes->data(), graph.nodes, all.data());
  std::vector<float> sums(nodes->size());
  for (int64_t i = 0; i < graph.nodes; ++i) {
    std::copy_n(all.data() + i * stride, width, sums.data() + i * width);
  }
  const auto add = [&](const int32_t* from, const int32_t* to, int64_t edges, int64_t direction) {
    AddMeans(from, to, edges, all.data() + (1 + direction) * width, stride, graph.nodes, width,
             &sums);
  };
  if (options_.direction == EdgeDirection::kUndirected) {
    std::vector<int32_t> from(graph.sources, graph.sources + graph.edges);
    std::vector<int32_t> to(graph.targets, graph.targets + graph.edges);
    from.insert(from.end(), graph.targets, graph.targets + graph.edges);
    to.insert(to.end(), graph.sources, graph.sources + graph.edges);
    add(from.data(), to.data(), 2 * graph.edges, 0);
  } else {
    add(graph.sources, graph.targets, graph.edges, 0);
    if (options_.direction == EdgeDirection::kBidirectional) {
      add(graph.targets, graph.sources, graph.edges, 1);
    }
  }
  Relu(&sums);
  AddNormed(sums, layer.norm_weight, layer.norm_bias, nodes);
}

std::vector<float> DirectNetwork::Reduce(const Member& member, const std::vector<float>& nodes,
                                         int64_t count) const {
  const auto width = static_cast<size_t>(options_.hidden);
  const bool with_largest = options_.reduction == Reduction::kColumnWise;
  std::vector<float> rows;
  if (!with_largest) {
    rows.resize(nodes.size());
    Apply(member.per_node, nodes.data(), count, rows.data());
    Relu(&rows);
  }
  const std::vector<float>& from = with_largest ? nodes : rows;
  std::vector<float> reduced(with_largest ? 2 * width : width);
  for (size_t c = 0; c < width; ++c) {
    float sum = 0, largest = from[c];
    for (size_t i = c; i < from.size(); i += width) {
      sum += from[i];
      largest = std::max(largest, from[i]);
    }
    reduced[c] = sum / static_cast<float>(count);
    if (with_largest) reduced[width + c] = largest;
  }
  return reduced;
}

float DirectNetwork::MemberResidual(const Member& member, const GraphView& graph,
                                    const float* config_features) const {
  const int64_t width = options_.hidden;
  std::vector<float> nodes = EmbedNodes(member, graph);
  for (const MessageLayer& layer : member.layers) PassMessages(layer, graph, &nodes);
  std::vector<float> reduced = Reduce(member, nodes, graph.nodes);
  if (options_.static_features == NetworkOptions::StaticFeatures::kKernel) {
    const std::vector<float> features = Scale(member.kernel_scaling, graph.kernel_features, 1);
    reduced.insert(reduced.end(), features.begin(), features.end());
  }
  std::vector<float> kernel(static_cast<size_t>(options_.kernel_embedding));
  Apply(member.kernel_output, reduced.data(), 1, kernel.data());
  Relu(&kernel);
  std::vector<float> terms(static_cast<size_t>(member.kernel_terms.outputs));
  Apply(member.kernel_terms, kernel.data(), 1, terms.data());
  std::vector<float> hidden(static_cast<size_t>(width));
  std::vector<float> input = Scale(member.config_scaling, config_features, 1);
  for (size_t layer = 0; layer < member.join_config.size(); ++layer) {
    std::vector<float> next(static_cast<size_t>(width));
    Apply(member.join_config[layer], input.data(), 1, next.data());
    const float* term = terms.data() + static_cast<int64_t>(layer) * width;
    for (size_t c = 0; c < next.size(); ++c) next[c] += term[c];
    Relu(&next);
    for (size_t c = 0; c < next.size(); ++c) hidden[c] += next[c];
    input = hidden;
  }
  float score = 0;
  Apply(member.output, hidden.data(), 1, &score);
  const auto cap = static_cast<float>(options_.residual_cap);
  return cap * std::tanh(score / cap) + terms.back();
}

float DirectNetwork::Residual(const GraphView& graph, const float* config_features) const {
  const bool known =
      std::all_of(graph.opcodes, graph.opcodes + graph.nodes,
                  [this](int32_t opcode) { return opcode >= 0 && opcode < options_.opcodes; });
  if (graph.nodes == 0 || !known) return std::numeric_limits<float>::quiet_NaN();
  const BlasGuard guard;
  float sum = 0;
  for (const Member& member : members_) sum += MemberResidual(member, graph, config_features);
  return sum / static_cast<float>(members_.size());
}

}  // namespace autotune
