// The text in front of a .npy file's elements: a Python dictionary such as
// {'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }

#include <limits>
#include <optional>
#include <utility>

#include "absl/status/status.h"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/numbers.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "hardware/npy_array.h"

namespace autotune {
namespace {

constexpr absl::string_view kMagic("\x93NUMPY", 6);
// NumPy itself refuses headers above 10,000 characters.
constexpr size_t kMaxHeaderText = 65536;
constexpr size_t kMaxAxes = 32;
// No array of more bytes is believed.
constexpr int64_t kMaxDataBytes = int64_t{1} << 42;

struct TypeCode {
  const char* code;
  NpyType type;
};
constexpr TypeCode kTypes[] = {
    {"b1", NpyType::kBool},    {"i1", NpyType::kInt8},    {"u1", NpyType::kUint8},
    {"i2", NpyType::kInt16},   {"u2", NpyType::kUint16},  {"i4", NpyType::kInt32},
    {"u4", NpyType::kUint32},  {"i8", NpyType::kInt64},   {"u8", NpyType::kUint64},
    {"f2", NpyType::kFloat16}, {"f4", NpyType::kFloat32}, {"f8", NpyType::kFloat64},
};

absl::Status Bad(absl::string_view what) {
  return absl::InvalidArgumentError(absl::StrCat("the array's header ", what));
}

// Reads the dictionary from left to right.
class HeaderReader {
 public:
  explicit HeaderReader(absl::string_view text) : text_(text) {}

  absl::StatusOr<NpyHeader> Read() {
    if (!Take("{")) return Bad("is no dictionary");
    while (!Take("}")) {
      std::optional<std::string> name = Quoted();
      if (!name || !Take(":")) return Bad("is no dictionary");
      if (absl::Status status = ReadMember(*name); !status.ok()) return status;
      if (!Take(",") && !absl::StartsWith(Rest(), "}")) return Bad("is no dictionary");
    }
    if (!Rest().empty()) return Bad("has more than a dictionary");
    if (!has_type_ || !has_order_ || !has_shape_) return Bad("lacks descr, fortran_order or shape");
    return CheckSize();
  }

 private:
  absl::string_view Rest() {
    text_ = absl::StripLeadingAsciiWhitespace(text_);
    return text_;
  }

  bool Take(absl::string_view token) {
    Rest();
    return absl::ConsumePrefix(&text_, token);
  }

  std::optional<std::string> Quoted() {
    Rest();
    if (text_.empty() || (text_[0] != '\'' && text_[0] != '"')) return std::nullopt;
    const size_t end = text_.find(text_[0], 1);
    if (end == absl::string_view::npos) return std::nullopt;
    std::string content(text_.substr(1, end - 1));
    text_.remove_prefix(end + 1);
    return content;
  }

  absl::Status ReadMember(const std::string& name) {
    if (name == "descr" && !has_type_) return ReadType();
    if (name == "shape" && !has_shape_) return ReadShape();
    if (name != "fortran_order" || has_order_) return Bad(absl::StrCat("has a member ", name));
    has_order_ = true;
    if (Take("True")) {
      header_.fortran_order = true;
      return absl::OkStatus();
    }
    return Take("False") ? absl::OkStatus() : Bad("has a wrong fortran_order");
  }

  absl::Status ReadType() {
    has_type_ = true;
    const std::optional<std::string> code = Quoted();
    if (!code) return Bad("describes a structure, which is not read");
    const absl::string_view kind = absl::string_view(*code).substr(code->empty() ? 0 : 1);
    for (const TypeCode& known : kTypes) {
      if (kind != known.code || !absl::StrContains("<>|=", code->substr(0, 1))) continue;
      header_.type = known.type;
      header_.big_endian = (*code)[0] == '>' && NpyTypeSize(known.type) > 1;
      return absl::OkStatus();
    }
    return Bad(absl::StrCat("has the type \"", code->substr(0, 20), "\", which is not read"));
  }

