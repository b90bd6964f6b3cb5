#ifndef AUTOTUNE_HLO_PROTO_BYTES_H_
#define AUTOTUNE_HLO_PROTO_BYTES_H_

#include <google/protobuf/message_lite.h>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"

namespace autotune {

// Decodes a binary protobuf into *message. InvalidArgument, without a name for the bytes, if they
// are no such message ("cannot be decoded") or more than the 2 GiB that Protobuf takes; prints
// nothing.
absl::Status ParseProtoBytes(absl::string_view bytes, google::protobuf::MessageLite* message);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_PROTO_BYTES_H_
