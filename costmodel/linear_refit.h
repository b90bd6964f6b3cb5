#ifndef AUTOTUNE_COSTMODEL_LINEAR_REFIT_H_
#define AUTOTUNE_COSTMODEL_LINEAR_REFIT_H_

#include <cstdint>
#include <vector>

#include "absl/types/span.h"

namespace autotune {

// What is believed of a correction before anything was measured; standard deviations in
// log-seconds, of a configuration against the others of its kernel.
struct RefitPrior {
  double shared = 0.05;  // of what all kernels have in common
  double kernel = 0.15;  // of one kernel
  double level = 1.0;    // of a kernel's time as a whole
  double noise = 0.02;   // of a measurement
  // Beyond this many samples the earlier ones are left out.
  int64_t max_samples = 400;
};

// What was measured: for each sample the kernel it is of, its activations (a row) and by how much
// the model is off there.
struct RefitSamples {
  std::vector<int> kernel;         // [samples], from 0
  std::vector<float> activations;  // [samples, width], row-major
  std::vector<double> error;       // [samples]
};

// The correction of one kernel: level + sum of weights x activations.
struct LinearCorrection {
  std::vector<double> weights;  // [width]
  double level = 0;

  double Of(absl::Span<const float> activations) const;
};

// Refits the last, linear layer of a network to measurements without forgetting: the mean of a
// Bayesian linear regression whose prior is the layer as it was trained (Rasmussen and Williams,
// "Gaussian Processes for Machine Learning", 2006, section 2.1, in its dual form). Returns one
// correction for each kernel, 0 to `kernels` - 1, and as the last one that of all other kernels.
// Deterministic; takes O(samples^2 x width + samples^3).
std::vector<LinearCorrection> RefitLastLayer(const RefitSamples& samples, int kernels,
                                             const RefitPrior& prior);

}  // namespace autotune

#endif  // AUTOTUNE_COSTMODEL_LINEAR_REFIT_H_
