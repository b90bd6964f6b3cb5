#include "hlo/float_format.h"

#include <cmath>
#include <limits>

namespace autotune {
namespace {

using Special = FloatFormat::Special;

uint32_t MantissaMask(const FloatFormat& f) { return (1u << f.mantissa_bits) - 1; }
uint32_t ExponentMask(const FloatFormat& f) { return (1u << f.exponent_bits) - 1; }
uint32_t SignBit(const FloatFormat& f) {
  return f.has_sign ? 1u << (f.exponent_bits + f.mantissa_bits) : 0;
}

// f8e8m0fnu has no zero and no subnormal numbers: exponent 0 is an ordinary power of two.
bool HasZero(const FloatFormat& f) { return f.mantissa_bits > 0; }

uint32_t LargestFiniteBits(const FloatFormat& f) {
  const uint32_t all = (ExponentMask(f) << f.mantissa_bits) | MantissaMask(f);
  switch (f.special) {
    case Special::kIeee:
      return ((ExponentMask(f) - 1) << f.mantissa_bits) | MantissaMask(f);
    case Special::kFiniteNan:
      return all - 1;
    case Special::kFinite:
    case Special::kUnsignedZero:
      return all;
  }
  return all;
}

uint32_t NanBits(const FloatFormat& f, bool negative) {
  const uint32_t sign = negative ? SignBit(f) : 0;
  switch (f.special) {
    case Special::kIeee:
      return sign | (ExponentMask(f) << f.mantissa_bits) | (1u << (f.mantissa_bits - 1));
    case Special::kFiniteNan:
      return sign | (ExponentMask(f) << f.mantissa_bits) | MantissaMask(f);
    case Special::kFinite:
      // No NaN at all: XLA's conversion gives a zero, of the other sign.
      return negative ? 0 : SignBit(f);
    case Special::kUnsignedZero:
      return SignBit(f);
  }
  return 0;
}

uint32_t OverflowBits(const FloatFormat& f, bool negative) {
  if (f.special == Special::kFinite) {
    return (negative ? SignBit(f) : 0) | LargestFiniteBits(f);
  }
  if (f.special == Special::kIeee) {
    return (negative ? SignBit(f) : 0) | (ExponentMask(f) << f.mantissa_bits);
  }
  return NanBits(f, negative);
}

}  // namespace

std::optional<FloatFormat> FloatFormatOf(ElementType type) {
  switch (type) {
    case proto::F16:
      return FloatFormat{5, 10, 15, Special::kIeee};
    case proto::BF16:
      return FloatFormat{8, 7, 127, Special::kIeee};
    case proto::F8E5M2:
      return FloatFormat{5, 2, 15, Special::kIeee};
    case proto::F8E4M3:
      return FloatFormat{4, 3, 7, Special::kIeee};
    case proto::F8E3M4:
      return FloatFormat{3, 4, 3, Special::kIeee};
    case proto::F8E4M3FN:
      return FloatFormat{4, 3, 7, Special::kFiniteNan};
    case proto::F8E4M3B11FNUZ:
      return FloatFormat{4, 3, 11, Special::kUnsignedZero};
    case proto::F8E5M2FNUZ:
      return FloatFormat{5, 2, 16, Special::kUnsignedZero};
    case proto::F8E4M3FNUZ:
      return FloatFormat{4, 3, 8, Special::kUnsignedZero};
    case proto::F4E2M1FN:
      return FloatFormat{2, 1, 1, Special::kFinite};
    case proto::F6E3M2FN:
      return FloatFormat{3, 2, 3, Special::kFinite};
    case proto::F6E2M3FN:
      return FloatFormat{2, 3, 1, Special::kFinite};
    case proto::F8E8M0FNU:
      return FloatFormat{8, 0, 127, Special::kFiniteNan, false};
    default:
      return std::nullopt;
  }
}

bool IsNan(const FloatFormat& f, uint32_t bits) {
  const uint32_t magnitude = bits & ((ExponentMask(f) << f.mantissa_bits) | MantissaMask(f));
  switch (f.special) {
    case Special::kIeee:
      return magnitude > ExponentMask(f) << f.mantissa_bits;
    case Special::kFiniteNan:
      return magnitude == ((ExponentMask(f) << f.mantissa_bits) | MantissaMask(f));
    case Special::kFinite:
      return false;
    case Special::kUnsignedZero:
      return magnitude == 0 && (bits & SignBit(f)) != 0;
  }
  return false;
}

double DecodeFloat(const FloatFormat& f, uint32_t bits) {
  const bool negative = (bits & SignBit(f)) != 0;
  if (IsNan(f, bits)) {
    return std::copysign(std::numeric_limits<double>::quiet_NaN(), negative ? -1.0 : 1.0);
  }
  const uint32_t exponent = bits >> f.mantissa_bits & ExponentMask(f);
  const uint32_t mantissa = bits & MantissaMask(f);
  double value;
  if (f.special == Special::kIeee && exponent == ExponentMask(f)) {
    value = std::numeric_limits<double>::infinity();
  } else if (exponent == 0 && HasZero(f)) {
    value = std::ldexp(mantissa, 1 - f.bias - f.mantissa_bits);
  } else {
    value = std::ldexp(mantissa + (1u << f.mantissa_bits),
                       static_cast<int>(exponent) - f.bias - f.mantissa_bits);
  }
  return negative ? -value : value;
}

uint32_t EncodeFloat(const FloatFormat& f, double value) {
  const bool negative = std::signbit(value);
  if (std::isnan(value)) return NanBits(f, negative);
  if (negative && !f.has_sign && value != 0) return NanBits(f, false);
  const uint32_t sign = negative ? SignBit(f) : 0;
  const double magnitude = std::fabs(value);
  if (std::isinf(magnitude)) return OverflowBits(f, negative);
  const int smallest_exponent = HasZero(f) ? 1 - f.bias : -f.bias;
  if (magnitude == 0) {
    if (!HasZero(f)) return 0;
    return f.special == Special::kUnsignedZero ? 0 : sign;
  }
  int exponent = std::ilogb(magnitude);
  if (exponent < smallest_exponent) exponent = smallest_exponent;
  // Counts in units of the last place at that exponent; nearbyint rounds ties to even.
  const double units = std::nearbyint(std::ldexp(magnitude, f.mantissa_bits - exponent));
  // Adding rather than or-ing lets a mantissa that rounded up carry into the exponent.
  const int64_t implicit = int64_t{1} << f.mantissa_bits;
  int64_t bits = static_cast<int64_t>(units);
  if (HasZero(f)) {
    bits += (static_cast<int64_t>(exponent + f.bias) - 1) * implicit;
  } else {
    bits += static_cast<int64_t>(exponent + f.bias) - 1;
    if (bits < 0) bits = 0;
  }
  if (bits > LargestFiniteBits(f)) return OverflowBits(f, negative);
  if (bits == 0 && f.special == Special::kUnsignedZero) return 0;
  return sign | static_cast<uint32_t>(bits);
}

}  // namespace autotune
