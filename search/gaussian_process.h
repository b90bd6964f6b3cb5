#ifndef AUTOTUNE_SEARCH_GAUSSIAN_PROCESS_H_
#define AUTOTUNE_SEARCH_GAUSSIAN_PROCESS_H_

#include <cstdint>
#include <limits>
#include <vector>

#include "absl/types/span.h"
#include "hardware/config.h"

namespace autotune {

// Where a configuration's log-seconds are believed to lie.
struct Belief {
  double mean = 0;
  double deviation = 0;  // standard deviation

  // The optimistic end: low where the time is low or not known well.
  double LowerBound(double kappa) const { return mean - kappa * deviation; }
};

// Interpolates log-seconds between measured configurations: kriging with the kernel exp(-d /
// length) over ConfigDistance, that is, over tiles the product of one exponential kernel per bound.
// The mean is a + b * score, with a and b by generalised least squares (universal kriging;
// Rasmussen and Williams, Gaussian Processes for Machine Learning, 2006, sections 2.2 and 2.7). So
// a scorer is corrected by what was measured nearby; without one, scores are 0 and the mean is a
// constant. Thread-compatible.
class GaussianProcess {
 public:
  struct Options {
    // ConfigDistance at which correlation falls to 1/e.
    double length = 6;
    // Variance of measurement noise (and of what no smooth function explains) over that of the
    // process.
    double noise = 0.01;
    // The deviation of log-seconds from the mean that is assumed before anything is measured; it
    // counts as much as `prior_weight` measurements.
    double prior_deviation = 0.5;
    double prior_weight = 3;
    // How firmly b is held at 1, as for scores that are log-seconds; 0 for a scorer of ranks.
    double slope_weight = 0.2;
    // Measurements beyond so many are not taken up: the cost grows with their square.
    int64_t max_size = 256;
  };

  explicit GaussianProcess(Options options) : options_(options) {}

  // Adds a measurement; O(n^2).
  void Add(const Config& config, double log_seconds, double score);

  // O(n^2).
  Belief Predict(const Config& config, double score) const;

  int64_t size() const { return static_cast<int64_t>(configs_.size()); }

 private:
  friend class RankedCandidates;

  double Correlation(const Config& a, const Config& b) const;
  // The next row of the Cholesky factor for a point with these correlations to the first rows; the
  // returned vector v solves L v = correlations.
  std::vector<double> Whiten(absl::Span<const double> correlations) const;
  // Refits the mean and the scale from the whitened data.
  void Refit();
  // From the dot products of a whitened point with the whitened data.
  Belief Combine(double score, double with_times, double with_ones, double with_scores,
                 double squared_norm) const;

  Options options_;
  std::vector<Config> configs_;
  std::vector<std::vector<double>> factor_;  // lower triangle of the Cholesky factor, by rows
  // L^-1 applied to the times, to ones, and to the scores.
  std::vector<double> times_, ones_, scores_;
  double intercept_ = 0, slope_ = 1, variance_ = 0.25;
};

// The beliefs about a fixed list of candidates, updated in O(n * candidates) for each measurement
// instead of O(n^2 * candidates).
class RankedCandidates {
 public:
  RankedCandidates(std::vector<Config> configs, std::vector<double> scores);

  // Takes up what was added to `process`. REQUIRES: always the same process.
  void Update(const GaussianProcess& process);

  Belief BeliefOf(int64_t i, const GaussianProcess& process) const;
  const Config& config(int64_t i) const { return configs_[i]; }
  int64_t size() const { return static_cast<int64_t>(configs_.size()); }

 private:
  std::vector<Config> configs_;
  std::vector<double> scores_;
  std::vector<std::vector<float>> rows_;  // by measurement, then by candidate
  std::vector<double> with_times_, with_ones_, with_scores_, squared_norms_;
};

}  // namespace autotune

#endif  // AUTOTUNE_SEARCH_GAUSSIAN_PROCESS_H_