  absl::Status ReadShape() {
    has_shape_ = true;
    if (!Take("(")) return Bad("has no shape");
    while (!Take(")")) {
      Rest();
      size_t digits = 0;
      while (digits < text_.size() && absl::ascii_isdigit(text_[digits])) ++digits;
      int64_t extent = 0;
      if (!absl::SimpleAtoi(text_.substr(0, digits), &extent)) return Bad("has a wrong shape");
      text_.remove_prefix(digits);
      absl::ConsumePrefix(&text_, "L");  // as Python 2 wrote it
      header_.shape.push_back(extent);
      if (header_.shape.size() > kMaxAxes) return Bad("has too many axes");
      if (!Take(",") && !absl::StartsWith(Rest(), ")")) return Bad("has a wrong shape");
    }
    return absl::OkStatus();
  }

  // Products must not overflow, whatever the order of multiplication.
  absl::StatusOr<NpyHeader> CheckSize() {
    int64_t bytes = NpyTypeSize(header_.type);
    for (const int64_t extent : header_.shape) {
      if (extent > kMaxDataBytes / bytes) return Bad("has a shape that is too large");
      if (extent > 0) bytes *= extent;
    }
    return std::move(header_);
  }

  absl::string_view text_;
  NpyHeader header_;
  bool has_type_ = false;
  bool has_order_ = false;
  bool has_shape_ = false;
};

size_t ByteAt(absl::string_view bytes, size_t i) { return static_cast<unsigned char>(bytes[i]); }

size_t PrefixBytes(absl::string_view bytes) { return ByteAt(bytes, 6) == 1 ? 10 : 12; }

}  // namespace

absl::StatusOr<size_t> NpyHeaderBytes(absl::string_view prefix) {
  if (!absl::StartsWith(prefix, kMagic) || prefix.size() < kMagic.size() + 4) {
    return absl::InvalidArgumentError("it is no .npy array");
  }
  const size_t version = ByteAt(prefix, 6);
  if (version < 1 || version > 3) return Bad(absl::StrCat("has the unknown version ", version));
  const size_t start = PrefixBytes(prefix);
  if (prefix.size() < start) return Bad("is cut");
  size_t length = ByteAt(prefix, 8) | ByteAt(prefix, 9) << 8;
  if (version > 1) length |= ByteAt(prefix, 10) << 16 | ByteAt(prefix, 11) << 24;
  if (length > kMaxHeaderText) return Bad("is too long");
  return start + length;
}

absl::StatusOr<NpyHeader> ParseNpyHeader(absl::string_view bytes) {
  const absl::StatusOr<size_t> length = NpyHeaderBytes(bytes.substr(0, kNpyPrefixBytes));
  if (!length.ok()) return length.status();
  if (bytes.size() != *length) return Bad("is cut");
  return HeaderReader(bytes.substr(PrefixBytes(bytes))).Read();
}

std::string SerializeNpy(const NpyArray& array) {
  std::string descr;
  for (const TypeCode& known : kTypes) {
    if (known.type == array.type) {
      descr = absl::StrCat(NpyTypeSize(array.type) == 1 ? "|" : "<", known.code);
    }
  }
  std::string text = absl::StrCat("{'descr': '", descr, "', 'fortran_order': False, 'shape': (");
  for (size_t axis = 0; axis < array.shape.size(); ++axis) {
    absl::StrAppend(&text, axis == 0 ? "" : ", ", array.shape[axis]);
  }
  absl::StrAppend(&text, array.shape.size() == 1 ? "," : "", "), }");
  // Elements start at a multiple of 64 bytes.
  while ((10 + text.size() + 1) % 64 != 0) text += ' ';
  text += '\n';
  std::string bytes(kMagic);
  bytes += '\x01';
  bytes += '\0';
  bytes += static_cast<char>(text.size() & 0xff);
  bytes += static_cast<char>(text.size() >> 8);
  return absl::StrCat(bytes, text, array.data);
}

}  // namespace autotune
