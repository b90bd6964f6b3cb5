#include "hlo/shape_rules.h"

#include <algorithm>
#include <cstdint>
#include <limits>

#include "hlo/element_type.h"

namespace autotune::shape_rules {

Shape ResultArray(ElementType type, absl::Span<const int64_t> dimensions) {
  return Shape::ArrayWithDefaultLayout(type, dimensions);
}

absl::Status CheckOperandCount(const ShapeInferenceInput& input, size_t at_least, size_t at_most) {
  const size_t count = input.operands.size();
  if (count >= at_least && count <= at_most) return absl::OkStatus();
  const std::string wanted = at_least == at_most ? absl::StrCat(at_least)
                             : at_most == std::numeric_limits<size_t>::max()
                                 ? absl::StrCat("at least ", at_least)
                                 : absl::StrCat(at_least, " to ", at_most);
  return Invalid(HloOpcodeName(input.opcode), " takes ", wanted, " operand(s), got ", count);
}

absl::Status CheckArrays(const ShapeInferenceInput& input, size_t first, size_t last) {
  for (size_t i = first; i < last; ++i) {
    if (input.operands[i]->IsArray()) continue;
    return Invalid("operand ", i, " of ", HloOpcodeName(input.opcode), " must be an array, got ",
                   input.operands[i]->ToString());
  }
  return absl::OkStatus();
}

absl::Status CheckArrays(const ShapeInferenceInput& input) {
  return CheckArrays(input, 0, input.operands.size());
}

absl::Status CheckDimensionNumbers(absl::string_view what, absl::Span<const int64_t> numbers,
                                   int64_t rank) {
  std::vector<int64_t> sorted(numbers.begin(), numbers.end());
  std::sort(sorted.begin(), sorted.end());
  for (size_t i = 0; i < sorted.size(); ++i) {
    if (sorted[i] < 0 || sorted[i] >= rank) {
      return Invalid(what, " names dimension ", sorted[i], " of an array of rank ", rank);
    }
    if (i > 0 && sorted[i] == sorted[i - 1]) {
      return Invalid(what, " names dimension ", sorted[i], " twice");
    }
  }
  return absl::OkStatus();
}

bool ExtentsAgree(int64_t a, int64_t b) {
  return a == b || a == Shape::kUnbounded || b == Shape::kUnbounded;
}

bool DimensionsAgree(const Shape& a, const Shape& b) {
  return std::equal(a.dimensions().begin(), a.dimensions().end(), b.dimensions().begin(),
                    b.dimensions().end(), ExtentsAgree);
}

bool TypesAgree(ElementType a, ElementType b) { return a == b || (IsFloating(a) && IsFloating(b)); }

ElementType WiderType(ElementType a, ElementType b) { return BitWidth(a) >= BitWidth(b) ? a : b; }

absl::StatusOr<int64_t> CheckedProduct(int64_t a, int64_t b) {
  int64_t product;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return Invalid("an extent of ", a, " x ", b, " is too large");
}

}  // namespace autotune::shape_rules
