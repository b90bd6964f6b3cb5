#include "search/gaussian_process.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "search/config_distance.h"

namespace autotune {
namespace {

double Dot(absl::Span<const double> a, absl::Span<const double> b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

}  // namespace

double GaussianProcess::Correlation(const Config& a, const Config& b) const {
  return std::exp(-ConfigDistance(a, b) / options_.length);
}

std::vector<double> GaussianProcess::Whiten(absl::Span<const double> correlations) const {
  std::vector<double> v(correlations.size());
  for (size_t i = 0; i < v.size(); ++i) {
    const double known = Dot(absl::MakeConstSpan(factor_[i]).subspan(0, i), {v.data(), i});
    v[i] = (correlations[i] - known) / factor_[i][i];
  }
  return v;
}

void GaussianProcess::Add(const Config& config, double log_seconds, double score) {
  if (size() >= options_.max_size) return;
  std::vector<double> row(configs_.size());
  for (size_t i = 0; i < row.size(); ++i) row[i] = Correlation(config, configs_[i]);
  row = Whiten(row);
  const double pivot = std::sqrt(std::max(1e-9, 1 + options_.noise - Dot(row, row)));
  times_.push_back((log_seconds - Dot(row, times_)) / pivot);
  ones_.push_back((1 - Dot(row, ones_)) / pivot);
  scores_.push_back((score - Dot(row, scores_)) / pivot);
  row.push_back(pivot);
  factor_.push_back(std::move(row));
  configs_.push_back(config);
  Refit();
}

void GaussianProcess::Refit() {
  // Least squares of times on ones and scores, in whitened coordinates; the slope is pulled to 1.
  const double oo = Dot(ones_, ones_), os = Dot(ones_, scores_), ot = Dot(ones_, times_);
  const double ss = Dot(scores_, scores_), st = Dot(scores_, times_);
  const double pull = options_.slope_weight + 1e-12;
  const double determinant = oo * (ss + pull) - os * os;
  slope_ = std::max(0.0, (oo * (st + pull) - os * ot) / determinant);
  intercept_ = (ot - slope_ * os) / oo;
  double squares = 0;
  for (size_t i = 0; i < times_.size(); ++i) {
    const double residual = times_[i] - intercept_ * ones_[i] - slope_ * scores_[i];
    squares += residual * residual;
  }
  const double prior = options_.prior_deviation * options_.prior_deviation;
  variance_ = (options_.prior_weight * prior + squares) /
              (options_.prior_weight + static_cast<double>(times_.size()));
}

Belief GaussianProcess::Combine(double score, double with_times, double with_ones,
                                double with_scores, double squared_norm) const {
  Belief belief;
  belief.mean =
      intercept_ + slope_ * score + with_times - intercept_ * with_ones - slope_ * with_scores;
  belief.deviation = std::sqrt(variance_ * std::max(0.0, 1 - squared_norm));
  return belief;
}

Belief GaussianProcess::Predict(const Config& config, double score) const {
  std::vector<double> v(configs_.size());
  for (size_t i = 0; i < v.size(); ++i) v[i] = Correlation(config, configs_[i]);
  v = Whiten(v);
  return Combine(score, Dot(v, times_), Dot(v, ones_), Dot(v, scores_), Dot(v, v));
}

RankedCandidates::RankedCandidates(std::vector<Config> configs, std::vector<double> scores)
    : configs_(std::move(configs)),
      scores_(std::move(scores)),
      with_times_(configs_.size()),
      with_ones_(configs_.size()),
      with_scores_(configs_.size()),
      squared_norms_(configs_.size()) {}

void RankedCandidates::Update(const GaussianProcess& process) {
  while (rows_.size() < process.configs_.size()) {
    const size_t n = rows_.size();
    const std::vector<double>& factor = process.factor_[n];
    std::vector<float> row(configs_.size());
    for (size_t c = 0; c < row.size(); ++c) {
      row[c] = static_cast<float>(process.Correlation(configs_[c], process.configs_[n]));
    }
    for (size_t i = 0; i < n; ++i) {
      const auto weight = static_cast<float>(factor[i]);
      const std::vector<float>& known = rows_[i];
      for (size_t c = 0; c < row.size(); ++c) row[c] -= weight * known[c];
    }
    const auto scale = static_cast<float>(1 / factor[n]);
    for (size_t c = 0; c < row.size(); ++c) {
      row[c] *= scale;
      with_times_[c] += row[c] * process.times_[n];
      with_ones_[c] += row[c] * process.ones_[n];
      with_scores_[c] += row[c] * process.scores_[n];
      squared_norms_[c] += row[c] * row[c];
    }
    rows_.push_back(std::move(row));
  }
}

Belief RankedCandidates::BeliefOf(int64_t i, const GaussianProcess& process) const {
  return process.Combine(scores_[i], with_times_[i], with_ones_[i], with_scores_[i],
                         squared_norms_[i]);
}

}  // namespace autotune
