// libautotune_torch.so: the ensemble of networks behind the Network interface.

#include <torch/torch.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <optional>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "costmodel/network.h"
#include "costmodel/torch_blas.h"
#include "costmodel/torch_direct_network.h"
#include "costmodel/torch_graph_layers.h"
#include "costmodel/torch_rank_network.h"

namespace autotune {
namespace {

// Rows that one call of the perceptron scores: few enough to stay in cache. Always exactly as many
// (the rest is padding), so that a row's result does not depend on how many others there are.
constexpr int64_t kScoreRows = 256;
constexpr int64_t kEarlyScoreRows = 16;

torch::Tensor ViewRows(const float* rows, int64_t count, int64_t width) {
  // Only read: LibTorch has no tensors of const data.
  return torch::from_blob(const_cast<float*>(rows), {count, width}, torch::kFloat32);
}

torch::Tensor ViewColumn(const float* values, int64_t count) {
  return torch::from_blob(const_cast<float*>(values), {count}, torch::kFloat32);
}

// Of the parameters and buffers, in their order.
std::vector<std::vector<int64_t>> Shapes(const RankNetworkImpl& network) {
  std::vector<std::vector<int64_t>> shapes;
  for (const torch::Tensor& tensor : network.parameters()) shapes.push_back(tensor.sizes().vec());
  for (const torch::Tensor& tensor : network.buffers()) shapes.push_back(tensor.sizes().vec());
  return shapes;
}

bool AllFinite(const RankNetworkImpl& network) {
  const auto finite = [](const torch::Tensor& tensor) {
    return torch::isfinite(tensor).all().item<bool>();
  };
  const std::vector<torch::Tensor> parameters = network.parameters(), buffers = network.buffers();
  return std::all_of(parameters.begin(), parameters.end(), finite) &&
         std::all_of(buffers.begin(), buffers.end(), finite);
}

// LibTorch's own errors come with a backtrace of its functions.
std::string MessageOf(const std::exception& exception) {
  const auto* of_torch = dynamic_cast<const c10::Error*>(&exception);
  return of_torch != nullptr ? of_torch->what_without_backtrace() : exception.what();
}

class TorchNetwork final : public Network {
 public:
  explicit TorchNetwork(const NetworkOptions& options) : options_(options) {
    for (int64_t m = 0; m < options.members; ++m) {
      torch::manual_seed(options.seed * 1000003 + static_cast<uint64_t>(m));
      members_.emplace_back(options);
    }
    optimizers_.resize(members_.size());
    saved_optimizers_.resize(members_.size());
  }

  const NetworkOptions& options() const override { return options_; }

  int64_t ParameterCount() const override {
    int64_t count = 0;
    for (const RankNetwork& member : members_) {
      for (const torch::Tensor& parameter : member->parameters()) count += parameter.numel();
    }
    return count;
  }

  void SetScaling(const InputScaling& scaling) override {
    ForgetDirect();
    for (RankNetwork& member : members_) member->SetScaling(scaling);
  }

  double TrainStep(int64_t m, const std::vector<TrainingKernel>& batch,
                   const TrainingOptions& options, std::string* error) override try {
    ForgetDirect();
    const BlasGuard guard;
    const auto member = static_cast<size_t>(m);
    torch::optim::AdamW& optimizer = Optimizer(member, options);
    optimizer.zero_grad();
    TrainingNoise noise{options.dropout, options.feature_noise,
                        at::detail::createCPUGenerator(options.noise_seed)};
    members_[member]->set_noise(&noise);
    torch::Tensor loss = BatchLoss(members_[member], batch, options);
    members_[member]->set_noise(nullptr);
    loss.backward();
    torch::nn::utils::clip_grad_norm_(members_[member]->parameters(), 1.0);
    optimizer.step();
    return loss.item<double>();
  } catch (const std::exception& exception) {
    members_[static_cast<size_t>(m)]->set_noise(nullptr);
    *error = MessageOf(exception);
    return std::numeric_limits<double>::quiet_NaN();
  }

