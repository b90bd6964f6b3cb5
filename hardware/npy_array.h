#ifndef AUTOTUNE_HARDWARE_NPY_ARRAY_H_
#define AUTOTUNE_HARDWARE_NPY_ARRAY_H_

#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"
#include "absl/types/span.h"

namespace autotune {

// The element types of a .npy file that are read here. Complex numbers, texts, dates, structures
// and Python objects are refused.
enum class NpyType {
  kBool,
  kInt8,
  kUint8,
  kInt16,
  kUint16,
  kInt32,
  kUint32,
  kInt64,
  kUint64,
  kFloat16,
  kFloat32,
  kFloat64,
};

// Bytes of one element.
int64_t NpyTypeSize(NpyType type);

// What stands before the elements of a .npy file.
struct NpyHeader {
  NpyType type = NpyType::kFloat32;
  bool big_endian = false;
  // True if the first index varies fastest.
  bool fortran_order = false;
  // Extents, none negative; empty for a single number.
  std::vector<int64_t> shape;

  // Product of the extents. Readers have checked that it does not overflow.
  int64_t ElementCount() const;
  // ElementCount() times the size of an element.
  int64_t DataBytes() const { return ElementCount() * NpyTypeSize(type); }
  // Elements of one entry along the first axis. REQUIRES: at least one axis.
  int64_t RowElements() const;
};

// An array as .npy files hold it (NEP 1, "A Simple File Format for NumPy Arrays"). A value.
struct NpyArray {
  NpyType type = NpyType::kFloat32;
  std::vector<int64_t> shape;
  // The elements, little-endian, the last index fastest.
  std::string data;

  static NpyArray OfFloats(std::vector<int64_t> shape, absl::Span<const float> values);
  static NpyArray OfInt32(std::vector<int64_t> shape, absl::Span<const int32_t> values);
  static NpyArray OfInt64(std::vector<int64_t> shape, absl::Span<const int64_t> values);

  int64_t ElementCount() const { return static_cast<int64_t>(data.size()) / NpyTypeSize(type); }

  // All elements in order, from any type (an integer beyond 2^24 is rounded).
  std::vector<float> Floats() const;
  // All elements in order. InvalidArgument for a type with fractions, and for an unsigned number
  // that int64_t cannot hold.
  absl::StatusOr<std::vector<int64_t>> Integers() const;

  friend bool operator==(const NpyArray&, const NpyArray&) = default;
};

// Elements of `type`, little-endian, as numbers: what NpyArray::Floats and Integers do for data
// that is read in parts (NpyStream). REQUIRES: whole elements.
std::vector<float> NpyFloats(NpyType type, absl::string_view data);
absl::StatusOr<std::vector<int64_t>> NpyIntegers(NpyType type, absl::string_view data);

// The bytes that a .npy file starts with: magic, version, and the length of the header's text. A
// file of version 1 has 10 of them, later ones 12.
inline constexpr size_t kNpyPrefixBytes = 12;

// How long prefix and header text are together, from the first kNpyPrefixBytes of a file (fewer if
// the file is shorter). InvalidArgument if it is no .npy file or the text is absurdly long.
absl::StatusOr<size_t> NpyHeaderBytes(absl::string_view prefix);

// Reads a header of exactly NpyHeaderBytes() bytes. InvalidArgument, saying what is wrong, for
// anything else than what NumPy writes; never crashes on untrusted input.
absl::StatusOr<NpyHeader> ParseNpyHeader(absl::string_view bytes);

// Turns elements as a file holds them into little-endian, last index fastest. REQUIRES: data of
// header.DataBytes() bytes.
std::string NormaliseNpyData(const NpyHeader& header, std::string data);

// The array as a .npy file of version 1. Equal arrays give equal bytes.
std::string SerializeNpy(const NpyArray& array);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_NPY_ARRAY_H_
