#include "hlo/unknown_fields.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/unknown_field_set.h>

#include <algorithm>
#include <vector>

#include "hlo/text_parser.h"

namespace autotune {
namespace {

using google::protobuf::FieldDescriptor;
using google::protobuf::Message;
using google::protobuf::Reflection;

const google::protobuf::UnknownFieldSet& UnknownFieldsOf(const Message& message) {
  return message.GetReflection()->GetUnknownFields(message);
}

// Calls visit(field) for every field that is set and holds messages.
template <typename Visit>
void ForEachMessageField(const Message& message, const Visit& visit) {
  std::vector<const FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  for (const FieldDescriptor* field : fields) {
    if (field->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE) visit(*field);
  }
}

bool HasSome(const Message& message) {
  if (HasUnknownFields(message)) return true;
  const Reflection& reflection = *message.GetReflection();
  bool found = false;
  ForEachMessageField(message, [&](const FieldDescriptor& field) {
    if (!field.is_repeated()) {
      found = found || HasSome(reflection.GetMessage(message, &field));
      return;
    }
    for (int i = 0; i < reflection.FieldSize(message, &field) && !found; ++i) {
      found = HasSome(reflection.GetRepeatedMessage(message, &field, i));
    }
  });
  return found;
}

// The same, without asking for lists of fields: every instruction has a shape.
bool ShapeHasSome(const proto::ShapeProto& shape) {
  const proto::LayoutProto& layout = shape.layout();
  const auto any = [](const auto& parts) {
    return std::any_of(parts.begin(), parts.end(),
                       [](const Message& part) { return HasUnknownFields(part); });
  };
  return HasUnknownFields(shape) || HasUnknownFields(layout) || any(layout.tiles()) ||
         any(layout.split_configs()) ||
         std::any_of(shape.tuple_shapes().begin(), shape.tuple_shapes().end(), ShapeHasSome);
}

void Carry(const Message& from, Message* to) {
  const Reflection& reflection = *from.GetReflection();
  if (HasUnknownFields(from)) {
    reflection.MutableUnknownFields(to)->MergeFrom(UnknownFieldsOf(from));
  }
  ForEachMessageField(from, [&](const FieldDescriptor& field) {
    if (!field.is_repeated()) {
      // Not to be made for nothing: whether a message is there can mean something.
      const Message& part = reflection.GetMessage(from, &field);
      if (HasSome(part)) Carry(part, reflection.MutableMessage(to, &field));
      return;
    }
    const int size = reflection.FieldSize(from, &field);
    if (size != reflection.FieldSize(*to, &field)) return;
    for (int i = 0; i < size; ++i) {
      Carry(reflection.GetRepeatedMessage(from, &field, i),
            reflection.MutableRepeatedMessage(to, &field, i));
    }
  });
}

}  // namespace

bool HasUnknownFields(const Message& message) { return !UnknownFieldsOf(message).empty(); }

int64_t CountUnknownFields(const Message& message, bool text_attributes) {
  int64_t count = 0;
  const google::protobuf::UnknownFieldSet& unknown = UnknownFieldsOf(message);
  for (int i = 0; i < unknown.field_count(); ++i) {
    const bool is_text = unknown.field(i).number() == TextParser::kVerbatimAttributeField;
    count += text_attributes || !is_text ? 1 : 0;
  }
  const Reflection& reflection = *message.GetReflection();
  ForEachMessageField(message, [&](const FieldDescriptor& field) {
    if (!field.is_repeated()) {
      count += CountUnknownFields(reflection.GetMessage(message, &field), text_attributes);
      return;
    }
    for (int i = 0; i < reflection.FieldSize(message, &field); ++i) {
      count +=
          CountUnknownFields(reflection.GetRepeatedMessage(message, &field, i), text_attributes);
    }
  });
  return count;
}

void CarryUnknownFields(const Message& from, Message* to) {
  if (HasSome(from)) Carry(from, to);
}

void CarryUnknownFields(const proto::ShapeProto& from, proto::ShapeProto* to) {
  if (ShapeHasSome(from)) Carry(from, to);
}

}  // namespace autotune