  KernelEmbedding Encode(const GraphView& graph) const override try {
    if (options_.join == Join::kEarly) return {};
    const BlasGuard guard;
    torch::NoGradGuard no_grad;
    const GraphBatch batch = MakeGraphBatch({&graph}, options_);
    KernelEmbedding embedding;
    for (RankNetwork member : members_) {
      const KernelTerms terms = member->JoinTerms(member->EncodeKernels(batch, NodeConfigs()));
      for (const torch::Tensor& term : terms) {
        const torch::Tensor row = term.contiguous();
        embedding.insert(embedding.end(), row.data_ptr<float>(),
                         row.data_ptr<float>() + row.numel());
      }
    }
    return embedding;
  } catch (const std::exception&) {
    const int64_t width = static_cast<int64_t>(RankNetworkImpl::kJoinLayers) * options_.hidden + 1;
    return KernelEmbedding(members_.size() * static_cast<size_t>(width),
                           std::numeric_limits<float>::quiet_NaN());
  }

  void Score(const GraphView& graph, const KernelEmbedding& embedding, const float* config_features,
             int64_t count, float* residual, float* spread, float* activations) const override try {
    torch::NoGradGuard no_grad;
    const auto width = static_cast<int64_t>(members_.size()) * options_.hidden;
    const auto score_chunk = [&](const torch::Tensor& configs, int64_t first, int64_t rows) {
      std::vector<torch::Tensor> scores;
      std::vector<torch::Tensor> columns;
      RankNetwork any = members_.front();
      const torch::Tensor input = any->ConfigInput(OfKernel(graph, configs));
      for (size_t m = 0; m < members_.size(); ++m) {
        RankNetwork member = members_[m];
        const KernelTerms terms = MemberTerms(m, graph, embedding, configs);
        const torch::Tensor hidden = member->Hidden(terms, input);
        scores.push_back(member->Residuals(hidden, terms).contiguous());
        if (activations != nullptr) columns.push_back(hidden);
      }
      Combine(scores, rows, residual + first, spread == nullptr ? nullptr : spread + first);
      if (activations == nullptr) return;
      const torch::Tensor all = torch::cat(columns, 1).contiguous();
      std::copy_n(all.data_ptr<float>(), rows * width, activations + first * width);
    };
    ForEachChunk(config_features, count, ConfigWidth(graph), score_chunk);
  } catch (const std::exception&) {
    std::fill_n(residual, count, std::numeric_limits<float>::quiet_NaN());
  }

  float ScoreOnce(const GraphView& graph, const float* config_features) const override try {
    if (const auto direct = Direct()) return direct->Residual(graph, config_features);
    float residual = 0;
    Score(graph, Encode(graph), config_features, 1, &residual, nullptr, nullptr);
    return residual;
  } catch (const std::exception&) {
    return std::numeric_limits<float>::quiet_NaN();
  }

  std::string Save(bool with_optimizer) const override {
    torch::serialize::OutputArchive archive;
    archive.write("members", torch::tensor(static_cast<int64_t>(members_.size())));
    for (size_t m = 0; m < members_.size(); ++m) {
      torch::serialize::OutputArchive member;
      members_[m]->save(member);
      archive.write("member" + std::to_string(m), member);
      if (!with_optimizer || optimizers_[m] == nullptr) continue;
      torch::serialize::OutputArchive optimizer;
      optimizers_[m]->save(optimizer);
      archive.write("optimizer" + std::to_string(m), optimizer);
    }
    std::ostringstream out;
    archive.save_to(out);
    return out.str();
  }

  bool Load(const std::string& bytes, std::string* error) override try {
    ForgetDirect();
    std::istringstream in(bytes);
    torch::serialize::InputArchive archive;
    archive.load_from(in);
    torch::Tensor count;
    archive.read("members", count);
    if (count.item<int64_t>() != static_cast<int64_t>(members_.size())) {
      *error = "the weights are of an ensemble of another size";
      return false;
    }
    for (size_t m = 0; m < members_.size(); ++m) {
      torch::serialize::InputArchive member;
      archive.read("member" + std::to_string(m), member);
      const std::vector<std::vector<int64_t>> shapes = Shapes(*members_[m]);
      members_[m]->load(member);  // takes tensors of any shape
      if (Shapes(*members_[m]) != shapes) {
        *error = "the weights are of a network of other options";
        return false;
      }
      if (!AllFinite(*members_[m])) {
        *error = "a weight is no number";
        return false;
      }
      optimizers_[m] = nullptr;
      auto optimizer = std::make_shared<torch::serialize::InputArchive>();
      const bool has = archive.try_read("optimizer" + std::to_string(m), *optimizer);
      saved_optimizers_[m] = has ? std::move(optimizer) : nullptr;
    }
    return true;
  } catch (const std::exception& exception) {
    *error = MessageOf(exception);
    return false;
  }

