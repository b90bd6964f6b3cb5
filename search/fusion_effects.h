#ifndef AUTOTUNE_SEARCH_FUSION_EFFECTS_H_
#define AUTOTUNE_SEARCH_FUSION_EFFECTS_H_

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "absl/container/flat_hash_map.h"
#include "absl/types/span.h"

namespace autotune {

// Some cuts, and by how many seconds they change the time of the program together.
struct FusionEffect {
  std::vector<int64_t> cuts;  // ascending
  double seconds = 0;         // negative: faster
};

// What cuts do to the time of a program, in seconds, learned from compilations.
//
// The effect of a set of cuts is a sum over its edges and over its pairs of edges of one kernel:
// linear regression with a normal prior for each term (Bayesian linear regression, as a Gaussian
// process over sets of cuts). Edges have the mean and deviation that they come with, pairs the mean
// 0 and a part of the smaller deviation. Observations are exact but for a thousandth of a per cent
// of the program's time.
//
// A value; reading is thread-safe. An observation costs time linear in the number of edges times
// that of observations.
class FusionEffects {
 public:
  struct Edge {
    double mean = 0;
    double deviation = 0;          // positive
    std::vector<int32_t> kernels;  // of the default that it is part of, ascending
  };

  // `noise`: the standard deviation of observations, in seconds; positive.
  FusionEffects(std::vector<Edge> edges, double noise);

  // Takes up what some cuts did; the same cuts again change nothing. REQUIRES: ascending cuts that
  // are edges.
  void Add(const FusionEffect& effect);

  // The expected effect of cuts, ascending.
  double Mean(absl::Span<const int64_t> cuts) const;
  // What cutting this edge alone is expected to save where it saves anything (expected improvement
  // over the default); never negative.
  double ExpectedGain(int64_t edge) const;

  const std::vector<Edge>& edges() const { return edges_; }
  // Whether two edges are part of one kernel of the default.
  bool Interact(int64_t a, int64_t b) const;

 private:
  using Pair = std::pair<int64_t, int64_t>;

  double PairVariance(int64_t a, int64_t b) const;
  double PriorMean(absl::Span<const int64_t> cuts) const;
  double Covariance(const std::vector<int64_t>& a, const std::vector<int64_t>& b) const;
  // Solves L x = b for the lower triangle L of the observations' covariance, which has rows_.
  std::vector<double> Forward(std::vector<double> right) const;
  void UpdateEdges(const std::vector<int64_t>& cuts, const std::vector<double>& row);
  void UpdateWeights();

  std::vector<Edge> edges_;
  double noise_;
  std::set<std::vector<int64_t>> seen_;
  std::vector<std::vector<int64_t>> observed_;
  std::vector<std::vector<double>> rows_;  // of Cholesky's factor
  std::vector<double> residual_;           // solved: L z = observed - prior
  // By edge: its row if it were observed next, and its variance given what was.
  std::vector<std::vector<double>> edge_rows_;
  std::vector<double> edge_variance_;
  // Given what was observed, over the prior mean.
  std::vector<double> edge_weight_;
  absl::flat_hash_map<Pair, double> pair_weight_;
};

}  // namespace autotune

#endif  // AUTOTUNE_SEARCH_FUSION_EFFECTS_H_
