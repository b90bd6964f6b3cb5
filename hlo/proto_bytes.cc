#include "hlo/proto_bytes.h"

#include <google/protobuf/stubs/logging.h>

#include <limits>

#include "absl/strings/str_cat.h"

namespace autotune {

absl::Status ParseProtoBytes(absl::string_view bytes, google::protobuf::MessageLite* message) {
  if (bytes.size() > static_cast<size_t>(std::numeric_limits<int>::max())) {
    return absl::InvalidArgumentError(
        absl::StrCat("has ", bytes.size(), " bytes, more than the 2 GiB that a protobuf can have"));
  }
  // The status tells what is wrong; Protobuf would print it as well.
  const google::protobuf::LogSilencer silencer;
  if (message->ParseFromArray(bytes.data(), static_cast<int>(bytes.size()))) {
    return absl::OkStatus();
  }
  return absl::InvalidArgumentError("cannot be decoded");
}

}  // namespace autotune
