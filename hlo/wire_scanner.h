#ifndef AUTOTUNE_HLO_WIRE_SCANNER_H_
#define AUTOTUNE_HLO_WIRE_SCANNER_H_

#include <cstdint>

#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace autotune {

// One field of a protobuf message in wire form.
struct WireField {
  int number = 0;
  // 0 varint, 1 eight bytes, 2 length-delimited, 5 four bytes.
  int wire_type = 0;
  uint64_t varint = 0;        // of wire type 0
  absl::string_view payload;  // of wire type 2
  size_t offset = 0;          // of the field's first byte in the file
};

// Walks over the fields of a message without knowing its schema, so that errors can name the record
// and the byte. Does not own the bytes. Never reads past them.
class WireScanner {
 public:
  // `base` is the offset of `bytes` in the file.
  explicit WireScanner(absl::string_view bytes, size_t base = 0) : bytes_(bytes), base_(base) {}

  // The next field; false at the end. InvalidArgument, naming the byte, for what is no protobuf or
  // is cut.
  absl::StatusOr<bool> Next(WireField* field);

 private:
  size_t Offset() const { return base_ + position_; }
  bool ReadVarint(uint64_t* value);
  absl::Status Cut(const WireField& field) const;

  absl::string_view bytes_;
  size_t base_;
  size_t position_ = 0;
};

}  // namespace autotune

#endif  // AUTOTUNE_HLO_WIRE_SCANNER_H_