 private:
  // The parameters as they are now, in the form for ScoreOnce; null if they have none.
  std::shared_ptr<const DirectNetwork> Direct() const {
    const std::lock_guard<std::mutex> lock(direct_mutex_);
    if (!direct_) direct_ = DirectNetwork::Create(options_, members_);
    return *direct_;
  }

  // Before parameters change.
  void ForgetDirect() {
    const std::lock_guard<std::mutex> lock(direct_mutex_);
    direct_.reset();
  }

  torch::optim::AdamW& Optimizer(size_t m, const TrainingOptions& options) {
    if (optimizers_[m] == nullptr) {
      optimizers_[m] = std::make_unique<torch::optim::AdamW>(
          members_[m]->parameters(),
          torch::optim::AdamWOptions(options.learning_rate).weight_decay(options.weight_decay));
      if (saved_optimizers_[m] != nullptr) optimizers_[m]->load(*saved_optimizers_[m]);
      saved_optimizers_[m] = nullptr;
    }
    for (torch::optim::OptimizerParamGroup& group : optimizers_[m]->param_groups()) {
      static_cast<torch::optim::AdamWOptions&>(group.options()).lr(options.learning_rate);
    }
    return *optimizers_[m];
  }

  torch::Tensor BatchLoss(RankNetwork& network, const std::vector<TrainingKernel>& batch,
                          const TrainingOptions& options) const {
    torch::Tensor kernels;
    if (options_.join == Join::kLate) {
      std::vector<const GraphView*> graphs;
      graphs.reserve(batch.size());
      for (const TrainingKernel& kernel : batch) graphs.push_back(&kernel.graph);
      kernels = network->EncodeKernels(MakeGraphBatch(graphs, options_), NodeConfigs());
    }
    // Late join: the configurations of all kernels at once. Early: kernel by kernel.
    std::vector<torch::Tensor> scores;
    if (options_.join == Join::kLate && !options_.config_attention) {
      scores = LateScores(network, kernels, batch);
    } else {
      for (size_t k = 0; k < batch.size(); ++k) {
        const GraphView& graph = batch[k].graph;
        const torch::Tensor configs =
            ViewRows(batch[k].config_features, batch[k].configs, ConfigWidth(graph));
        const torch::Tensor embedded = options_.join == Join::kEarly
                                           ? EncodeEarly(network, graph, configs)
                                           : kernels[static_cast<int64_t>(k)].unsqueeze(0);
        const KernelTerms terms = network->JoinTerms(embedded);
        const torch::Tensor hidden =
            network->Hidden(terms, network->ConfigInput(OfKernel(graph, configs)));
        scores.push_back(network->Residuals(hidden, terms));
      }
    }
    torch::Tensor total = torch::zeros({});
    for (size_t k = 0; k < batch.size(); ++k) {
      total = total + KernelLoss(options, scores[k] + ViewColumn(batch[k].base, batch[k].configs),
                                 ViewColumn(batch[k].target, batch[k].configs));
    }
    return total / static_cast<double>(batch.size());
  }

  std::vector<torch::Tensor> LateScores(RankNetwork& network, const torch::Tensor& kernels,
                                        const std::vector<TrainingKernel>& batch) const {
    std::vector<int64_t> sizes, kernel_of;
    std::vector<torch::Tensor> rows;
    for (size_t k = 0; k < batch.size(); ++k) {
      sizes.push_back(batch[k].configs);
      kernel_of.insert(kernel_of.end(), static_cast<size_t>(batch[k].configs),
                       static_cast<int64_t>(k));
      const GraphView& graph = batch[k].graph;
      rows.push_back(OfKernel(
          graph, ViewRows(batch[k].config_features, batch[k].configs, ConfigWidth(graph))));
    }
    KernelTerms terms = network->JoinTerms(kernels);
    const torch::Tensor index = torch::tensor(kernel_of, torch::kInt64);
    for (torch::Tensor& term : terms) term = term.index_select(0, index);
    const torch::Tensor all =
        network->Residuals(network->Hidden(terms, network->ConfigInput(torch::cat(rows))), terms);
    return all.split_with_sizes(sizes);
  }

  int64_t ConfigWidth(const GraphView& graph) const {
    return options_.config_features * std::max<int64_t>(1, graph.config_nodes);
  }

