#include <algorithm>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hlo/text_parser.h"

namespace autotune {
namespace {

constexpr int kMaxModuleNesting = 4;

constexpr absl::string_view kHeaderAttributes =
    "alias_passthrough_params, allow_spmd_sharding_propagation_to_output, "
    "allow_spmd_sharding_propagation_to_parameters, buffer_donor, entry_computation_layout, "
    "frontend_attributes, input_output_alias, is_scheduled, num_partitions, "
    "origin_recovery_table, replica_count";

}  // namespace

absl::Status TextParser::ParseModule() {
  auto* module = builder_->NewMessage<proto::HloModuleProto>();
  const bool has_header = lexer_.IsKeyword(Keyword::kHloModule);
  const bool is_module =
      has_header || lexer_.IsKeyword(Keyword::kEntry) || lexer_.Peek() == Token::kLeftBrace;
  if (lexer_.kind() == Token::kEnd) {
    FailHere("the text is empty");
  } else if (is_module) {
    if (has_header) Header(module);
    if (!has_error_ && StackFrameTables(module->mutable_stack_frame_index())) Computations();
    if (!has_error_ && !has_header) {
      builder_->set_name(builder_->Copy(absl::StrCat("module_", builder_->Edit(entry_).name)));
    }
  } else {
    LoneInstruction();
  }
  if (!has_error_) FinishModule(module);
  return has_error_ ? ErrorStatus() : absl::OkStatus();
}

bool TextParser::Header(proto::HloModuleProto* module) {
  lexer_.Next();
  absl::string_view name;
  if (!Name(&name, "the name of the module")) return false;
  builder_->set_name(name);
  std::vector<absl::string_view> seen;
  while (Eat(Token::kComma)) {
    if (lexer_.kind() != Token::kAttributeName) return Expected("a module attribute");
    const absl::string_view attribute = lexer_.text();
    const size_t offset = lexer_.offset();
    if (std::find(seen.begin(), seen.end(), attribute) != seen.end()) {
      return FailHere(absl::StrCat("the attribute ", attribute, " appears twice"));
    }
    seen.push_back(attribute);
    lexer_.Next();
    if (!HeaderAttribute(attribute, offset, module)) return false;
  }
  return true;
}

bool TextParser::HeaderAttribute(absl::string_view name, size_t offset,
                                 proto::HloModuleProto* module) {
  const size_t value_offset = lexer_.offset();
  const auto keep_text = [&] {
    builder_->add_text_attribute(
        name, UpToLastToken(lexer_.source().substr(value_offset, lexer_.offset() - value_offset)));
    return true;
  };
  int64_t count;
  if (name == "is_scheduled") return Bool(&is_scheduled_);
  if (name == "entry_computation_layout") return EntryLayout(module->mutable_host_program_shape());
  if (name == "input_output_alias") {
    return InputOutputAlias(module->mutable_input_output_alias());
  }
  if (name == "buffer_donor") return BufferDonor(module->mutable_buffer_donor());
  if (name == "frontend_attributes") {
    return FrontendAttributeMap(module->mutable_frontend_attributes());
  }
  if (name == "replica_count") {
    if (!Int64(&count)) return false;
    configures_ |= count != 1;
    builder_->set_replica_count(count);
    return true;
  }
  if (name == "num_partitions") {
    if (!Int64(&count)) return false;
    configures_ |= count != 1;
    builder_->set_num_partitions(count);
    return true;
  }
  if (name == "alias_passthrough_params") {
    bool value;
    if (!Bool(&value)) return false;
    configures_ |= value;
    return keep_text();
  }
  if (name == "allow_spmd_sharding_propagation_to_parameters" ||
      name == "allow_spmd_sharding_propagation_to_output") {
    return BoolOrBools() && keep_text();
  }
  if (name == "origin_recovery_table") {
    if (!OriginRecoveryTable(module->mutable_original_value_recovery_table())) return false;
    // XLA has no table rather than an empty one.
    const bool empty = module->original_value_recovery_table().entries().empty();
    if (empty) module->clear_original_value_recovery_table();
    return true;
  }
  if (options_.keep_unknown) return SkipValue(/*in_header=*/true) && keep_text();
  return Fail(offset, absl::StrCat("unknown module attribute \"", name,
                                   "\", expected one of: ", kHeaderAttributes));
}

bool TextParser::BoolOrBools() {
  bool value;
  const auto read = [&] {
    configures_ = true;
    return Bool(&value);
  };
  if (lexer_.kind() != Token::kLeftBrace) return read();
  return List(Token::kLeftBrace, Token::kRightBrace, Token::kComma, "a list of booleans", read);
}

bool TextParser::InputOutputAlias(proto::HloInputOutputAliasProto* aliases) {
  if (!Expect(Token::kLeftBrace, "to begin the aliases")) return false;
  while (lexer_.kind() != Token::kRightBrace) {
    proto::HloInputOutputAliasProto::AliasEntryProto* entry = aliases->add_entries();
    int64_t parameter;
    entry->set_kind(proto::MAY_ALIAS);
    if (!ShapeIndex(entry->mutable_output_shape_index()) ||
        !Expect(Token::kColon, "after the output index") ||
        !Expect(Token::kLeftParen, "before the parameter number") || !Int64(&parameter) ||
        !Expect(Token::kComma, "after the parameter number") ||
        !ShapeIndex(entry->mutable_parameter_shape_index())) {
      return false;
    }
    entry->set_parameter_number(parameter);
    if (Eat(Token::kComma)) {
      const size_t offset = lexer_.offset();
      absl::string_view kind;
      if (!Name(&kind, "may-alias or must-alias")) return false;
      if (kind == "must-alias") {
        entry->set_kind(proto::MUST_ALIAS);
      } else if (kind != "may-alias") {
        return Fail(offset, absl::StrCat("expected may-alias or must-alias, got \"", kind, "\""));
      }
    }
    if (!Expect(Token::kRightParen, "to end an alias")) return false;
    if (!Eat(Token::kComma)) break;
  }
  return Expect(Token::kRightBrace, "to end the aliases");
}

bool TextParser::BufferDonor(proto::HloBufferDonorProto* donors) {
  if (!Expect(Token::kLeftBrace, "to begin the buffer donors")) return false;
  while (lexer_.kind() != Token::kRightBrace) {
    proto::HloBufferDonorProto::BufferDonorEntryProto* entry = donors->add_entries();
    const size_t offset = lexer_.offset();
    int64_t parameter;
    if (!Expect(Token::kLeftParen, "before the parameter number") || !Int64(&parameter) ||
        !Expect(Token::kComma, "after the parameter number") ||
        !ShapeIndex(entry->mutable_parameter_shape_index()) ||
        !Expect(Token::kRightParen, "to end a buffer donor")) {
      return false;
    }
    if (parameter < 0) return Fail(offset, "a parameter number must not be negative");
    entry->set_parameter_number(parameter);
    if (!Eat(Token::kComma)) break;
  }
  return Expect(Token::kRightBrace, "to end the buffer donors");
}

bool TextParser::EntryLayout(proto::ProgramShapeProto* layout) {
  if (!Expect(Token::kLeftBrace, "to begin the entry layout") ||
      !Expect(Token::kLeftParen, "before the parameters' shapes")) {
    return false;
  }
  const Shape* shape;
  while (lexer_.kind() != Token::kRightParen) {
    if (!InternedShape(&shape)) return false;
    shape->ToProto(layout->add_parameters());
    if (!Eat(Token::kComma)) break;
  }
  if (!Expect(Token::kRightParen, "after the parameters' shapes") ||
      !Expect(Token::kArrow, "before the result's shape") || !InternedShape(&shape)) {
    return false;
  }
  shape->ToProto(layout->mutable_result());
  return Expect(Token::kRightBrace, "to end the entry layout");
}

bool TextParser::OriginRecoveryTable(proto::OriginalValueRecoveryTableProto* table) {
  if (!Expect(Token::kLeftBrace, "to begin the recovery table")) return false;
  while (lexer_.kind() != Token::kRightBrace) {
    proto::OriginalValueRecoveryTableProto::Entry* entry = table->add_entries();
    if (!OriginalArray(entry->mutable_old_original_array()) ||
        !Expect(Token::kColon, "between the two arrays") ||
        !OriginalArray(entry->mutable_new_original_array())) {
      return false;
    }
    if (!Eat(Token::kComma)) continue;
    const size_t offset = lexer_.offset();
    absl::string_view text;
    if (!String(&text)) return false;
    ParseOptions options = options_;
    if (++options.module_nesting > kMaxModuleNesting) {
      return Fail(offset, "recovery modules are nested too deeply");
    }
    options.file_name = "recovery module";
    absl::StatusOr<std::unique_ptr<HloModule>> module = ParseHloText(std::string(text), options);
    if (!module.ok()) {
      return Fail(offset, absl::StrCat("bad recovery module: ", module.status().message()));
    }
    (*module)->ToProto(entry->mutable_recovery_module());
  }
  return Expect(Token::kRightBrace, "to end the recovery table");
}

bool TextParser::StringTable(google::protobuf::RepeatedPtrField<std::string>* strings) {
  while (Eat(Token::kInt)) {
    absl::string_view text;
    if (!String(&text)) return false;
    strings->Add(std::string(text));
  }
  return true;
}

bool TextParser::Int32Record(absl::Span<const absl::string_view> names, int32_t* values) {
  const size_t offset = lexer_.offset();
  uint32_t seen = 0;
  if (!Expect(Token::kLeftBrace, "to begin the fields")) return false;
  while (lexer_.kind() != Token::kRightBrace) {
    Eat(Token::kComma);
    if (lexer_.kind() != Token::kAttributeName) return Expected("a field name");
    const auto it = std::find(names.begin(), names.end(), lexer_.text());
    if (it == names.end()) return Expected(absl::StrCat("one of ", absl::StrJoin(names, ", ")));
    const size_t i = static_cast<size_t>(it - names.begin());
    if ((seen >> i & 1) != 0) return FailHere("this field appears twice");
    seen |= 1u << i;
    lexer_.Next();
    if (!Int32(&values[i])) return false;
  }
  for (size_t i = 0; i < names.size(); ++i) {
    if ((seen >> i & 1) == 0)
      return Fail(offset, absl::StrCat("the field ", names[i], " is missing"));
  }
  return Expect(Token::kRightBrace, "to end the fields");
}

bool TextParser::StackFrameTables(proto::StackFrameIndexProto* tables) {
  if (!EatKeyword(Keyword::kFileNames)) return true;
  if (!StringTable(tables->mutable_file_names())) return false;
  if (!EatKeyword(Keyword::kFunctionNames)) return Expected("FunctionNames");
  if (!StringTable(tables->mutable_function_names())) return false;
  if (!EatKeyword(Keyword::kFileLocations)) return Expected("FileLocations");
  while (Eat(Token::kInt)) {
    int32_t v[6];
    if (!Int32Record(
            {"file_name_id", "function_name_id", "line", "end_line", "column", "end_column"}, v)) {
      return false;
    }
    proto::StackFrameIndexProto::FileLocation* location = tables->add_file_locations();
    location->set_file_name_id(v[0]);
    location->set_function_name_id(v[1]);
    location->set_line(v[2]);
    location->set_end_line(v[3]);
    location->set_column(v[4]);
    location->set_end_column(v[5]);
  }
  if (!EatKeyword(Keyword::kStackFrames)) return Expected("StackFrames");
  while (Eat(Token::kInt)) {
    int32_t v[2];
    if (!Int32Record({"file_location_id", "parent_frame_id"}, v)) return false;
    proto::StackFrameIndexProto::StackFrame* frame = tables->add_stack_frames();
    frame->set_file_location_id(v[0]);
    // The text counts from 1 where 1 is "no parent".
    frame->set_parent_frame_id(static_cast<int32_t>(static_cast<uint32_t>(v[1]) - 1u));
  }
  return true;
}

bool TextParser::Computations() {
  do {
    if (!Computation()) return false;
  } while (lexer_.kind() != Token::kEnd);
  if (entry_ == nullptr) entry_ = computations_.back();
  return true;
}

bool TextParser::Computation() {
  const size_t entry_offset = lexer_.offset();
  const bool is_entry = EatKeyword(Keyword::kEntry);
  const size_t offset = lexer_.offset();
  const int32_t line = LineOf(offset);
  absl::string_view name;
  if (!Name(&name, is_entry ? "the name of a computation" : "a computation or ENTRY")) {
    return false;
  }
  const Shape* result = nullptr;
  size_t result_offset = 0;
  if (lexer_.kind() == Token::kLeftParen && !ComputationSignature(&result, &result_offset)) {
    return false;
  }
  HloComputation* computation;
  if (!InstructionList(name, &computation)) return false;
  ModuleBuilder::Computation& f = builder_->Edit(computation);
  f.line = line;
  if (result != nullptr && !f.root->shape().IsCompatible(*result)) {
    return Fail(
        result_offset,
        absl::StrCat("the computation is said to return ", result->ToString(false),
                     ", but its root ", f.root->name(), " is ", f.root->shape().ToString(false)));
  }
  for (bool has_thread = false; Eat(Token::kComma); has_thread = true) {
    if (lexer_.kind() != Token::kAttributeName || lexer_.text() != "execution_thread") {
      return Expected("execution_thread=");
    }
    if (has_thread) return FailHere("execution_thread is there already");
    lexer_.Next();
    if (!String(&f.execution_thread)) return false;
    has_threads_ = has_threads_ || f.execution_thread != "main";
  }
  if (is_entry) {
    if (entry_ != nullptr) return Fail(entry_offset, "there is another ENTRY already");
    entry_ = computation;
  }
  const auto [it, inserted] = computation_names_.insert({name, {computation, offset}});
  if (!inserted) {
    return Fail(offset, absl::StrCat("the computation ", name, " is defined already in line ",
                                     lexer_.LineAndColumn(it->second.second).first));
  }
  return true;
}

bool TextParser::ComputationSignature(const Shape** result, size_t* offset) {
  const auto parameter = [this] {
    absl::string_view name;
    const Shape* shape;
    return Name(&name, "the name of a parameter") && InternedShape(&shape);
  };
  if (!List(Token::kLeftParen, Token::kRightParen, Token::kComma, "the parameters", parameter) ||
      !Expect(Token::kArrow, "before the result's shape")) {
    return false;
  }
  *offset = lexer_.offset();
  return InternedShape(result);
}

bool TextParser::InstructionList(absl::string_view name, HloComputation** computation) {
  Nested nested(this);
  if (!nested.Ok()) return false;
  const int32_t line = LineOf(lexer_.offset());
  if (!Expect(Token::kLeftBrace, "to begin the instructions of a computation")) return false;
  scopes_.emplace_back();
  do {
    if (!Instruction()) return false;
  } while (lexer_.kind() != Token::kRightBrace);
  lexer_.Next();
  *computation = builder_->NewComputation();
  builder_->Edit(*computation).line = line;
  return FinishScope(name, *computation);
}

bool TextParser::FinishScope(absl::string_view name, HloComputation* computation) {
  Scope scope = std::move(scopes_.back());
  scopes_.pop_back();
  ModuleBuilder::Computation& f = builder_->Edit(computation);
  f.name = name;
  f.instructions = std::move(scope.instructions);
  f.root = scope.root != nullptr ? scope.root : f.instructions.back();
  f.parameters.assign(scope.parameters.size(), nullptr);
  for (const HloInstruction* parameter : scope.parameters) {
    const int64_t number = parameter->parameter_number();
    if (number >= static_cast<int64_t>(f.parameters.size())) {
      return FailHere(absl::StrCat("the computation ", name, " has ", f.parameters.size(),
                                   " parameters, but one is number ", number));
    }
    f.parameters[static_cast<size_t>(number)] = parameter;
  }
  computations_.push_back(computation);
  return true;
}

bool TextParser::LoneInstruction() {
  lone_instruction_ = true;
  is_scheduled_ = true;
  builder_->set_name("_");
  scopes_.emplace_back();
  const bool ok = AtShape() ? InstructionRest("_", lexer_.offset(), true) : Instruction();
  if (!ok) return false;
  if (lexer_.kind() != Token::kEnd) {
    return Expected("the end of the text after a lone instruction (does a HloModule line lack?)");
  }
  entry_ = builder_->NewComputation();
  builder_->Edit(entry_).line = 1;
  return FinishScope("_", entry_);
}

}  // namespace autotune
