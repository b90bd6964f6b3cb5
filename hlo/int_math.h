#ifndef AUTOTUNE_HLO_INT_MATH_H_
#define AUTOTUNE_HLO_INT_MATH_H_

#include <cstdint>
#include <limits>

namespace autotune {

// Arithmetic on extents and counts. Programs come from anywhere, so that products and sums may
// leave int64: the saturating functions then give the nearest number that int64 has.

// a + b.
inline int64_t SaturatingAdd(int64_t a, int64_t b) {
  int64_t sum = 0;
  if (!__builtin_add_overflow(a, b, &sum)) return sum;
  return a > 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

// a - b.
inline int64_t SaturatingSubtract(int64_t a, int64_t b) {
  int64_t difference = 0;
  if (!__builtin_sub_overflow(a, b, &difference)) return difference;
  return a >= 0 ? std::numeric_limits<int64_t>::max() : std::numeric_limits<int64_t>::min();
}

// a * b.
inline int64_t SaturatingMultiply(int64_t a, int64_t b) {
  int64_t product = 0;
  if (!__builtin_mul_overflow(a, b, &product)) return product;
  return (a < 0) == (b < 0) ? std::numeric_limits<int64_t>::max()
                            : std::numeric_limits<int64_t>::min();
}

// a / b, rounded down. REQUIRES: b > 0.
inline int64_t FloorDiv(int64_t a, int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

// a / b, rounded up. REQUIRES: b > 0.
inline int64_t CeilDiv(int64_t a, int64_t b) { return a / b + (a % b > 0 ? 1 : 0); }

// The smallest multiple of `unit` that is not less than `a`, saturating. REQUIRES: unit > 0.
inline int64_t RoundUp(int64_t a, int64_t unit) {
  return SaturatingMultiply(CeilDiv(a, unit), unit);
}

}  // namespace autotune

#endif  // AUTOTUNE_HLO_INT_MATH_H_
