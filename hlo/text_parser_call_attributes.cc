#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"
#include "hlo/text_parser.h"

namespace autotune {
namespace {

// The field is marked as deprecated, but the text form still has it.
void AddProfileType(int type, proto::OpMetadata* metadata) {
  const google::protobuf::FieldDescriptor* field =
      metadata->GetDescriptor()->FindFieldByName("profile_type");
  metadata->GetReflection()->AddEnumValue(metadata, field, type);
}

}  // namespace

bool TextParser::FftType(Pending* p) {
  const size_t offset = lexer_.offset();
  absl::string_view name;
  proto::FftType type;
  if (!Identifier(&name, "an FFT type")) return false;
  if (!proto::FftType_Parse(std::string(name), &type)) {
    return Fail(offset, absl::StrCat("expected FFT, IFFT, RFFT or IRFFT, got \"", name, "\""));
  }
  AttributesOf(p)->set_fft_type(type);
  return true;
}

bool TextParser::Lower(Pending* p) {
  bool value;
  if (!Bool(&value)) return false;
  if (p->opcode == HloOpcode::kCholesky) {
    AttributesOf(p)->mutable_cholesky_options()->set_lower(value);
  } else {
    AttributesOf(p)->mutable_triangular_solve_options()->set_lower(value);
  }
  return true;
}

bool TextParser::TransposeA(Pending* p) {
  const size_t offset = lexer_.offset();
  absl::string_view name;
  T::Transpose transpose;
  if (!Identifier(&name, "NO_TRANSPOSE, TRANSPOSE or ADJOINT")) return false;
  if (!T::Transpose_Parse(std::string(name), &transpose)) {
    return Fail(offset,
                absl::StrCat("expected NO_TRANSPOSE, TRANSPOSE or ADJOINT, got \"", name, "\""));
  }
  AttributesOf(p)->mutable_triangular_solve_options()->set_transpose_a(transpose);
  return true;
}

bool TextParser::Distribution(Pending* p) {
  const size_t offset = lexer_.offset();
  absl::string_view name;
  proto::RandomDistribution distribution;
  if (!Identifier(&name, "a distribution")) return false;
  if (!proto::RandomDistribution_Parse(absl::AsciiStrToUpper(name), &distribution) ||
      distribution == proto::RNG_INVALID) {
    return Fail(offset, absl::StrCat("expected rng_uniform or rng_normal, got \"", name, "\""));
  }
  AttributesOf(p)->set_distribution(distribution);
  return true;
}

bool TextParser::OutfeedShape(Pending* p) {
  const Shape* shape;
  if (!InternedShape(&shape)) return false;
  shape->ToProto(AttributesOf(p)->mutable_outfeed_shape());
  return true;
}

bool TextParser::OutputAliasing(Pending* p) {
  if (!Expect(Token::kLeftBrace, "to begin output aliases")) return false;
  P* attributes = AttributesOf(p);
  while (lexer_.kind() != Token::kRightBrace) {
    proto::OutputOperandAliasing* alias = attributes->add_output_operand_aliasing();
    int64_t operand;
    if (!ShapeIndex(alias->mutable_output_shape_index()) ||
        !Expect(Token::kColon, "after the output index") ||
        !Expect(Token::kLeftParen, "before the operand number") || !Int64(&operand) ||
        !Expect(Token::kComma, "after the operand number") ||
        !ShapeIndex(alias->mutable_operand_shape_index()) ||
        !Expect(Token::kRightParen, "to end an output alias")) {
      return false;
    }
    alias->set_operand_index(operand);
    if (!Eat(Token::kComma)) break;
  }
  return Expect(Token::kRightBrace, "to end output aliases");
}

bool TextParser::OperandLayoutConstraints(Pending* p) {
  P* attributes = AttributesOf(p);
  return List(Token::kLeftBrace, Token::kRightBrace, Token::kComma, "operand_layout_constraints",
              [&] {
                const Shape* shape;
                if (!InternedShape(&shape)) return false;
                shape->ToProto(attributes->add_operand_shapes_with_layout());
                return true;
              });
}

bool TextParser::PaddingType(Pending* p) {
  const size_t offset = lexer_.offset();
  absl::string_view name;
  proto::PaddingType type;
  if (!Identifier(&name, "a padding type")) return false;
  if (!proto::PaddingType_Parse(std::string(name), &type)) {
    return Fail(offset,
                absl::StrCat("expected PADDING_INVALID, PADDING_VALID or PADDING_SAME, got \"",
                             name, "\""));
  }
  AttributesOf(p)->set_padding_type(type);
  return true;
}

bool TextParser::LiteralAttribute(Pending* p) {
  autotune::Literal* literal;
  if (!LiteralWithShape(&literal)) return false;
  LiteralToProto(*literal, AttributesOf(p)->mutable_literal());
  return true;
}

bool TextParser::CustomCallSchedule(Pending* p) {
  const size_t offset = lexer_.offset();
  absl::string_view name;
  proto::CustomCallSchedule schedule;
  if (!Identifier(&name, "a schedule")) return false;
  if (!proto::CustomCallSchedule_Parse(std::string(name), &schedule)) {
    return Fail(offset,
                absl::StrCat("expected SCHEDULE_NONE, SCHEDULE_LATEST or SCHEDULE_EARLIEST, "
                             "got \"",
                             name, "\""));
  }
  AttributesOf(p)->set_custom_call_schedule(schedule);
  return true;
}

bool TextParser::CustomCallApiVersion(Pending* p) {
  const size_t offset = lexer_.offset();
  absl::string_view name;
  proto::CustomCallApiVersion version;
  if (!Identifier(&name, "an API version")) return false;
  if (!proto::CustomCallApiVersion_Parse(std::string(name), &version) ||
      version == proto::API_VERSION_UNSPECIFIED) {
    return Fail(offset, absl::StrCat("expected an API version like API_VERSION_TYPED_FFI, got \"",
                                     name, "\""));
  }
  AttributesOf(p)->set_custom_call_api_version(version);
  return true;
}

// Checked, but like XLA's parser this keeps nothing of it: the mode follows from channel_id and
// use_global_device_ids.
bool TextParser::CollectiveMode(Pending*) {
  const size_t offset = lexer_.offset();
  absl::string_view mode;
  if (!Identifier(&mode, "a collective mode")) return false;
  for (const absl::string_view known :
       {"cross_replica", "cross_partition", "cross_replica_and_partition", "flattened_id"}) {
    if (known == mode) return true;
  }
  return Fail(offset, absl::StrCat("expected cross_replica, cross_partition, "
                                   "cross_replica_and_partition or flattened_id, got \"",
                                   mode, "\""));
}

bool TextParser::AsyncExecutionThread(Pending* p) {
  absl::string_view thread;
  if (!String(&thread)) return false;
  p->async_execution_thread = std::string(thread);
  return true;
}

bool TextParser::Metadata(Pending* p) {
  autotune::OpMetadata* metadata = builder_->New<autotune::OpMetadata>();
  proto::OpMetadata* full = nullptr;
  if (!MetadataBody(metadata, &full)) return false;
  if (full != nullptr) {
    full->set_op_type(std::string(metadata->op_type));
    full->set_op_name(std::string(metadata->op_name));
    full->set_source_file(std::string(metadata->source_file));
    full->set_source_line(metadata->source_line);
    full->set_source_end_line(metadata->source_end_line);
    full->set_source_column(metadata->source_column);
    full->set_source_end_column(metadata->source_end_column);
    full->set_stack_frame_id(metadata->stack_frame_id);
  }
  metadata->full = full;
  p->f->metadata = metadata;
  return true;
}

bool TextParser::MetadataFields(proto::OpMetadata* metadata) {
  autotune::OpMetadata plain;
  proto::OpMetadata* full = metadata;
  if (!MetadataBody(&plain, &full)) return false;
  metadata->set_op_type(std::string(plain.op_type));
  metadata->set_op_name(std::string(plain.op_name));
  metadata->set_source_file(std::string(plain.source_file));
  metadata->set_source_line(plain.source_line);
  metadata->set_source_end_line(plain.source_end_line);
  metadata->set_source_column(plain.source_column);
  metadata->set_source_end_column(plain.source_end_column);
  metadata->set_stack_frame_id(plain.stack_frame_id);
  return true;
}

bool TextParser::MetadataBody(autotune::OpMetadata* plain, proto::OpMetadata** full) {
  if (!Expect(Token::kLeftBrace, "to begin metadata")) return false;
  std::vector<absl::string_view> seen;
  while (lexer_.kind() != Token::kRightBrace) {
    Eat(Token::kComma);
    if (lexer_.kind() != Token::kAttributeName) return Expected("a metadata field");
    const absl::string_view name = lexer_.text();
    const size_t offset = lexer_.offset();
    for (const absl::string_view other : seen) {
      if (other == name) return FailHere(absl::StrCat("the field ", name, " appears twice"));
    }
    seen.push_back(name);
    lexer_.Next();
    if (!MetadataField(name, offset, plain, full)) return false;
  }
  return Expect(Token::kRightBrace, "to end metadata");
}

bool TextParser::MetadataField(absl::string_view name, size_t offset, autotune::OpMetadata* plain,
                               proto::OpMetadata** full) {
  if (name == "op_name") return String(&plain->op_name);
  if (name == "stack_frame_id") return Int32(&plain->stack_frame_id);
  if (name == "source_file") return String(&plain->source_file);
  if (name == "source_line") return Int32(&plain->source_line);
  if (name == "op_type") return String(&plain->op_type);
  if (name == "source_end_line") return Int32(&plain->source_end_line);
  if (name == "source_column") return Int32(&plain->source_column);
  if (name == "source_end_column") return Int32(&plain->source_end_column);
  if (*full == nullptr) *full = builder_->NewMessage<proto::OpMetadata>();
  absl::string_view text;
  if (name == "deduplicated_name") {
    if (!String(&text)) return false;
    (*full)->set_deduplicated_name(std::string(text));
    return true;
  }
  if (name == "scheduling_name") {
    if (!String(&text)) return false;
    (*full)->set_scheduling_name(std::string(text));
    return true;
  }
  if (name == "metadata_payload") {
    if (!String(&text)) return false;
    (*full)->mutable_metadata_payload()->set_value(std::string(text));
    has_payloads_ = true;
    return true;
  }
  if (name == "profile_type") {
    const size_t list = lexer_.offset();
    Int64s types;
    if (!BracedInt64s(&types)) return false;
    for (const int64_t type : types) {
      if (type < 0 || type > 3) return Fail(list, "there is no such profile type");
      AddProfileType(static_cast<int>(type), *full);
    }
    return true;
  }
  if (options_.keep_unknown) return SkipMetadataValue();
  return Fail(offset, absl::StrCat("unknown metadata field \"", name, "\""));
}

bool TextParser::SkipMetadataValue() {
  // Fields follow each other without commas.
  int64_t depth = 0;
  while (lexer_.kind() != Token::kEnd && lexer_.kind() != Token::kError) {
    const Token kind = lexer_.kind();
    if (depth == 0 &&
        (kind == Token::kRightBrace || kind == Token::kAttributeName || kind == Token::kComma)) {
      return true;
    }
    if (kind == Token::kLeftBrace) ++depth;
    if (kind == Token::kRightBrace) --depth;
    lexer_.Next();
  }
  return Expected("'}' to end metadata");
}

}  // namespace autotune
