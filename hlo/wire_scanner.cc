#include "hlo/wire_scanner.h"

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"

namespace autotune {

bool WireScanner::ReadVarint(uint64_t* value) {
  *value = 0;
  for (int shift = 0; shift < 64; shift += 7) {
    if (position_ == bytes_.size()) return false;
    const unsigned char byte = static_cast<unsigned char>(bytes_[position_++]);
    *value |= uint64_t{byte & 0x7fu} << shift;
    if (byte < 0x80) return true;
  }
  return false;
}

absl::Status WireScanner::Cut(const WireField& field) const {
  return absl::InvalidArgumentError(
      absl::StrCat("the data ends within the field at byte ", field.offset));
}

absl::StatusOr<bool> WireScanner::Next(WireField* field) {
  if (position_ == bytes_.size()) return false;
  *field = WireField();
  field->offset = Offset();
  uint64_t tag = 0;
  if (!ReadVarint(&tag)) return Cut(*field);
  field->number = static_cast<int>(tag >> 3 & 0x1fffffff);
  field->wire_type = static_cast<int>(tag & 7);
  if (field->number == 0 || tag >> 32 != 0) {
    return absl::InvalidArgumentError(absl::StrCat("no protobuf field at byte ", field->offset));
  }
  uint64_t skip = 0;
  switch (field->wire_type) {
    case 0:
      if (!ReadVarint(&field->varint)) return Cut(*field);
      return true;
    case 1:
      skip = 8;
      break;
    case 2:
      if (!ReadVarint(&skip)) return Cut(*field);
      break;
    case 5:
      skip = 4;
      break;
    default:
      return absl::InvalidArgumentError(absl::StrCat("no protobuf field at byte ", field->offset));
  }
  const size_t left = bytes_.size() - position_;
  if (skip > left) {
    return absl::InvalidArgumentError(absl::StrCat("the data is cut: field ", field->number,
                                                   " at byte ", field->offset, " should have ",
                                                   skip, " bytes, of which ", left, " are there"));
  }
  field->payload = bytes_.substr(position_, skip);
  position_ += skip;
  return true;
}

}  // namespace autotune
