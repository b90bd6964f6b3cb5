#include "hlo/stack_frames.h"

#include <vector>

#include "hlo/unknown_fields.h"

namespace autotune {

int32_t StackFrameCompactor::Renumber(int32_t frame_id) {
  // From the frame up to the first one that is known already, or to the outermost one.
  std::vector<int32_t> chain;
  int32_t known = 0;
  for (int32_t id = frame_id; id != 0;) {
    if (id < 1 || id > from_.stack_frames_size()) return 0;
    const auto it = frames_.find(id);
    if (it != frames_.end()) {
      known = it->second;
      break;
    }
    // A cycle of parents ends here too.
    if (static_cast<int>(chain.size()) >= from_.stack_frames_size()) return 0;
    chain.push_back(id);
    id = from_.stack_frames(id - 1).parent_frame_id();
  }
  for (auto it = chain.rbegin(); it != chain.rend(); ++it) {
    const int32_t location = AddLocation(from_.stack_frames(*it - 1).file_location_id());
    if (location == 0) return 0;
    known = AddFrame(from_.stack_frames(*it - 1), location, known);
    frames_[*it] = known;
  }
  return known;
}

int32_t StackFrameCompactor::AddFrame(const proto::StackFrameIndexProto::StackFrame& old,
                                      int32_t location, int32_t parent) {
  const int32_t next = static_cast<int32_t>(to_->stack_frames_size()) + 1;
  // What a newer schema says of a frame makes it unlike all others.
  if (!HasUnknownFields(old)) {
    const auto [entry, inserted] = frames_by_content_.insert({{location, parent}, next});
    if (!inserted) return entry->second;
  }
  proto::StackFrameIndexProto::StackFrame* frame = to_->add_stack_frames();
  *frame = old;
  frame->set_file_location_id(location);
  frame->set_parent_frame_id(parent);
  return next;
}

int32_t StackFrameCompactor::AddLocation(int32_t location_id) {
  if (location_id < 1 || location_id > from_.file_locations_size()) return 0;
  const proto::StackFrameIndexProto::FileLocation& old = from_.file_locations(location_id - 1);
  const int32_t file =
      AddString(from_.file_names(), old.file_name_id(), &files_, to_->mutable_file_names());
  const int32_t function = AddString(from_.function_names(), old.function_name_id(), &functions_,
                                     to_->mutable_function_names());
  if (file == 0 || function == 0) return 0;
  const int32_t next = static_cast<int32_t>(to_->file_locations_size()) + 1;
  if (!HasUnknownFields(old)) {
    const auto [entry, inserted] = locations_.insert(
        {{file, function, old.line(), old.end_line(), old.column(), old.end_column()}, next});
    if (!inserted) return entry->second;
  }
  proto::StackFrameIndexProto::FileLocation* location = to_->add_file_locations();
  *location = old;
  location->set_file_name_id(file);
  location->set_function_name_id(function);
  return next;
}

int32_t StackFrameCompactor::AddString(const google::protobuf::RepeatedPtrField<std::string>& from,
                                       int32_t id, absl::flat_hash_map<std::string, int32_t>* known,
                                       google::protobuf::RepeatedPtrField<std::string>* to) {
  if (id < 1 || id > from.size()) return 0;
  const auto [entry, inserted] =
      known->insert({from.Get(id - 1), static_cast<int32_t>(to->size()) + 1});
  if (inserted) to->Add(std::string(from.Get(id - 1)));
  return entry->second;
}

}  // namespace autotune
