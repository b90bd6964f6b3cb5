// What programs carry along without computing with it: metadata, origins, front-end attributes.

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "hlo/text_parser.h"
#include "hlo/text_printer.h"

namespace autotune {

void TextPrinter::FrontendAttributes(const proto::FrontendAttributes& attributes) {
  // A protobuf map has no order of its own.
  std::vector<std::pair<absl::string_view, absl::string_view>> sorted(attributes.map().begin(),
                                                                      attributes.map().end());
  std::sort(sorted.begin(), sorted.end());
  Add('{');
  bool first = true;
  for (const auto& [name, value] : sorted) {
    if (!std::exchange(first, false)) Add(',');
    Add(name);
    Add('=');
    QuotedOrJson(value);
  }
  Add('}');
}

void TextPrinter::OriginalArray(const proto::OriginalArrayProto& array) {
  Add('{');
  if (!array.instruction_name().empty()) {
    Quoted(array.instruction_name());
    if (!array.shape_index().empty()) {
      Add(" {");
      Numbers(array.shape_index());
      Add('}');
    }
  }
  Add('}');
}

// The elements stand in the order of their indices; the parentheses of the text say where.
void TextPrinter::OriginalValue(const proto::OriginalValueProto& value) {
  Begin("origin");
  if (value.is_synthetic_call()) return Add("{[synthetic_call]}");
  Add('{');
  std::vector<int64_t> at;
  for (const proto::OriginalValueElementProto& element : value.elements()) {
    const auto& index = element.shape_index();
    size_t shared = 0;
    while (shared < at.size() && shared < static_cast<size_t>(index.size()) &&
           at[shared] == index.Get(static_cast<int>(shared))) {
      ++shared;
    }
    // Up to the deepest tuple that holds both, on to the part that holds this one, and down.
    while (at.size() > shared + 1) {
      Add(')');
      at.pop_back();
    }
    for (size_t depth = shared; depth < static_cast<size_t>(index.size()); ++depth) {
      const int64_t wanted = index.Get(static_cast<int>(depth));
      if (depth >= at.size()) {
        Add('(');
        at.push_back(0);
      }
      for (; at[depth] < wanted && at[depth] < 1 << 20; ++at[depth]) Add(", ");
    }
    OriginalArray(element.original_array());
  }
  while (!at.empty()) {
    Add(')');
    at.pop_back();
  }
  Add('}');
}

void TextPrinter::Metadata(const OpMetadata& metadata) {
  Begin("metadata");
  if (metadata.full != nullptr) return Metadata(*metadata.full);
  bool first = true;
  const auto begin = [&](absl::string_view name) {
    if (!std::exchange(first, false)) Add(' ');
    Add(name);
    Add('=');
  };
  const auto text = [&](absl::string_view name, absl::string_view value) {
    if (value.empty()) return;
    begin(name);
    Quoted(value);
  };
  const auto number = [&](absl::string_view name, int64_t value) {
    if (value == 0) return;
    begin(name);
    Number(value);
  };
  Add('{');
  text("op_type", metadata.op_type);
  text("op_name", metadata.op_name);
  text("source_file", metadata.source_file);
  number("source_line", metadata.source_line);
  number("source_end_line", metadata.source_end_line);
  number("source_column", metadata.source_column);
  number("source_end_column", metadata.source_end_column);
  number("stack_frame_id", metadata.stack_frame_id);
  Add('}');
}

void TextPrinter::Metadata(const proto::OpMetadata& metadata) {
  OpMetadata plain;
  plain.op_type = metadata.op_type();
  plain.op_name = metadata.op_name();
  plain.source_file = metadata.source_file();
  plain.source_line = metadata.source_line();
  plain.source_end_line = metadata.source_end_line();
  plain.source_column = metadata.source_column();
  plain.source_end_column = metadata.source_end_column();
  plain.stack_frame_id = metadata.stack_frame_id();
  const size_t begin = out_.size();
  Metadata(plain);
  out_.erase(begin, absl::string_view(", metadata=").size());
  out_.pop_back();
  const auto* profile = metadata.GetDescriptor()->FindFieldByName("profile_type");
  const google::protobuf::Reflection* reflection = metadata.GetReflection();
  const int profiles = reflection->FieldSize(metadata, profile);
  if (profiles > 0) {
    Add(" profile_type={");
    for (int i = 0; i < profiles; ++i) {
      if (i > 0) Add(',');
      Number(reflection->GetRepeatedEnumValue(metadata, profile, i));
    }
    Add('}');
  }
  const auto text = [&](absl::string_view name, const std::string& value) {
    if (value.empty()) return;
    Add(name);
    Quoted(value);
  };
  text(" deduplicated_name=", metadata.deduplicated_name());
  text(" scheduling_name=", metadata.scheduling_name());
  if (metadata.has_metadata_payload()) {
    const proto::Payload& payload = metadata.metadata_payload();
    const bool in_table = payload.has_id() && payloads_ != nullptr && payload.id() >= 0 &&
                          payload.id() < payloads_->size();
    Add(" metadata_payload=");
    Quoted(in_table ? payloads_->Get(static_cast<int>(payload.id())) : payload.value());
  }
  Add('}');
}

}  // namespace autotune
