// Shapes of transforms, factorisations and batch normalisation.

#include <vector>

#include "hlo/element_type.h"
#include "hlo/shape_rules.h"

namespace autotune::shape_rules {
namespace {

absl::Status CheckSquare(const Shape& matrix, absl::string_view what) {
  if (matrix.rank() >= 2 &&
      ExtentsAgree(matrix.dimensions(matrix.rank() - 1), matrix.dimensions(matrix.rank() - 2))) {
    return absl::OkStatus();
  }
  return Invalid("the matrix of ", what, " must be square, got ", matrix.ToString(false));
}

absl::Status CheckFftLengths(const Shape& operand, const proto::HloInstructionProto& attributes) {
  const int64_t rank = attributes.fft_length_size();
  const bool is_inverse_real = attributes.fft_type() == proto::IRFFT;
  if (rank < 1 || rank > 3 || operand.rank() < rank) {
    return Invalid("fft takes 1 to 3 lengths within the array's rank ", operand.rank(), ", got ",
                   rank);
  }
  // Transforms of complex numbers take whatever extents there are.
  const bool complex = attributes.fft_type() == proto::FFT || attributes.fft_type() == proto::IFFT;
  for (int64_t i = 0; i < rank && !complex; ++i) {
    const int64_t length = attributes.fft_length(static_cast<int>(i));
    int64_t wanted = length;
    if (is_inverse_real && i == rank - 1) wanted = length == 0 ? 0 : length / 2 + 1;
    if (length < 0 || !ExtentsAgree(operand.dimensions(operand.rank() - rank + i), wanted)) {
      return Invalid("fft_length ", length, " does not fit ", operand.ToString(false));
    }
  }
  return absl::OkStatus();
}

}  // namespace

Result Fft(const ShapeInferenceInput& input) {
  AUTOTUNE_RETURN_IF_ERROR(CheckOperandCount(input, 1, 1));
  AUTOTUNE_RETURN_IF_ERROR(CheckArrays(input));
  Shape result = *input.operands[0];
  AUTOTUNE_RETURN_IF_ERROR(CheckFftLengths(result, input.attributes));
  const ElementType type = result.element_type();
  const int64_t last = input.attributes.fft_length(input.attributes.fft_length_size() - 1);
  switch (input.attributes.fft_type()) {
    case proto::RFFT:
      if (type != proto::F32 && type != proto::F64) return Invalid("RFFT takes f32 or f64");
      result.set_element_type(type == proto::F32 ? proto::C64 : proto::C128);
      result.set_dimension(result.rank() - 1, last == 0 ? 0 : last / 2 + 1);
      break;
    case proto::IRFFT:
      if (!IsComplex(type)) return Invalid("IRFFT takes complex numbers");
      result.set_element_type(type == proto::C64 ? proto::F32 : proto::F64);
      result.set_dimension(result.rank() - 1, last);
      break;
    default:
      if (!IsComplex(type)) return Invalid("FFT and IFFT take complex numbers");
  }
  result.set_layout(Layout::Default(result.rank()));
  return result;
}

Result Cholesky(const ShapeInferenceInput& input) {
  AUTOTUNE_RETURN_IF_ERROR(CheckOperandCount(input, 1, 1));
  AUTOTUNE_RETURN_IF_ERROR(CheckArrays(input));
  AUTOTUNE_RETURN_IF_ERROR(CheckSquare(*input.operands[0], "cholesky"));
  return *input.operands[0];
}

Result TriangularSolve(const ShapeInferenceInput& input) {
  AUTOTUNE_RETURN_IF_ERROR(CheckOperandCount(input, 2, 2));
  AUTOTUNE_RETURN_IF_ERROR(CheckArrays(input));
  const Shape& a = *input.operands[0];
  const Shape& b = *input.operands[1];
  AUTOTUNE_RETURN_IF_ERROR(CheckSquare(a, "triangular-solve"));
  const bool left = input.attributes.triangular_solve_options().left_side();
  if (a.rank() != b.rank() || !TypesAgree(a.element_type(), b.element_type()) ||
      !ExtentsAgree(a.dimensions(a.rank() - 1), b.dimensions(b.rank() - (left ? 2 : 1)))) {
    return Invalid("triangular-solve cannot solve ", a.ToString(false), " for ", b.ToString(false));
  }
  return b;
}

Result BatchNorm(const ShapeInferenceInput& input) {
  const size_t operands = input.opcode == HloOpcode::kBatchNormTraining ? 3 : 5;
  AUTOTUNE_RETURN_IF_ERROR(CheckOperandCount(input, operands, operands));
  AUTOTUNE_RETURN_IF_ERROR(CheckArrays(input));
  const Shape& operand = *input.operands[0];
  const int64_t feature = input.attributes.feature_index();
  if (feature < 0 || feature >= operand.rank()) {
    return Invalid("feature_index=", feature, " is out of range for rank ", operand.rank());
  }
  const Shape statistics = ResultArray(operand.element_type(), {operand.dimensions(feature)});
  const size_t last_statistic = input.opcode == HloOpcode::kBatchNormGrad ? 4 : operands;
  for (size_t i = 1; i < last_statistic; ++i) {
    if (!DimensionsAgree(*input.operands[i], statistics)) {
      return Invalid("operand ", i, " of ", HloOpcodeName(input.opcode), " must have extents of ",
                     statistics.ToString(false), ", got ", input.operands[i]->ToString(false));
    }
  }
  if (input.opcode == HloOpcode::kBatchNormInference) return operand;
  return Shape::Tuple({operand, statistics, statistics});
}

}  // namespace autotune::shape_rules
