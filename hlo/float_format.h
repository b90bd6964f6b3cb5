#ifndef AUTOTUNE_HLO_FLOAT_FORMAT_H_
#define AUTOTUNE_HLO_FLOAT_FORMAT_H_

#include <cstdint>
#include <optional>

#include "hlo/element_type.h"

namespace autotune {

// The bit layout of a floating-point type of at most 16 bits. Sources: IEEE 754 (f16), Micikevicius
// et al. 2022 (f8e5m2, f8e4m3fn), Noune et al. 2022 (the FNUZ types), the OCP microscaling formats
// specification 1.0 (f4e2m1fn, f6*, f8e8m0fnu).
struct FloatFormat {
  int exponent_bits;
  int mantissa_bits;
  int bias;
  enum class Special : uint8_t {
    kIeee,         // infinities and NaNs in the highest exponent
    kFiniteNan,    // no infinity; NaN is all ones below the sign ("FN")
    kFinite,       // neither infinity nor NaN
    kUnsignedZero  // no infinity, one NaN where -0 would be ("FNUZ")
  } special;
  bool has_sign = true;
};

// The format of a floating-point type of at most 16 bits, or nothing for other types.
std::optional<FloatFormat> FloatFormatOf(ElementType type);

// NaN payloads of a double: the bits below its quiet bit and that bit, and the payload of a NaN
// that says nothing.
inline constexpr uint64_t kDoubleNanPayloadMask = (uint64_t{1} << 52) - 1;
inline constexpr uint64_t kDoubleQuietNanPayload = uint64_t{1} << 51;

// The value of the low bits of `bits`.
double DecodeFloat(const FloatFormat& format, uint32_t bits);

// The nearest value of the format, ties to even. What is too large becomes infinity where there is
// one, else NaN where there is one, else the largest finite value.
uint32_t EncodeFloat(const FloatFormat& format, double value);

// True if the pattern is a NaN.
bool IsNan(const FloatFormat& format, uint32_t bits);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_FLOAT_FORMAT_H_
