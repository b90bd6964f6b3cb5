// FLOPs of convolutions and dots.

#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <numeric>

#include "hlo/cost_analysis.h"
#include "hlo/instruction.h"
#include "hlo/int_math.h"

namespace autotune {
namespace {

constexpr double kFlopsPerMultiplyAdd = 2;
// Beyond these the exact count of a window's positions is replaced by its upper bound, so that a
// made-up window can neither overflow nor take long.
constexpr int64_t kMaxWindowParameter = int64_t{1} << 30;
constexpr int64_t kMaxKernelExtent = int64_t{1} << 22;

// The extents along one spatial dimension of a convolution.
struct SpatialExtents {
  int64_t input;
  int64_t kernel;
  int64_t output;
};

// The smallest x >= from with x * step = target (mod modulus), or -1 if there is none.
// REQUIRES: from >= 0, step >= 1, modulus >= 1.
int64_t FirstCongruent(int64_t from, int64_t step, int64_t target, int64_t modulus) {
  const int64_t gcd = std::gcd(step, modulus);
  if (target % gcd != 0) return -1;
  const int64_t period = modulus / gcd;
  // The inverse of step / gcd modulo period, by the extended Euclidean algorithm.
  int64_t r0 = period, r1 = (step / gcd) % period, t0 = 0, t1 = 1;
  while (r1 > 0) {
    const int64_t quotient = r0 / r1;
    std::swap(r0, r1);
    r1 -= quotient * r0;
    std::swap(t0, t1);
    t1 -= quotient * t0;
  }
  const int64_t inverse = ((t0 % period) + period) % period;
  const int64_t reduced_target = (((target / gcd) % period) + period) % period;
  const int64_t solution = (inverse * reduced_target) % period;
  const int64_t behind = ((solution - from) % period + period) % period;
  return from + behind;
}

// How many output positions read an input element (neither padding nor a dilation hole) through
// kernel position `k`.
int64_t ValidOutputs(const proto::WindowDimension& window, const SpatialExtents& extents,
                     int64_t k) {
  const int64_t stride = std::max<int64_t>(1, window.stride());
  const int64_t base_dilation = std::max<int64_t>(1, window.base_dilation());
  const int64_t shift = window.padding_low() - k * std::max<int64_t>(1, window.window_dilation());
  const int64_t first = std::max<int64_t>(0, CeilDiv(shift, stride));
  const int64_t last =
      std::min(extents.output - 1, FloorDiv((extents.input - 1) * base_dilation + shift, stride));
  if (extents.input < 1 || first > last) return 0;
  if (base_dilation == 1) return last - first + 1;
  const int64_t start = FirstCongruent(first, stride, shift, base_dilation);
  if (start < 0 || start > last) return 0;
  return (last - start) / (base_dilation / std::gcd(stride, base_dilation)) + 1;
}

bool IsReasonable(const proto::WindowDimension& window, const SpatialExtents& extents) {
  if (extents.kernel > kMaxKernelExtent) return false;
  for (int64_t value : {window.stride(), window.padding_low(), window.window_dilation(),
                        window.base_dilation(), extents.input, extents.output}) {
    if (value > kMaxWindowParameter || value < -kMaxWindowParameter) return false;
  }
  return std::abs(window.window_dilation()) * extents.kernel < kMaxWindowParameter;
}

double ValidPositions(const proto::WindowDimension& window, const SpatialExtents& extents) {
  if (!IsReasonable(window, extents)) {
    return static_cast<double>(extents.kernel) * static_cast<double>(extents.output);
  }
  double positions = 0;
  for (int64_t k = 0; k < extents.kernel; ++k) {
    positions += static_cast<double>(ValidOutputs(window, extents, k));
  }
  return positions;
}

// The extent of `dimension`, or 1 if the shape has no such dimension (a malformed program).
int64_t Extent(const Shape& shape, int64_t dimension) {
  return dimension >= 0 && dimension < shape.rank() ? shape.dimensions(dimension) : 1;
}

}  // namespace

double ConvolutionFlops(const HloInstruction& convolution) {
  if (convolution.operand_count() < 2) return 0;
  const proto::HloInstructionProto& attributes = convolution.attributes();
  const proto::ConvolutionDimensionNumbers& numbers = attributes.convolution_dimension_numbers();
  const Shape& input = convolution.operand(0).shape();
  const Shape& kernel = convolution.operand(1).shape();
  const Shape& output = convolution.shape();

  double positions = 1;
  const int spatial_rank = std::min(
      {attributes.window().dimensions_size(), numbers.input_spatial_dimensions_size(),
       numbers.kernel_spatial_dimensions_size(), numbers.output_spatial_dimensions_size()});
  for (int i = 0; i < spatial_rank; ++i) {
    const SpatialExtents extents = {Extent(input, numbers.input_spatial_dimensions(i)),
                                    Extent(kernel, numbers.kernel_spatial_dimensions(i)),
                                    Extent(output, numbers.output_spatial_dimensions(i))};
    positions *= ValidPositions(attributes.window().dimensions(i), extents);
  }
  const int64_t feature_groups = std::max<int64_t>(1, attributes.feature_group_count());
  const int64_t batch_groups = std::max<int64_t>(1, attributes.batch_group_count());
  const int64_t input_features = Extent(input, numbers.input_feature_dimension()) / feature_groups;
  const double output_features =
      static_cast<double>(Extent(output, numbers.output_feature_dimension()));
  const int64_t batch = Extent(input, numbers.input_batch_dimension()) / batch_groups;
  return kFlopsPerMultiplyAdd * static_cast<double>(input_features) * output_features *
         static_cast<double>(batch) * positions;
}

double DotFlops(const HloInstruction& dot) {
  if (dot.operand_count() < 2) return 0;
  const proto::DotDimensionNumbers& numbers =
      dot.attributes().has_ragged_dot_dimension_numbers()
          ? dot.attributes().ragged_dot_dimension_numbers().dot_dimension_numbers()
          : dot.attributes().dot_dimension_numbers();
  double multiply_adds = static_cast<double>(dot.shape().ElementsIn());
  for (int64_t dimension : numbers.lhs_contracting_dimensions()) {
    multiply_adds *= static_cast<double>(Extent(dot.operand(0).shape(), dimension));
  }
  return kFlopsPerMultiplyAdd * multiply_adds;
}

}  // namespace autotune
