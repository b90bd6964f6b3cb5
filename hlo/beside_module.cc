#include "hlo/beside_module.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/io/coded_stream.h>
#include <google/protobuf/io/zero_copy_stream_impl_lite.h>
#include <google/protobuf/unknown_field_set.h>

#include <set>
#include <string>

#include "absl/container/flat_hash_map.h"
#include "absl/strings/str_cat.h"

namespace autotune {
namespace {

using google::protobuf::Message;
using Ids = absl::flat_hash_map<int64_t, int64_t>;

// The names of the fields that are set but for `hidden`, unknown ones by number, each once.
std::vector<std::string> FieldNames(const Message& message, absl::string_view hidden) {
  std::vector<const google::protobuf::FieldDescriptor*> fields;
  message.GetReflection()->ListFields(message, &fields);
  std::vector<std::string> names;
  for (const auto* field : fields) {
    if (field->name() != hidden) names.push_back(field->name());
  }
  std::set<int> numbers;
  const google::protobuf::UnknownFieldSet& unknown =
      message.GetReflection()->GetUnknownFields(message);
  for (int i = 0; i < unknown.field_count(); ++i) numbers.insert(unknown.field(i).number());
  for (const int number : numbers) names.push_back(absl::StrCat("field ", number));
  return names;
}

std::string Serialised(const Message& message) {
  std::string out;
  google::protobuf::io::StringOutputStream stream(&out);
  google::protobuf::io::CodedOutputStream coded(&stream);
  coded.SetSerializationDeterministic(true);
  message.SerializePartialToCodedStream(&coded);
  coded.Trim();
  return out;
}

// Today's id of each old one that belongs to one instruction only.
Ids ChangedIds(const std::vector<int64_t>& before, const std::vector<int64_t>& now) {
  Ids ids;
  std::set<int64_t> ambiguous;
  for (size_t i = 0; i < before.size() && i < now.size(); ++i) {
    const auto [it, inserted] = ids.emplace(before[i], now[i]);
    if (!inserted && it->second != now[i]) ambiguous.insert(before[i]);
  }
  for (const int64_t id : ambiguous) ids.erase(id);
  return ids;
}

void Renumber(const Ids& ids, proto::BufferAssignmentProto* assignment) {
  const auto renumber = [&ids](proto::LogicalBufferProto::Location* location) {
    const auto it = ids.find(location->instruction_id());
    if (it != ids.end()) location->set_instruction_id(it->second);
  };
  for (proto::LogicalBufferProto& buffer : *assignment->mutable_logical_buffers()) {
    if (buffer.has_defined_at()) renumber(buffer.mutable_defined_at());
  }
  for (auto& alias : *assignment->mutable_buffer_aliases()) {
    if (alias.has_location()) renumber(alias.mutable_location());
  }
}

}  // namespace

std::vector<int64_t> InstructionIds(const proto::HloModuleProto& module) {
  std::vector<int64_t> ids;
  for (const proto::HloComputationProto& computation : module.computations()) {
    for (const proto::HloInstructionProto& i : computation.instructions()) ids.push_back(i.id());
  }
  return ids;
}

BesideModule TakeBeside(proto::HloProto* whole, const Message* outer,
                        const std::vector<int64_t>& ids_before) {
  BesideModule beside;
  if (outer != nullptr) {
    beside.other_fields = FieldNames(*outer, whole != nullptr ? "hlo" : "hlo_module");
  }
  if (whole == nullptr) return beside;
  beside.hlo_proto_fields = FieldNames(*whole, "hlo_module");
  proto::HloProto rest;
  if (whole->has_buffer_assignment()) {
    rest.mutable_buffer_assignment()->Swap(whole->mutable_buffer_assignment());
    const std::vector<int64_t> ids_now = InstructionIds(whole->hlo_module());
    if (ids_now != ids_before) {
      Renumber(ChangedIds(ids_before, ids_now), rest.mutable_buffer_assignment());
    }
  }
  rest.GetReflection()->MutableUnknownFields(&rest)->MergeFrom(
      whole->GetReflection()->GetUnknownFields(*whole));
  beside.hlo_proto = Serialised(rest);
  return beside;
}

}  // namespace autotune
