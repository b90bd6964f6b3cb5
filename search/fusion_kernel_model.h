#ifndef AUTOTUNE_SEARCH_FUSION_KERNEL_MODEL_H_
#define AUTOTUNE_SEARCH_FUSION_KERNEL_MODEL_H_

#include <array>
#include <cstddef>
#include <vector>

namespace autotune {

// What a kernel's time over its roofline is predicted from. Logarithms are natural.
struct FusionKernelFeatures {
  double roofline_seconds = 0;  // what the analytical model says; positive
  double arithmetic_share = 0;  // of the sum of arithmetic and traffic, in [0, 1]
  int operations = 0;
  int products = 0;    // matrix products and convolutions
  int reductions = 0;  // and other heavy operations: gathers, scatters, windows
  int read_values = 0;
};

// The factor by which kernels take longer than their roofline, fitted to kernels whose time is
// known: ridge regression of its logarithm, each kernel weighted by its share of the time. With
// nothing known the factor is 1; a feature that nothing known varies in has no effect. A value;
// reading is thread-safe.
class FusionKernelModel {
 public:
  struct Sample {
    FusionKernelFeatures features;
    double seconds = 0;  // of one execution; positive
    double weight = 1;   // seconds in one execution of the program, say
  };

  // Forgets what was fitted before.
  void Fit(const std::vector<Sample>& samples);

  // Seconds of one execution.
  double Predict(const FusionKernelFeatures& features) const;

 private:
  static constexpr size_t kTerms = 8;
  using Terms = std::array<double, kTerms>;

  static Terms TermsOf(const FusionKernelFeatures& features);

  Terms weights_ = {};
  Terms mean_ = {};  // of the terms over what was fitted; the first is the intercept
};

}  // namespace autotune

#endif  // AUTOTUNE_SEARCH_FUSION_KERNEL_MODEL_H_
