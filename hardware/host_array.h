#ifndef AUTOTUNE_HARDWARE_HOST_ARRAY_H_
#define AUTOTUNE_HARDWARE_HOST_ARRAY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "hlo/element_type.h"
#include "hlo/module.h"
#include "hlo/shape.h"

namespace autotune {

// An array in the memory of the host: row-major, dense, little endian, ByteWidth(type) bytes an
// element (types of less than a byte take one, in its low bits). A plain value.
struct HostArray {
  ElementType type = proto::PRIMITIVE_TYPE_INVALID;
  std::vector<int64_t> dimensions;
  std::string bytes;

  int64_t ElementCount() const;
  // Element `i` in row-major order; of a complex number the real part. REQUIRES: it is there.
  double At(int64_t i) const;
};

// An array of zeros. REQUIRES: an array shape.
HostArray ZeroArray(const Shape& shape);

// Random values of one array, integers below `limit` (0: small), as RandomInputs makes them.
// REQUIRES: an array shape.
HostArray RandomArray(const Shape& shape, int64_t limit, uint64_t seed);

// Random values for the entry parameters of a program, in their order; the same for the same seed.
// Floating-point numbers are uniform in [-1, 1), integers small and not negative, and integers that
// are used as indices (of gather, scatter, dynamic-slice, dynamic-update-slice, also behind
// reshapes, arithmetic and calls) stay in the range of what they index. Long arrays repeat a block
// of some 260,000 values. Unimplemented, naming the parameter, for one that is no array or has a
// dynamic extent.
absl::StatusOr<std::vector<HostArray>> RandomInputs(const HloModule& program, uint64_t seed);

// For each entry parameter the number of values that it may take as an index (0 to one less), or 0
// where it is not used as one.
std::vector<int64_t> IndexLimits(const HloModule& program);

// How far elements of a type may be apart, relative to the larger of the expected element and the
// root mean square of its array: different tiles sum in different orders. 0 for what is exact.
double ComparisonTolerance(ElementType type);

// OK if `actual` equals `expected` within ComparisonTolerance, array by array; NaN and infinity
// only equal themselves. Otherwise says where they differ, by how much, and in how many places.
absl::Status CompareOutputs(const std::vector<HostArray>& expected,
                            const std::vector<HostArray>& actual);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_HOST_ARRAY_H_
