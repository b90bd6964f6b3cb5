#include "costmodel/linear_refit.h"

#include <algorithm>
#include <cmath>
#include <cstddef>

#include "hlo/cholesky.h"

namespace autotune {
namespace {

// The noise alone gives more; rounding may not.
constexpr double kLeastPivot = 1e-12;

// Rows centred on their mean and scaled to a mean squared length of 1, so that priors have a
// meaning whatever the network's scale.
struct ScaledRows {
  std::vector<double> rows;    // [samples, width]
  std::vector<double> centre;  // [width]
  double factor = 1;
};

ScaledRows Scale(absl::Span<const float> activations, size_t samples, size_t width) {
  ScaledRows scaled;
  scaled.centre.assign(width, 0);
  for (size_t i = 0; i < samples; ++i) {
    for (size_t c = 0; c < width; ++c) scaled.centre[c] += activations[i * width + c];
  }
  for (double& value : scaled.centre) value /= static_cast<double>(samples);
  double squares = 0;
  for (size_t i = 0; i < samples; ++i) {
    for (size_t c = 0; c < width; ++c) {
      const double value = activations[i * width + c] - scaled.centre[c];
      scaled.rows.push_back(value);
      squares += value * value;
    }
  }
  // A single sample, or equal ones, have no spread to scale by.
  if (squares > 0) scaled.factor = std::sqrt(static_cast<double>(samples) / squares);
  for (double& value : scaled.rows) value *= scaled.factor;
  return scaled;
}

}  // namespace

double LinearCorrection::Of(absl::Span<const float> activations) const {
  double sum = level;
  for (size_t c = 0; c < weights.size(); ++c) sum += weights[c] * activations[c];
  return sum;
}

std::vector<LinearCorrection> RefitLastLayer(const RefitSamples& samples, int kernels,
                                             const RefitPrior& prior) {
  std::vector<LinearCorrection> corrections(static_cast<size_t>(kernels) + 1);
  const size_t all = samples.error.size();
  if (all == 0) return corrections;
  const size_t width = samples.activations.size() / all;
  const size_t skipped = all - std::min(all, static_cast<size_t>(prior.max_samples));
  const size_t n = all - skipped;
  const ScaledRows scaled =
      Scale(absl::MakeConstSpan(samples.activations).subspan(skipped * width), n, width);
  const auto kernel_of = [&](size_t i) { return samples.kernel[skipped + i]; };

  std::vector<double> covariance(n * n);
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j <= i; ++j) {
      double product = 0;
      for (size_t c = 0; c < width; ++c) {
        product += scaled.rows[i * width + c] * scaled.rows[j * width + c];
      }
      double value = prior.shared * prior.shared * product;
      if (kernel_of(i) == kernel_of(j)) {
        value += prior.kernel * prior.kernel * product + prior.level * prior.level;
      }
      if (i == j) value += prior.noise * prior.noise;
      covariance[i * n + j] = covariance[j * n + i] = value;
    }
  }
  std::vector<double> dual(samples.error.begin() + static_cast<std::ptrdiff_t>(skipped),
                           samples.error.end());
  const bool solved = SolveCholesky(absl::MakeSpan(covariance), absl::MakeSpan(dual), kLeastPivot);
  if (!solved) return corrections;

  for (size_t k = 0; k < corrections.size(); ++k) {
    LinearCorrection& correction = corrections[k];
    correction.weights.assign(width, 0);
    for (size_t i = 0; i < n; ++i) {
      const bool same = kernel_of(i) == static_cast<int>(k);
      double variance = prior.shared * prior.shared;
      if (same) {
        variance += prior.kernel * prior.kernel;
        correction.level += prior.level * prior.level * dual[i];
      }
      for (size_t c = 0; c < width; ++c) {
        correction.weights[c] += variance * dual[i] * scaled.rows[i * width + c];
      }
    }
    for (size_t c = 0; c < width; ++c) {
      correction.weights[c] *= scaled.factor;
      correction.level -= correction.weights[c] * scaled.centre[c];
    }
  }
  return corrections;
}

}  // namespace autotune
