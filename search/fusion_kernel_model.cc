#include "search/fusion_kernel_model.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "absl/types/span.h"
#include "hlo/cholesky.h"

namespace autotune {
namespace {

// How firmly the terms but the intercept are held at zero, in kernels of average weight.
constexpr double kRidge = 2;
// No kernel takes less than e^-2 or more than e^3 of its roofline by this model.
constexpr double kLowest = -2;
constexpr double kHighest = 3;
// Below this a term counts as no more than rounding.
constexpr double kLeastPivot = 1e-12;

}  // namespace

FusionKernelModel::Terms FusionKernelModel::TermsOf(const FusionKernelFeatures& features) {
  return {1,
          std::log(std::max(features.roofline_seconds, 1e-12)),
          features.arithmetic_share,
          std::log(1.0 + features.operations),
          features.products > 0 ? 1.0 : 0.0,
          features.products > 1 ? 1.0 : 0.0,
          std::min(features.reductions, 3) / 3.0,
          std::log(1.0 + features.read_values)};
}

void FusionKernelModel::Fit(const std::vector<Sample>& samples) {
  weights_ = {};
  mean_ = {};
  double total = 0;
  for (const Sample& sample : samples) total += sample.weight;
  if (samples.empty() || total <= 0) return;
  const double average = total / static_cast<double>(samples.size());
  for (const Sample& sample : samples) {
    const Terms terms = TermsOf(sample.features);
    for (size_t i = 1; i < kTerms; ++i) mean_[i] += terms[i] * sample.weight / total;
  }
  std::vector<double> matrix(kTerms * kTerms);
  Terms right = {};
  for (size_t i = 0; i < kTerms; ++i) matrix[i * kTerms + i] = i == 0 ? 1e-6 : kRidge;
  for (const Sample& sample : samples) {
    Terms terms = TermsOf(sample.features);
    for (size_t i = 1; i < kTerms; ++i) terms[i] -= mean_[i];
    const double target = std::log(sample.seconds / sample.features.roofline_seconds);
    // Small kernels count as well: by the root of their share.
    const double weight = std::sqrt(sample.weight / average);
    for (size_t i = 0; i < kTerms; ++i) {
      right[i] += weight * terms[i] * target;
      for (size_t j = 0; j < kTerms; ++j) {
        matrix[i * kTerms + j] += weight * terms[i] * terms[j];
      }
    }
  }
  if (SolveCholesky(absl::MakeSpan(matrix), absl::MakeSpan(right), kLeastPivot)) weights_ = right;
}

double FusionKernelModel::Predict(const FusionKernelFeatures& features) const {
  const Terms terms = TermsOf(features);
  double log_factor = weights_[0];
  for (size_t i = 1; i < kTerms; ++i) log_factor += weights_[i] * (terms[i] - mean_[i]);
  return features.roofline_seconds * std::exp(std::clamp(log_factor, kLowest, kHighest));
}

}  // namespace autotune
