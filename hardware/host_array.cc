#include "hardware/host_array.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "hlo/float_format.h"

namespace autotune {
namespace {

template <typename T>
T Load(const char* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof(T));
  return value;
}

// A signed integer in the low `bits` of `value`.
int64_t SignExtend(uint64_t value, int bits) {
  const int unused = 64 - bits;
  return static_cast<int64_t>(value << unused) >> unused;
}

uint64_t LoadBits(const char* bytes, int width) {
  uint64_t value = 0;
  std::memcpy(&value, bytes, static_cast<size_t>(width));
  return value;
}

// The number in the first bytes of an element that is no complex number.
double Decode(ElementType type, const char* bytes) {
  if (type == proto::F32) return static_cast<double>(Load<float>(bytes));
  if (type == proto::F64) return Load<double>(bytes);
  const int width = ByteWidth(type);
  if (const auto format = FloatFormatOf(type)) {
    return DecodeFloat(*format, static_cast<uint32_t>(LoadBits(bytes, width)));
  }
  const uint64_t bits = LoadBits(bytes, width);
  if (IsSignedIntegral(type)) return static_cast<double>(SignExtend(bits, BitWidth(type)));
  return static_cast<double>(bits);
}

// Numbers of an array: two for each complex element.
std::vector<double> Numbers(const HostArray& array) {
  ElementType type = array.type;
  if (type == proto::C64) type = proto::F32;
  if (type == proto::C128) type = proto::F64;
  const auto width = static_cast<size_t>(std::max(1, ByteWidth(type)));
  std::vector<double> numbers(array.bytes.size() / width);
  for (size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = Decode(type, array.bytes.data() + i * width);
  }
  return numbers;
}

double RootMeanSquare(const std::vector<double>& numbers) {
  double sum = 0;
  double finite = 0;
  for (double number : numbers) {
    if (!std::isfinite(number)) continue;
    sum += number * number;
    finite += 1;
  }
  return finite > 0 ? std::sqrt(sum / finite) : 0;
}

bool Close(double expected, double actual, double tolerance, double scale) {
  if (expected == actual) return true;
  if (std::isnan(expected) || std::isnan(actual)) return std::isnan(expected) == std::isnan(actual);
  return std::abs(expected - actual) <= tolerance * std::max(std::abs(expected), scale);
}

absl::Status CompareArray(size_t position, const HostArray& expected, const HostArray& actual) {
  if (expected.type != actual.type || expected.dimensions != actual.dimensions ||
      expected.bytes.size() != actual.bytes.size()) {
    return absl::DataLossError(absl::StrCat("output ", position, " has another shape"));
  }
  const double tolerance = ComparisonTolerance(expected.type);
  if (expected.bytes == actual.bytes) return absl::OkStatus();
  const std::vector<double> wanted = Numbers(expected);
  const std::vector<double> got = Numbers(actual);
  const double scale = RootMeanSquare(wanted);
  size_t different = 0;
  size_t first = 0;
  for (size_t i = 0; i < wanted.size(); ++i) {
    if (Close(wanted[i], got[i], tolerance, scale)) continue;
    if (different++ == 0) first = i;
  }
  if (different == 0) return absl::OkStatus();
  return absl::DataLossError(absl::StrFormat(
      "output %d: %d of %d numbers differ by more than %g; number %d is %g instead of %g", position,
      different, wanted.size(), tolerance, first, got[first], wanted[first]));
}

}  // namespace

int64_t HostArray::ElementCount() const {
  int64_t count = 1;
  for (int64_t extent : dimensions) count *= extent;
  return count;
}

double HostArray::At(int64_t i) const {
  const ElementType part = type == proto::C64    ? proto::F32
                           : type == proto::C128 ? proto::F64
                                                 : type;
  return Decode(part, bytes.data() + i * ByteWidth(type));
}

double ComparisonTolerance(ElementType type) {
  switch (type) {
    case proto::F64:
    case proto::C128:
      return 1e-8;
    case proto::F32:
    case proto::C64:
      return 1e-3;
    case proto::F16:
      return 1e-2;
    case proto::BF16:
      return 5e-2;
    default:
      // A few units of the last place.
      if (const auto format = FloatFormatOf(type)) return std::ldexp(2.0, -format->mantissa_bits);
      return 0;
  }
}

absl::Status CompareOutputs(const std::vector<HostArray>& expected,
                            const std::vector<HostArray>& actual) {
  if (expected.size() != actual.size()) {
    return absl::DataLossError(
        absl::StrCat(actual.size(), " outputs instead of ", expected.size()));
  }
  for (size_t i = 0; i < expected.size(); ++i) {
    absl::Status status = CompareArray(i, expected[i], actual[i]);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

}  // namespace autotune
