#include "search/fusion_effects.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace autotune {
namespace {

// The deviation of what two edges of a kernel do beyond the sum, in that of the surer one.
constexpr double kPairShare = 0.5;

// The expected positive part of a normal variable.
double ExpectedPositive(double mean, double deviation) {
  if (deviation <= 0) return std::max(0.0, mean);
  const double z = mean / deviation;
  const double below = 0.5 * std::erfc(-z / std::sqrt(2.0));
  const double density = std::exp(-z * z / 2) / std::sqrt(2 * std::acos(-1.0));
  return std::max(0.0, mean * below + deviation * density);
}

bool Share(const std::vector<int32_t>& a, const std::vector<int32_t>& b) {
  return std::any_of(a.begin(), a.end(), [&b](int32_t kernel) {
    return std::binary_search(b.begin(), b.end(), kernel);
  });
}

}  // namespace

FusionEffects::FusionEffects(std::vector<Edge> edges, double noise)
    : edges_(std::move(edges)),
      noise_(noise),
      edge_rows_(edges_.size()),
      edge_weight_(edges_.size(), 0.0) {
  edge_variance_.reserve(edges_.size());
  for (const Edge& edge : edges_) edge_variance_.push_back(edge.deviation * edge.deviation);
}

bool FusionEffects::Interact(int64_t a, int64_t b) const {
  return Share(edges_[static_cast<size_t>(a)].kernels, edges_[static_cast<size_t>(b)].kernels);
}

double FusionEffects::PairVariance(int64_t a, int64_t b) const {
  if (!Interact(a, b)) return 0;
  const double deviation = kPairShare * std::min(edges_[static_cast<size_t>(a)].deviation,
                                                 edges_[static_cast<size_t>(b)].deviation);
  return deviation * deviation;
}

double FusionEffects::PriorMean(absl::Span<const int64_t> cuts) const {
  double mean = 0;
  for (int64_t cut : cuts) mean += edges_[static_cast<size_t>(cut)].mean;
  return mean;
}

double FusionEffects::Covariance(const std::vector<int64_t>& a,
                                 const std::vector<int64_t>& b) const {
  std::vector<int64_t> both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  double covariance = 0;
  for (size_t i = 0; i < both.size(); ++i) {
    const double deviation = edges_[static_cast<size_t>(both[i])].deviation;
    covariance += deviation * deviation;
    for (size_t j = 0; j < i; ++j) covariance += PairVariance(both[j], both[i]);
  }
  return covariance;
}

std::vector<double> FusionEffects::Forward(std::vector<double> right) const {
  for (size_t i = 0; i < right.size(); ++i) {
    for (size_t k = 0; k < i; ++k) right[i] -= rows_[i][k] * right[k];
    right[i] /= rows_[i][i];
  }
  return right;
}

void FusionEffects::UpdateEdges(const std::vector<int64_t>& cuts, const std::vector<double>& row) {
  for (size_t edge = 0; edge < edges_.size(); ++edge) {
    double entry = std::binary_search(cuts.begin(), cuts.end(), static_cast<int64_t>(edge))
                       ? edges_[edge].deviation * edges_[edge].deviation
                       : 0;
    std::vector<double>& of_edge = edge_rows_[edge];
    for (size_t k = 0; k < of_edge.size(); ++k) entry -= row[k] * of_edge[k];
    entry /= row.back();
    of_edge.push_back(entry);
    edge_variance_[edge] = std::max(0.0, edge_variance_[edge] - entry * entry);
  }
}

void FusionEffects::UpdateWeights() {
  std::vector<double> dual = residual_;
  for (size_t i = dual.size(); i-- > 0;) {
    dual[i] /= rows_[i][i];
    for (size_t k = 0; k < i; ++k) dual[k] -= rows_[i][k] * dual[i];
  }
  std::fill(edge_weight_.begin(), edge_weight_.end(), 0.0);
  pair_weight_.clear();
  for (size_t i = 0; i < observed_.size(); ++i) {
    const std::vector<int64_t>& cuts = observed_[i];
    for (size_t k = 0; k < cuts.size(); ++k) {
      const auto edge = static_cast<size_t>(cuts[k]);
      edge_weight_[edge] += edges_[edge].deviation * edges_[edge].deviation * dual[i];
      for (size_t j = 0; j < k; ++j) {
        const double variance = PairVariance(cuts[j], cuts[k]);
        if (variance > 0) pair_weight_[{cuts[j], cuts[k]}] += variance * dual[i];
      }
    }
  }
}

void FusionEffects::Add(const FusionEffect& effect) {
  if (effect.cuts.empty() || !seen_.insert(effect.cuts).second) return;
  std::vector<double> row;
  row.reserve(observed_.size() + 1);
  for (const std::vector<int64_t>& other : observed_) row.push_back(Covariance(effect.cuts, other));
  row = Forward(std::move(row));
  double variance = Covariance(effect.cuts, effect.cuts) + noise_ * noise_;
  double rest = effect.seconds - PriorMean(effect.cuts);
  for (size_t k = 0; k < row.size(); ++k) {
    variance -= row[k] * row[k];
    rest -= row[k] * residual_[k];
  }
  row.push_back(std::sqrt(std::max(variance, noise_ * noise_)));
  residual_.push_back(rest / row.back());
  UpdateEdges(effect.cuts, row);
  rows_.push_back(std::move(row));
  observed_.push_back(effect.cuts);
  UpdateWeights();
}

double FusionEffects::Mean(absl::Span<const int64_t> cuts) const {
  double mean = PriorMean(cuts);
  for (size_t k = 0; k < cuts.size(); ++k) {
    mean += edge_weight_[static_cast<size_t>(cuts[k])];
    for (size_t j = 0; j < k; ++j) {
      const auto pair = pair_weight_.find({cuts[j], cuts[k]});
      if (pair != pair_weight_.end()) mean += pair->second;
    }
  }
  return mean;
}

double FusionEffects::ExpectedGain(int64_t edge) const {
  const auto e = static_cast<size_t>(edge);
  return ExpectedPositive(-(edges_[e].mean + edge_weight_[e]), std::sqrt(edge_variance_[e]));
}

}  // namespace autotune
