#include "search/fusion_scorer.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <utility>

#include "hlo/cost_analysis.h"
#include "hlo/kernel_kind.h"

namespace autotune {
namespace {

constexpr size_t kMaxStates = 64;
// A state this many cuts away is kept and copied instead of being moved.
constexpr int kFarAway = 6;
constexpr double kKernelCycles = 463;  // as EstimateConstants::fixed_cycles
constexpr double kTranscendentalCycles = 8;
// Times of groups that are remembered.
constexpr size_t kMaxRemembered = 1 << 20;

uint64_t Mix(uint64_t x) {  // SplitMix64's finisher
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
  return x ^ (x >> 31);
}

int Distance(const std::vector<uint64_t>& a, const std::vector<uint64_t>& b) {
  int distance = 0;
  for (size_t i = 0; i < a.size(); ++i) distance += std::popcount(a[i] ^ b[i]);
  return distance;
}

// Whether every kernel makes the value for itself.
bool MadeAnywhere(const HloInstruction& instruction) {
  return instruction.opcode() == HloOpcode::kIota ||
         instruction.opcode() == HloOpcode::kBroadcast || !instruction.shape().IsArray() ||
         instruction.shape().ElementsIn() <= 1;
}

// Without branches: a node is part of one to nine groups.
bool Contains(const FusionGroups::Roots& roots, int32_t root) {
  bool found = false;
  for (int32_t other : roots) found |= other == root;
  return found;
}

}  // namespace

struct FusionScorer::State {
  std::vector<uint64_t> cuts;
  FusionGroups groups;
  std::vector<double> seconds;  // by root, of one execution of the program
  double total = 0;
};

FusionScorer::FusionScorer(const FusionGraph* graph, FusionOutline outline,
                           const DeviceSpec& device, FusionPrior prior)
    : graph_(graph),
      outline_(std::move(outline)),
      device_(device),
      prior_(std::move(prior)),
      overlap_(OverlapWeights(*graph, device)) {
  const CostAnalysis analysis(graph->module());
  const double lanes =
      static_cast<double>(device.vector_lanes * device.vector_sublanes) * device.clock_hz;
  first_operand_.push_back(0);
  for (int32_t i = 0; i < graph->node_count(); ++i) {
    const FusionNode& node = graph->nodes()[static_cast<size_t>(i)];
    const HloInstruction& instruction = *node.instruction;
    NodeCost cost;
    const Cost& work = analysis.Of(instruction);
    cost.product = IsContraction(instruction.opcode());
    cost.heavy = node.heavy;
    if (!node.free && !outline_.absent[static_cast<size_t>(i)]) {
      cost.compute_seconds =
          cost.product ? work.flops / device.bf16_flops_per_second
                       : (work.flops + kTranscendentalCycles * work.transcendentals) / lanes;
      cost.hash = Mix(static_cast<uint64_t>(i) + 1);
    }
    if (!node.free || !MadeAnywhere(instruction)) {
      cost.bytes = static_cast<double>(instruction.shape().ByteSize());
    }
    costs_.push_back(cost);
    for (int32_t operand : graph->Operands(i)) {
      operand_edges_.push_back(graph->EdgeBetween(operand, i));
    }
    first_operand_.push_back(operand_edges_.size());
  }
  absl::MutexLock lock(&mutex_);
  states_.push_back({std::vector<uint64_t>(static_cast<size_t>(graph->edge_count()) / 64 + 1),
                     FusionGroups(graph_, &outline_), std::vector<double>(costs_.size(), 0.0), 0});
  Rescore(&states_.front());
}

FusionScorer::~FusionScorer() = default;

FusionKernelFeatures FusionScorer::Finish(double compute_seconds, double bytes,
                                          FusionKernelFeatures counts) const {
  const double transfer = bytes / device_.hbm_bytes_per_second;
  counts.roofline_seconds = std::max(compute_seconds, transfer) + kKernelCycles / device_.clock_hz;
  counts.arithmetic_share =
      compute_seconds + transfer > 0 ? compute_seconds / (compute_seconds + transfer) : 0;
  return counts;
}

void FusionScorer::FillCost(const FusionGroups& groups, int32_t root, GroupCost* filled) const {
  GroupCost& cost = *filled;
  for (auto* nodes : {&cost.group.nodes, &cost.group.written, &cost.group.read}) nodes->clear();
  cost.features = FusionKernelFeatures();
  cost.hash = cost.traffic = 0;
  double compute = 0, bytes = 0;
  for (int32_t member : groups.Members(root)) {
    const auto m = static_cast<size_t>(member);
    compute += costs_[m].compute_seconds;
    cost.hash += costs_[m].hash;
    cost.features.operations += costs_[m].hash != 0 ? 1 : 0;
    cost.features.products += costs_[m].product ? 1 : 0;
    cost.features.reductions += costs_[m].heavy && !costs_[m].product ? 1 : 0;
    if (costs_[m].hash != 0) cost.group.nodes.push_back(member);
    if (groups.Home(member) == root) {
      bytes += costs_[m].bytes;
      cost.group.written.push_back(member);
      cost.traffic += Mix(~static_cast<uint64_t>(member));
    }
    const absl::Span<const int32_t> operands = graph_->Operands(member);
    for (size_t i = 0; i < operands.size(); ++i) {
      const int32_t edge = operand_edges_[first_operand_[m] + i];
      const auto o = static_cast<size_t>(operands[i]);
      if (costs_[o].bytes == 0) continue;
      const FusionGroups::Roots& of = groups.GroupsOf(operands[i]);
      const bool inside = edge >= 0 && outline_.fused[static_cast<size_t>(edge)] &&
                          !groups.IsCut(edge) && Contains(of, root);
      if (!inside) cost.group.read.push_back(operands[i]);
    }
  }
  std::vector<int32_t>& read = cost.group.read;
  std::sort(read.begin(), read.end());
  read.erase(std::unique(read.begin(), read.end()), read.end());
  for (int32_t operand : read) {
    bytes += costs_[static_cast<size_t>(operand)].bytes;
    cost.traffic += Mix(static_cast<uint64_t>(operand) << 32);
  }
  cost.features.read_values = static_cast<int>(read.size());
  cost.features = Finish(compute, bytes, cost.features);
}

FusionGroup FusionScorer::WithBorder(const std::vector<int32_t>& nodes) const {
  const auto inside = [&nodes](int32_t node) {
    return std::binary_search(nodes.begin(), nodes.end(), node);
  };
  FusionGroup group;
  group.nodes = nodes;
  std::set<int32_t> read;
  for (int32_t node : nodes) {
    const auto& out = graph_->OutEdges(node);
    const bool leaves = graph_->nodes()[static_cast<size_t>(node)].escapes ||
                        std::any_of(out.begin(), out.end(), [&](int32_t edge) {
                          return !inside(graph_->edges()[static_cast<size_t>(edge)].consumer);
                        });
    if (leaves) group.written.push_back(node);
    for (int32_t operand : graph_->Operands(node)) {
      if (!inside(operand)) read.insert(operand);
    }
  }
  group.read.assign(read.begin(), read.end());
  return group;
}

FusionKernelFeatures FusionScorer::FeaturesOf(const FusionGroup& group) const {
  FusionKernelFeatures counts;
  double compute = 0, bytes = 0;
  for (int32_t node : group.nodes) {
    const NodeCost& cost = costs_[static_cast<size_t>(node)];
    compute += cost.compute_seconds;
    counts.operations += cost.hash != 0 ? 1 : 0;
    counts.products += cost.product ? 1 : 0;
    counts.reductions += cost.heavy && !cost.product ? 1 : 0;
  }
  for (int32_t node : group.written) bytes += costs_[static_cast<size_t>(node)].bytes;
  for (int32_t node : group.read) {
    const double of_node = costs_[static_cast<size_t>(node)].bytes;
    bytes += of_node;
    counts.read_values += of_node > 0 ? 1 : 0;
  }
  return Finish(compute, bytes, counts);
}

double FusionScorer::Expect(const FusionGroup& group, const FusionKernelFeatures& features) const {
  return prior_ != nullptr ? prior_(group) : model_.Predict(features);
}

double FusionScorer::SecondsOf(const FusionGroups& groups, int32_t root) const {
  if (groups.Members(root).empty()) return 0;
  FillCost(groups, root, &scratch_);
  return SecondsOnce(&scratch_) *
         static_cast<double>(graph_->nodes()[static_cast<size_t>(root)].executions);
}

double FusionScorer::SecondsOnce(GroupCost* cost) const {
  if (const auto known = known_.find(cost->hash); known != known_.end()) return known->second;
  // Without either there is nothing to spare.
  if (prior_ == nullptr && samples_.empty()) return model_.Predict(cost->features);
  const uint64_t key = Mix(cost->hash) + cost->traffic;
  if (corrected_.size() >= kMaxRemembered) corrected_.clear();
  if (expected_.size() >= kMaxRemembered) expected_.clear();
  const auto [corrected, is_new] = corrected_.try_emplace(key, 0);
  if (!is_new) return corrected->second;
  for (auto* nodes : {&cost->group.nodes, &cost->group.written}) {
    std::sort(nodes->begin(), nodes->end());
  }
  double once = 0;
  if (prior_ != nullptr) {
    const auto [expected, unknown] = expected_.try_emplace(key, 0);
    if (unknown) expected->second = Expect(cost->group, cost->features);
    once = expected->second;
  } else {
    once = Expect(cost->group, cost->features);
  }
  corrected->second = once * std::exp(overlap_.Correction(cost->group.nodes));
  return corrected->second;
}

FusionScorer::GroupCost FusionScorer::CostOf(const std::vector<int32_t>& nodes) const {
  GroupCost cost;
  cost.group = WithBorder(nodes);
  std::erase_if(cost.group.nodes,
                [this](int32_t node) { return costs_[static_cast<size_t>(node)].hash == 0; });
  cost.features = FeaturesOf(cost.group);
  for (int32_t node : cost.group.nodes) cost.hash += costs_[static_cast<size_t>(node)].hash;
  for (int32_t node : cost.group.written) cost.traffic += Mix(~static_cast<uint64_t>(node));
  for (int32_t node : cost.group.read) cost.traffic += Mix(static_cast<uint64_t>(node) << 32);
  return cost;
}

double FusionScorer::MergeEffect(const Config& config, const std::vector<int32_t>& first,
                                 const std::vector<int32_t>& second) const {
  std::vector<int32_t> both;
  std::set_union(first.begin(), first.end(), second.begin(), second.end(),
                 std::back_inserter(both));
  absl::MutexLock lock(&mutex_);
  const std::vector<uint64_t> bits = BitsOf(config);
  State& state = Nearest(bits);
  MoveTo(bits, &state);
  GroupCost merged = CostOf(both), one = CostOf(first), other = CostOf(second);
  const double change = SecondsOnce(&merged) - SecondsOnce(&one) - SecondsOnce(&other);
  const int64_t executions = graph_->nodes()[static_cast<size_t>(first.front())].executions;
  return change * static_cast<double>(executions) / std::max(1e-12, state.total + offset_);
}

void FusionScorer::Rescore(State* state) const {
  std::fill(state->seconds.begin(), state->seconds.end(), 0.0);
  state->total = 0;
  for (int32_t root = 0; root < graph_->node_count(); ++root) {
    const double seconds = SecondsOf(state->groups, root);
    state->seconds[static_cast<size_t>(root)] = seconds;
    state->total += seconds;
  }
}

void FusionScorer::MoveTo(const std::vector<uint64_t>& cuts, State* state) const {
  std::vector<int32_t> flips;
  for (size_t word = 0; word < cuts.size(); ++word) {
    for (uint64_t different = cuts[word] ^ state->cuts[word]; different != 0;
         different &= different - 1) {
      flips.push_back(static_cast<int32_t>(word * 64) + std::countr_zero(different));
    }
  }
  if (flips.empty()) return;
  state->cuts = cuts;
  state->groups.Flip(flips);
  for (int32_t root : state->groups.changed()) {
    double& seconds = state->seconds[static_cast<size_t>(root)];
    const double before = seconds;
    seconds = SecondsOf(state->groups, root);
    state->total += seconds - before;
  }
}

FusionScorer::State& FusionScorer::Nearest(const std::vector<uint64_t>& cuts) const {
  auto nearest = states_.begin();
  int distance = std::numeric_limits<int>::max();
  for (auto it = states_.begin(); it != states_.end() && distance > 1; ++it) {
    const int other = Distance(it->cuts, cuts);
    if (other < distance) {
      distance = other;
      nearest = it;
    }
  }
  if (distance > kFarAway && states_.size() < kMaxStates) {
    states_.push_front(*nearest);
  } else {
    states_.splice(states_.begin(), states_, nearest);
  }
  return states_.front();
}

std::vector<uint64_t> FusionScorer::BitsOf(const Config& config) const {
  std::vector<uint64_t> bits(static_cast<size_t>(graph_->edge_count()) / 64 + 1);
  for (int64_t cut : config.fusion()->cuts) {
    bits[static_cast<size_t>(cut) / 64] |= uint64_t{1} << (cut % 64);
  }
  return bits;
}

double FusionScorer::ScoreOf(const Config& config) const {
  if (config.fusion() == nullptr) return std::numeric_limits<double>::infinity();
  const std::vector<uint64_t> bits = BitsOf(config);
  State& state = Nearest(bits);
  MoveTo(bits, &state);
  // Rounded, so that it does not depend on the way by which the sum came about.
  return std::round(std::log(std::max(1e-12, state.total + offset_)) * 1e9) * 1e-9;
}

std::vector<double> FusionScorer::Score(absl::Span<const Config> configs) const {
  absl::MutexLock lock(&mutex_);
  std::vector<double> scores;
  scores.reserve(configs.size());
  for (const Config& config : configs) scores.push_back(ScoreOf(config));
  return scores;
}

double FusionScorer::ScoreMove(const Config& /*base*/, const Config& move) const {
  absl::MutexLock lock(&mutex_);
  return ScoreOf(move);
}

void FusionScorer::Learn(const std::vector<TimedKernel>& kernels, double default_seconds) {
  absl::MutexLock lock(&mutex_);
  for (const TimedKernel& kernel : kernels) {
    if (kernel.group.nodes.empty()) continue;
    FusionGroup group = kernel.group;
    if (group.read.empty() && group.written.empty()) group = WithBorder(group.nodes);
    const auto& first = graph_->nodes()[static_cast<size_t>(group.nodes.front())];
    uint64_t hash = 0;
    for (int32_t node : group.nodes) hash += costs_[static_cast<size_t>(node)].hash;
    std::erase_if(group.nodes,
                  [this](int32_t node) { return costs_[static_cast<size_t>(node)].hash == 0; });
    if (hash == 0 || kernel.seconds <= 0 || !known_.insert({hash, kernel.seconds}).second) continue;
    Sample sample;
    sample.kernel = {FeaturesOf(group), kernel.seconds,
                     kernel.seconds * static_cast<double>(first.executions)};
    if (prior_ != nullptr) sample.prior_seconds = prior_(group);
    sample.group = std::move(group);
    samples_.push_back(std::move(sample));
  }
  if (!kernels.empty()) Refit();
  for (State& state : states_) Rescore(&state);
  if (default_seconds > 0) {
    const std::vector<uint64_t> none(states_.front().cuts.size());
    State& state = Nearest(none);
    MoveTo(none, &state);
    offset_ = default_seconds - state.total;
  }
  ++version_;
}

void FusionScorer::Refit() {
  if (prior_ == nullptr) {
    std::vector<FusionKernelModel::Sample> kernels;
    kernels.reserve(samples_.size());
    for (const Sample& sample : samples_) kernels.push_back(sample.kernel);
    model_.Fit(kernels);
  }
  overlap_.Clear();
  corrected_.clear();
  for (const Sample& sample : samples_) {
    const double expected =
        prior_ != nullptr ? sample.prior_seconds : model_.Predict(sample.kernel.features);
    overlap_.Add(sample.group.nodes, std::log(sample.kernel.seconds / expected));
  }
}

std::vector<FusionScorer::Group> FusionScorer::GroupsUnder(const Config& config) const {
  absl::MutexLock lock(&mutex_);
  const std::vector<uint64_t> bits = BitsOf(config);
  State& state = Nearest(bits);
  MoveTo(bits, &state);
  std::vector<Group> result;
  for (int32_t root = 0; root < graph_->node_count(); ++root) {
    if (state.groups.Members(root).empty()) continue;
    Group group{root, state.groups.Members(root), state.seconds[static_cast<size_t>(root)]};
    std::sort(group.nodes.begin(), group.nodes.end());
    result.push_back(std::move(group));
  }
  return result;
}

}  // namespace autotune