  // [configs, config_features]: what is of single nodes enters the join as its mean.
  torch::Tensor OfKernel(const GraphView& graph, const torch::Tensor& configs) const {
    if (graph.config_nodes == 0) return configs;
    return configs.view({configs.size(0), graph.config_nodes, options_.config_features}).mean(1);
  }

  // The kernel once for each configuration, with the configuration at every node, or at those that
  // it is of.
  torch::Tensor EncodeEarly(RankNetwork& network, const GraphView& graph,
                            const torch::Tensor& configs) const {
    const std::vector<const GraphView*> copies(static_cast<size_t>(configs.size(0)), &graph);
    const GraphBatch batch = MakeGraphBatch(copies, options_);
    if (graph.config_nodes == 0) {
      return network->EncodeKernels(batch, {configs.index_select(0, batch.graph_of_node),
                                            torch::arange(batch.graph_of_node.size(0))});
    }
    const std::vector<int64_t> ids(graph.config_node_ids,
                                   graph.config_node_ids + graph.config_nodes);
    const torch::Tensor first = torch::arange(configs.size(0)).unsqueeze(1) * graph.nodes;
    const torch::Tensor nodes = (first + torch::tensor(ids, torch::kInt64)).flatten();
    return network->EncodeKernels(batch, {configs.view({-1, options_.config_features}), nodes});
  }

  // Calls `work` with blocks of configurations, the position of the first and how many count.
  template <typename Work>
  void ForEachChunk(const float* config_features, int64_t count, int64_t width,
                    const Work& work) const {
    // Configurations that see each other have to be scored together.
    const int64_t chunk = options_.config_attention       ? std::max<int64_t>(1, count)
                          : options_.join == Join::kEarly ? kEarlyScoreRows
                                                          : kScoreRows;
    std::vector<float> padded;
    for (int64_t first = 0; first < count; first += chunk) {
      const int64_t rows = std::min(chunk, count - first);
      const float* begin = config_features + first * width;
      if (rows < chunk) {
        padded.assign(static_cast<size_t>(chunk * width), 0.0f);
        std::copy_n(begin, rows * width, padded.begin());
        begin = padded.data();
      }
      const BlasGuard guard;
      work(ViewRows(begin, chunk, width), first, rows);
    }
  }

  KernelTerms MemberTerms(size_t m, const GraphView& graph, const KernelEmbedding& embedding,
                          const torch::Tensor& configs) const {
    RankNetwork network = members_[m];
    if (options_.join == Join::kEarly) {
      return network->JoinTerms(EncodeEarly(network, graph, configs));
    }
    // As Encode laid them out.
    KernelTerms terms;
    const auto layers = static_cast<int64_t>(RankNetworkImpl::kJoinLayers);
    const float* next = embedding.data() + static_cast<int64_t>(m) * (layers * options_.hidden + 1);
    for (int64_t i = 0; i <= layers; ++i) {
      const int64_t width = i < layers ? options_.hidden : 1;
      terms.push_back(ViewRows(next, 1, width));
      next += width;
    }
    return terms;
  }

  static void Combine(const std::vector<torch::Tensor>& scores, int64_t rows, float* mean,
                      float* spread) {
    const auto members = static_cast<float>(scores.size());
    for (int64_t i = 0; i < rows; ++i) {
      float sum = 0, squares = 0;
      for (const torch::Tensor& score : scores) {
        const float value = score.data_ptr<float>()[i];
        sum += value;
        squares += value * value;
      }
      mean[i] = sum / members;
      if (spread != nullptr) {
        spread[i] = std::sqrt(std::max(0.0f, squares / members - mean[i] * mean[i]));
      }
    }
  }

  NetworkOptions options_;
  std::vector<RankNetwork> members_;
  std::vector<std::unique_ptr<torch::optim::AdamW>> optimizers_;
  std::vector<std::shared_ptr<torch::serialize::InputArchive>> saved_optimizers_;
  mutable std::mutex direct_mutex_;
  mutable std::optional<std::shared_ptr<const DirectNetwork>> direct_;  // made when asked for
};

}  // namespace
}  // namespace autotune

extern "C" autotune::Network* AutotuneCreateNetwork5(const autotune::NetworkOptions& options,
                                                     std::string* error) try {
  autotune::UseOneThreadPerCall();
  return new autotune::TorchNetwork(options);
} catch (const std::exception& exception) {
  *error = autotune::MessageOf(exception);
  return nullptr;
}
