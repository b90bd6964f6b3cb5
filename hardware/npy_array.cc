#include "hardware/npy_array.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"

namespace autotune {
namespace {

static_assert(std::endian::native == std::endian::little, "elements are copied as they are");

template <typename T>
std::string BytesOf(absl::Span<const T> values) {
  std::string bytes(values.size() * sizeof(T), '\0');
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

template <typename From, typename To>
std::vector<To> Convert(absl::string_view data) {
  std::vector<To> values(data.size() / sizeof(From));
  for (size_t i = 0; i < values.size(); ++i) {
    From value;
    std::memcpy(&value, data.data() + i * sizeof(From), sizeof(From));
    values[i] = static_cast<To>(value);
  }
  return values;
}

// IEEE 754 binary16.
float HalfToFloat(uint16_t bits) {
  const int exponent = (bits >> 10) & 0x1f;
  const int fraction = bits & 0x3ff;
  const float sign = (bits & 0x8000) != 0 ? -1.0f : 1.0f;
  if (exponent == 0x1f) {
    return fraction != 0 ? std::numeric_limits<float>::quiet_NaN()
                         : sign * std::numeric_limits<float>::infinity();
  }
  if (exponent == 0) return sign * std::ldexp(static_cast<float>(fraction), -24);
  return sign * std::ldexp(static_cast<float>(fraction | 0x400), exponent - 25);
}

std::vector<float> HalvesToFloats(absl::string_view data) {
  const std::vector<uint16_t> bits = Convert<uint16_t, uint16_t>(data);
  std::vector<float> values(bits.size());
  std::transform(bits.begin(), bits.end(), values.begin(), HalfToFloat);
  return values;
}

absl::StatusOr<std::vector<int64_t>> UnsignedToIntegers(absl::string_view data) {
  std::vector<int64_t> values = Convert<uint64_t, int64_t>(data);
  if (std::any_of(values.begin(), values.end(), [](int64_t value) { return value < 0; })) {
    return absl::InvalidArgumentError("holds an unsigned number above 2^63");
  }
  return values;
}

// Moves the elements of an array whose first index is fastest.
std::string ToRowMajor(const std::vector<int64_t>& shape, size_t element, const std::string& data) {
  std::string moved(data.size(), '\0');
  std::vector<int64_t> index(shape.size(), 0);
  for (size_t to = 0; to < data.size(); to += element) {
    size_t from = 0;
    for (size_t axis = shape.size(); axis-- > 0;) {
      from = from * static_cast<size_t>(shape[axis]) + static_cast<size_t>(index[axis]);
    }
    std::memcpy(&moved[to], &data[from * element], element);
    for (size_t axis = shape.size(); axis-- > 0;) {
      if (++index[axis] < shape[axis]) break;
      index[axis] = 0;
    }
  }
  return moved;
}

}  // namespace

int64_t NpyTypeSize(NpyType type) {
  switch (type) {
    case NpyType::kBool:
    case NpyType::kInt8:
    case NpyType::kUint8:
      return 1;
    case NpyType::kInt16:
    case NpyType::kUint16:
    case NpyType::kFloat16:
      return 2;
    case NpyType::kInt32:
    case NpyType::kUint32:
    case NpyType::kFloat32:
      return 4;
    case NpyType::kInt64:
    case NpyType::kUint64:
    case NpyType::kFloat64:
      return 8;
  }
  return 1;
}

int64_t NpyHeader::ElementCount() const {
  int64_t count = 1;
  for (const int64_t extent : shape) count *= extent;
  return count;
}

int64_t NpyHeader::RowElements() const {
  int64_t count = 1;
  for (size_t axis = 1; axis < shape.size(); ++axis) count *= shape[axis];
  return count;
}

NpyArray NpyArray::OfFloats(std::vector<int64_t> shape, absl::Span<const float> values) {
  return {NpyType::kFloat32, std::move(shape), BytesOf(values)};
}

NpyArray NpyArray::OfInt32(std::vector<int64_t> shape, absl::Span<const int32_t> values) {
  return {NpyType::kInt32, std::move(shape), BytesOf(values)};
}

NpyArray NpyArray::OfInt64(std::vector<int64_t> shape, absl::Span<const int64_t> values) {
  return {NpyType::kInt64, std::move(shape), BytesOf(values)};
}

std::vector<float> NpyArray::Floats() const { return NpyFloats(type, data); }

absl::StatusOr<std::vector<int64_t>> NpyArray::Integers() const { return NpyIntegers(type, data); }

std::vector<float> NpyFloats(NpyType type, absl::string_view data) {
  switch (type) {
    case NpyType::kBool:
    case NpyType::kUint8:
      return Convert<uint8_t, float>(data);
    case NpyType::kInt8:
      return Convert<int8_t, float>(data);
    case NpyType::kInt16:
      return Convert<int16_t, float>(data);
    case NpyType::kUint16:
      return Convert<uint16_t, float>(data);
    case NpyType::kInt32:
      return Convert<int32_t, float>(data);
    case NpyType::kUint32:
      return Convert<uint32_t, float>(data);
    case NpyType::kInt64:
      return Convert<int64_t, float>(data);
    case NpyType::kUint64:
      return Convert<uint64_t, float>(data);
    case NpyType::kFloat16:
      return HalvesToFloats(data);
    case NpyType::kFloat32:
      return Convert<float, float>(data);
    case NpyType::kFloat64:
      return Convert<double, float>(data);
  }
  return {};
}

absl::StatusOr<std::vector<int64_t>> NpyIntegers(NpyType type, absl::string_view data) {
  switch (type) {
    case NpyType::kBool:
    case NpyType::kUint8:
      return Convert<uint8_t, int64_t>(data);
    case NpyType::kInt8:
      return Convert<int8_t, int64_t>(data);
    case NpyType::kInt16:
      return Convert<int16_t, int64_t>(data);
    case NpyType::kUint16:
      return Convert<uint16_t, int64_t>(data);
    case NpyType::kInt32:
      return Convert<int32_t, int64_t>(data);
    case NpyType::kUint32:
      return Convert<uint32_t, int64_t>(data);
    case NpyType::kInt64:
      return Convert<int64_t, int64_t>(data);
    case NpyType::kUint64:
      return UnsignedToIntegers(data);
    case NpyType::kFloat16:
    case NpyType::kFloat32:
    case NpyType::kFloat64:
      break;
  }
  return absl::InvalidArgumentError("holds numbers with fractions where integers belong");
}

std::string NormaliseNpyData(const NpyHeader& header, std::string data) {
  const size_t element = static_cast<size_t>(NpyTypeSize(header.type));
  if (header.big_endian) {
    for (size_t at = 0; at + element <= data.size(); at += element) {
      std::reverse(data.begin() + static_cast<std::ptrdiff_t>(at),
                   data.begin() + static_cast<std::ptrdiff_t>(at + element));
    }
  }
  if (!header.fortran_order || header.shape.size() < 2) return data;
  return ToRowMajor(header.shape, element, data);
}

}  // namespace autotune
