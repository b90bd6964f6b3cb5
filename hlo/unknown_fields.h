#ifndef AUTOTUNE_HLO_UNKNOWN_FIELDS_H_
#define AUTOTUNE_HLO_UNKNOWN_FIELDS_H_

#include <google/protobuf/message.h>

#include <cstdint>

#include "proto/xla_data.pb.h"

namespace autotune {

// Fields of a newer schema, which Protobuf keeps beside those that it knows. Pure functions.

// True if the message itself, without those within it, has some.
bool HasUnknownFields(const google::protobuf::Message& message);

// Their number in the message and in all messages within it. With `keep_unknown` the text parser
// puts attributes into such fields; `text_attributes` says whether they count.
int64_t CountUnknownFields(const google::protobuf::Message& message, bool text_attributes);

// Adds those of `from`, and of the messages within it, to the same places of *to: for messages that
// are written anew from what was read. Lists of different lengths are left alone. Costs little
// where there are none. REQUIRES: both have the same type.
void CarryUnknownFields(const google::protobuf::Message& from, google::protobuf::Message* to);
void CarryUnknownFields(const proto::ShapeProto& from, proto::ShapeProto* to);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_UNKNOWN_FIELDS_H_
