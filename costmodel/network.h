#ifndef AUTOTUNE_COSTMODEL_NETWORK_H_
#define AUTOTUNE_COSTMODEL_NETWORK_H_

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

// The border between autotune and libautotune_torch.so (docs/decisions/0006): plain data and one
// interface. Nothing here may include Abseil, Protobuf or LibTorch.

namespace autotune {

// How messages flow along the edges from producers to consumers.
enum class EdgeDirection { kDirected, kBidirectional, kUndirected };
// The kind of graph layer: GraphSAGE, graph attention, or none (operations are then embedded one by
// one).
enum class GraphLayer { kSage, kGat, kNone };
// How the embeddings of nodes become that of the kernel.
enum class Reduction { kPerNode, kColumnWise, kLstm, kTransformer };
// Where the configuration meets the graph: after the reduction (the graph is then encoded once per
// kernel), or at every node before the first layer.
enum class Join { kLate, kEarly };
// The first three learn the order of one kernel's configurations, the last one absolute times.
enum class Loss { kHinge, kLogistic, kListMle, kSquaredError };

// The shape of a network; with the parameters it is the whole model. A plain value.
struct NetworkOptions {
  // Sizes of the inputs, from the feature schema.
  int64_t opcodes = 0;
  int64_t node_features = 0;
  int64_t kernel_features = 0;
  int64_t config_features = 0;

  GraphLayer layer = GraphLayer::kSage;
  EdgeDirection direction = EdgeDirection::kBidirectional;
  Reduction reduction = Reduction::kColumnWise;
  Join join = Join::kLate;
  // Lets the configurations of one kernel see each other.
  bool config_attention = false;
  // Features of the kernel as a whole join the graph's embedding; or every node; or nothing.
  enum class StaticFeatures { kKernel, kNode, kOff } static_features = StaticFeatures::kKernel;
  int64_t layers = 2;
  int64_t hidden = 64;
  int64_t opcode_embedding = 16;
  // Size of the kernel's embedding. A narrow one keeps networks from knowing kernels by heart.
  int64_t kernel_embedding = 16;
  // A feature of a configuration also enters as so many steps that rise one after another from 0 to
  // 1 over its range (a piecewise linear encoding), so that thresholds are easily learned; 0: none.
  int64_t config_bins = 0;
  // Each network sees this share of a configuration's features (one at least), drawn with its seed:
  // networks that look at different things err in different ways, and their mean less.
  double config_share = 1;
  // The correction of one configuration against the others of its kernel stays within +- this many
  // log-seconds, whatever the network sees: far from its training data it cannot do worse than
  // that.
  double residual_cap = 0.5;
  // Networks that differ in their seed alone; their spread is the uncertainty.
  int64_t members = 1;
  uint64_t seed = 0;
};

// Subtracted from a feature, and what the difference is multiplied with. From the training data; a
// part of the parameters.
struct InputScaling {
  std::vector<float> node_mean, node_factor;      // [node_features]
  std::vector<float> kernel_mean, kernel_factor;  // [kernel_features]
  std::vector<float> config_mean, config_factor;  // [config_features]
};

// One kernel as arrays that somebody else owns; row-major.
struct GraphView {
  int64_t nodes = 0;
  const int32_t* opcodes = nullptr;  // [nodes]
  const float* features = nullptr;   // [nodes, node_features]
  int64_t edges = 0;
  const int32_t* sources = nullptr;        // [edges], producers
  const int32_t* targets = nullptr;        // [edges], consumers
  const float* kernel_features = nullptr;  // [kernel_features]
  // Where configurations say something of single nodes (layouts): which, each once. A configuration
  // is then [config_nodes, config_features]. 0: it is of the kernel as a whole, [config_features].
  int64_t config_nodes = 0;
  const int32_t* config_node_ids = nullptr;  // [config_nodes]
};

// A kernel with measured configurations. `base` and `target` are natural logarithms of seconds; the
// network learns target - base.
struct TrainingKernel {
  GraphView graph;
  int64_t configs = 0;
  const float* config_features = nullptr;  // [configs, config_features], or as GraphView says
  const float* base = nullptr;             // [configs]
  const float* target = nullptr;           // [configs]
};

struct TrainingOptions {
  Loss loss = Loss::kLogistic;
  double learning_rate = 1e-3;
  double weight_decay = 1e-4;
  // Beside a rank loss: the share of the error of log time within a kernel (its level taken away),
  // which keeps the scores on the scale of times, and that of the level, so that kernels can be
  // compared. Errors count squared up to 0.1 log-seconds (0.5 for the level), beyond that linearly.
  double squared_error_share = 0.3;
  double level_share = 0.05;
  // A pair's weight grows with how far apart its times are, up to this many log-seconds: a small
  // limit is near to Kendall's tau, which counts all pairs alike.
  double gap_limit = 0.2;
  // How much more the order among the fastest configurations counts: a pair whose faster member is
  // x log-seconds above the best weighs exp(-emphasis * x).
  double top_emphasis = 1;
  // Regularisation: share of hidden units that a step leaves out, and standard deviation of the
  // noise on scaled features; both drawn with `noise_seed`.
  double dropout = 0.2;
  double feature_noise = 0.1;
  uint64_t noise_seed = 0;
};

// What Encode keeps of a kernel; opaque.
using KernelEmbedding = std::vector<float>;

// An ensemble of networks. Results depend on the options, the parameters and the input alone: not
// on threads, and (without config_attention) not on what else is scored in the same call. Encode,
// Score and ScoreOnce are thread-safe among themselves; TrainStep may run at the same time for
// different members; nothing else is. Methods that can fail return false or a NaN and set *error.
class Network {
 public:
  virtual ~Network() = default;

  virtual const NetworkOptions& options() const = 0;
  virtual int64_t ParameterCount() const = 0;
  // REQUIRES: sizes as in options().
  virtual void SetScaling(const InputScaling& scaling) = 0;

  // One step of the optimiser of one member on a batch of kernels; the mean loss before the step.
  virtual double TrainStep(int64_t member, const std::vector<TrainingKernel>& batch,
                           const TrainingOptions& options, std::string* error) = 0;

  // The part that does not depend on the configuration. Empty for Join::kEarly.
  virtual KernelEmbedding Encode(const GraphView& graph) const = 0;

  // For each of `count` configurations the mean over members of the residual in log-seconds, its
  // standard deviation, and the last hidden layers of all members side by side, [count, members *
  // hidden]. `spread` and `activations` may be null. `config_features`: as in TrainingKernel.
  virtual void Score(const GraphView& graph, const KernelEmbedding& embedding,
                     const float* config_features, int64_t count, float* residual, float* spread,
                     float* activations) const = 0;

  // The residual of one configuration of a kernel that nothing else is asked of: that of Encode and
  // Score but for rounding, many times faster where the kernel is small. NaN if it fails.
  // REQUIRES: graph.config_nodes == 0.
  virtual float ScoreOnce(const GraphView& graph, const float* config_features) const = 0;

  // Parameters (and the optimisers' state, to resume training) as bytes, and back.
  virtual std::string Save(bool with_optimizer) const = 0;
  virtual bool Load(const std::string& bytes, std::string* error) = 0;
};

// The symbol that the module exports, and its type. A null result sets *error. The number grows
// with every change of Network or NetworkOptions: a module of another build is then refused.
inline constexpr char kCreateNetworkSymbol[] = "AutotuneCreateNetwork5";
using CreateNetworkFunction = Network* (*)(const NetworkOptions& options, std::string* error);

}  // namespace autotune

#endif  // AUTOTUNE_COSTMODEL_NETWORK_H_
