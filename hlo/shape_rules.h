// The rules of shape inference by family, and the checks that they share. Internal to hlo/.

#ifndef AUTOTUNE_HLO_SHAPE_RULES_H_
#define AUTOTUNE_HLO_SHAPE_RULES_H_

#include <cstdint>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"
#include "hlo/shape_inference.h"

namespace autotune::shape_rules {

template <typename... Parts>
absl::Status Invalid(const Parts&... parts) {
  return absl::InvalidArgumentError(absl::StrCat(parts...));
}

// Returns the status from the enclosing function unless it is OK.
#define AUTOTUNE_RETURN_IF_ERROR(expression)           \
  do {                                                 \
    absl::Status autotune_status = (expression);       \
    if (!autotune_status.ok()) return autotune_status; \
  } while (false)

// An array with the default layout whose dynamic flags are those of `like` where extents agree.
Shape ResultArray(ElementType type, absl::Span<const int64_t> dimensions);

absl::Status CheckOperandCount(const ShapeInferenceInput& input, size_t at_least, size_t at_most);
// All operands in [first, last) are arrays.
absl::Status CheckArrays(const ShapeInferenceInput& input, size_t first, size_t last);
absl::Status CheckArrays(const ShapeInferenceInput& input);
// Every number lies in [0, rank) and none occurs twice.
absl::Status CheckDimensionNumbers(absl::string_view what, absl::Span<const int64_t> numbers,
                                   int64_t rank);
// Equal, or one of them unbounded.
bool ExtentsAgree(int64_t a, int64_t b);
// Same rank and extents that agree.
bool DimensionsAgree(const Shape& a, const Shape& b);
// Equal, or both floating point: XLA allows mixed precision.
bool TypesAgree(ElementType a, ElementType b);
// The wider of two types that agree.
ElementType WiderType(ElementType a, ElementType b);

// a * b, or an error if that is beyond int64. REQUIRES: a, b >= 0.
absl::StatusOr<int64_t> CheckedProduct(int64_t a, int64_t b);

using Result = absl::StatusOr<Shape>;

// shape_elementwise.cc
Result Elementwise(const ShapeInferenceInput& input);
// shape_contractions.cc
Result Convolution(const ShapeInferenceInput& input);
Result Dot(const ShapeInferenceInput& input);
Result RaggedDot(const ShapeInferenceInput& input);
// shape_windows.cc
Result Reduce(const ShapeInferenceInput& input);
Result ReduceWindow(const ShapeInferenceInput& input);
Result SelectAndScatter(const ShapeInferenceInput& input);
Result Pad(const ShapeInferenceInput& input);
// shape_indexing.cc
Result Concatenate(const ShapeInferenceInput& input);
Result Transpose(const ShapeInferenceInput& input);
Result Reverse(const ShapeInferenceInput& input);
Result Slice(const ShapeInferenceInput& input);
Result DynamicSlice(const ShapeInferenceInput& input);
Result DynamicUpdateSlice(const ShapeInferenceInput& input);
Result Gather(const ShapeInferenceInput& input);
Result Scatter(const ShapeInferenceInput& input);
Result Sort(const ShapeInferenceInput& input);
// shape_linear_algebra.cc
Result Fft(const ShapeInferenceInput& input);
Result Cholesky(const ShapeInferenceInput& input);
Result TriangularSolve(const ShapeInferenceInput& input);
Result BatchNorm(const ShapeInferenceInput& input);

}  // namespace autotune::shape_rules

#endif  // AUTOTUNE_HLO_SHAPE_RULES_H_
