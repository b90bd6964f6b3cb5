#include "hlo/text_printer.h"

#include <charconv>
#include <cmath>
#include <utility>

#include "absl/strings/escaping.h"
#include "absl/strings/str_cat.h"
#include "hlo/lexer.h"

namespace autotune {

void TextPrinter::Number(int64_t value) {
  char buffer[24];
  const std::to_chars_result end = std::to_chars(buffer, buffer + sizeof(buffer), value);
  out_.append(buffer, static_cast<size_t>(end.ptr - buffer));
}

void TextPrinter::Double(double value) {
  if (std::isnan(value)) return Add(std::signbit(value) ? "-nan" : "nan");
  if (std::isinf(value)) return Add(value < 0 ? "-inf" : "inf");
  // "-0" would be read as an integer.
  if (value == 0 && std::signbit(value)) return Add("-0.0");
  char buffer[40];
  const std::to_chars_result end = std::to_chars(buffer, buffer + sizeof(buffer), value);
  out_.append(buffer, static_cast<size_t>(end.ptr - buffer));
}

void TextPrinter::Quoted(absl::string_view text) {
  Add('"');
  Add(absl::CEscape(text));
  Add('"');
}

void TextPrinter::QuotedOrJson(absl::string_view text) {
  if (!text.empty() && text[0] == '{') {
    Lexer lexer(text);
    if (lexer.TakeJson() && lexer.text().size() == text.size()) return Add(text);
  }
  Quoted(text);
}

void TextPrinter::Begin(absl::string_view name) {
  Add(", ");
  Add(name);
  Add('=');
}

void TextPrinter::Flag(absl::string_view name, bool value) {
  if (!value) return;
  Begin(name);
  Add("true");
}

void TextPrinter::Int(absl::string_view name, int64_t value) {
  Begin(name);
  Number(value);
}

template <typename Values>
void TextPrinter::Numbers(const Values& values, absl::string_view separator) {
  bool first = true;
  for (const int64_t value : values) {
    if (!first) Add(separator);
    first = false;
    Number(value);
  }
}

template void TextPrinter::Numbers(const absl::Span<const int64_t>&, absl::string_view);
template void TextPrinter::Numbers(const TextPrinter::Int64s&, absl::string_view);
template void TextPrinter::Numbers(const google::protobuf::RepeatedField<int32_t>&,
                                   absl::string_view);

void TextPrinter::Braced(absl::string_view name, const Int64s& values) {
  Begin(name);
  Add('{');
  Numbers(values);
  Add('}');
}

void TextPrinter::Name(const HloInstruction& instruction) {
  if (options_.percent) Add('%');
  if (!options_.canonical) return Add(instruction.name());
  Add('i');
  Number(static_cast<int64_t>(instruction.position()));
}

void TextPrinter::Name(const HloComputation& computation) {
  if (options_.percent) Add('%');
  if (!options_.canonical) return Add(computation.name());
  // A computation that is printed alone has callees without numbers: they are numbered as they
  // come.
  const auto [it, inserted] =
      computation_numbers_.emplace(&computation, computation_numbers_.size());
  Add('c');
  Number(it->second);
}

void TextPrinter::ShapeText(const Shape& shape) { shape.AppendTo(&out_, options_.result_layouts); }

void TextPrinter::Module(const HloModule& module) {
  Header(module);
  for (const HloComputation* computation : module.computations()) {
    Add('\n');
    if (computation->IsEntry()) Add("ENTRY ");
    Computation(*computation);
  }
}

void TextPrinter::Header(const HloModule& module) {
  const proto::HloModuleProto& p = module.attributes();
  Add("HloModule ");
  Add(options_.canonical ? absl::string_view("m") : module.name());
  if (module.is_scheduled()) Flag("is_scheduled", true);
  if (!p.input_output_alias().entries().empty()) Aliases(p.input_output_alias());
  if (!p.buffer_donor().entries().empty()) {
    Begin("buffer_donor");
    Add("{ ");
    bool first = true;
    for (const auto& entry : p.buffer_donor().entries()) {
      if (!std::exchange(first, false)) Add(", ");
      Add('(');
      Number(entry.parameter_number());
      Add(", {");
      Numbers(entry.parameter_shape_index(), ", ");
      Add("})");
    }
    Add(" }");
  }
  for (const auto& [name, value] : module.text_attributes()) {
    Begin(name);
    Add(value);
  }
  if (p.has_host_program_shape() && options_.result_layouts) EntryLayout(p.host_program_shape());
  if (module.replica_count() != 1) Int("replica_count", module.replica_count());
  if (module.num_partitions() != 1) Int("num_partitions", module.num_partitions());
  if (!p.frontend_attributes().map().empty() && !options_.canonical) {
    Begin("frontend_attributes");
    FrontendAttributes(p.frontend_attributes());
  }
  if (!p.original_value_recovery_table().entries().empty() && !options_.canonical) {
    RecoveryTable(p.original_value_recovery_table());
  }
  Add('\n');
  if (options_.metadata && p.has_stack_frame_index()) StackFrames(p.stack_frame_index());
}

void TextPrinter::Aliases(const proto::HloInputOutputAliasProto& aliases) {
  Begin("input_output_alias");
  Add("{ ");
  bool first = true;
  for (const auto& entry : aliases.entries()) {
    if (!std::exchange(first, false)) Add(", ");
    Add('{');
    Numbers(entry.output_shape_index(), ", ");
    Add("}: (");
    Number(entry.parameter_number());
    Add(", {");
    Numbers(entry.parameter_shape_index(), ", ");
    Add(entry.kind() == proto::MUST_ALIAS ? "}, must-alias)" : "}, may-alias)");
  }
  Add(" }");
}

void TextPrinter::EntryLayout(const proto::ProgramShapeProto& layout) {
  Begin("entry_computation_layout");
  Add("{(");
  for (int i = 0; i < layout.parameters_size(); ++i) {
    if (i > 0) Add(", ");
    if (i > 0 && i % 5 == 0) absl::StrAppend(&out_, "/*index=", i, "*/");
    Shape::FromProto(layout.parameters(i)).AppendTo(&out_);
  }
  Add(")->");
  Shape::FromProto(layout.result()).AppendTo(&out_);
  Add('}');
}

void TextPrinter::RecoveryTable(const proto::OriginalValueRecoveryTableProto& table) {
  Begin("origin_recovery_table");
  Add('{');
  for (const auto& entry : table.entries()) {
    Add("\n  ");
    OriginalArray(entry.old_original_array());
    Add(" : ");
    OriginalArray(entry.new_original_array());
    if (!entry.has_recovery_module()) continue;
    absl::StatusOr<std::unique_ptr<HloModule>> module =
        HloModule::FromProto(entry.recovery_module());
    if (!module.ok()) continue;
    TextPrinter nested(options_);
    nested.Module(**module);
    Add(", ");
    Quoted(nested.Take());
  }
  Add("\n}");
}

void TextPrinter::StackFrames(const proto::StackFrameIndexProto& tables) {
  Add("\nFileNames\n");
  for (int i = 0; i < tables.file_names_size(); ++i) {
    absl::StrAppend(&out_, i + 1, " ");
    Quoted(tables.file_names(i));
    Add('\n');
  }
  Add("\nFunctionNames\n");
  for (int i = 0; i < tables.function_names_size(); ++i) {
    absl::StrAppend(&out_, i + 1, " ");
    Quoted(tables.function_names(i));
    Add('\n');
  }
  Add("\nFileLocations\n");
  int number = 0;
  for (const auto& l : tables.file_locations()) {
    absl::StrAppend(&out_, ++number, " {file_name_id=", l.file_name_id(),
                    " function_name_id=", l.function_name_id(), " line=", l.line());
    absl::StrAppend(&out_, " end_line=", l.end_line(), " column=", l.column(),
                    " end_column=", l.end_column(), "}\n");
  }
  Add("\nStackFrames\n");
  number = 0;
  for (const auto& frame : tables.stack_frames()) {
    absl::StrAppend(
        &out_, ++number, " {file_location_id=", frame.file_location_id(), " parent_frame_id=",
        static_cast<int32_t>(static_cast<uint32_t>(frame.parent_frame_id()) + 1u), "}\n");
  }
}

void TextPrinter::Computation(const HloComputation& computation) {
  Name(computation);
  if (options_.percent) {
    Add(" (");
    bool first = true;
    for (const HloInstruction* parameter : computation.parameters()) {
      if (!std::exchange(first, false)) Add(", ");
      if (options_.canonical) {
        Add('i');
        Number(static_cast<int64_t>(parameter->position()));
      } else {
        Add(parameter->name());
      }
      Add(": ");
      parameter->shape().AppendTo(&out_, false);
    }
    Add(") -> ");
    computation.root().shape().AppendTo(&out_, false);
  }
  Add(" {\n");
  for (const HloInstruction* instruction : computation.instructions()) {
    Add(instruction->IsRoot() ? "  ROOT " : "  ");
    Instruction(*instruction);
    Add('\n');
  }
  Add('}');
  if (computation.execution_thread() != "main") {
    Begin("execution_thread");
    Quoted(computation.execution_thread());
  }
  Add('\n');
}

void TextPrinter::Instruction(const HloInstruction& instruction) {
  Name(instruction);
  Add(" = ");
  ShapeText(instruction.shape());
  Add(' ');
  Add(instruction.opcode_name());
  Add('(');
  switch (instruction.opcode()) {
    case HloOpcode::kParameter:
      Number(instruction.parameter_number());
      break;
    case HloOpcode::kConstant:
      if (instruction.literal() != nullptr) LiteralText(*instruction.literal());
      break;
    default:
      Operands(instruction);
  }
  Add(')');
  Attributes(instruction);
}

void TextPrinter::Operands(const HloInstruction& instruction) {
  int64_t index = 0;
  for (const HloInstruction* operand : instruction.operands()) {
    if (index > 0) Add(", ");
    if (index > 0 && index % 5 == 0 && options_.operand_index_comments) {
      Add("/*index=");
      Number(index);
      Add("*/");
    }
    ++index;
    if (options_.operand_shapes) {
      ShapeText(operand->shape());
      Add(' ');
    }
    Name(*operand);
  }
}

PrintOptions PrintOptions::Short() {
  PrintOptions options;
  options.percent = false;
  options.metadata = false;
  options.backend_config = false;
  options.max_literal_elements = 10;
  return options;
}

PrintOptions PrintOptions::Canonical() {
  PrintOptions options = Short();
  options.canonical = true;
  options.max_literal_elements = -1;
  options.operand_index_comments = false;
  return options;
}

std::string PrintHlo(const HloModule& module, const PrintOptions& options) {
  TextPrinter printer(options);
  printer.Module(module);
  return printer.Take();
}

std::string PrintHlo(const HloComputation& computation, const PrintOptions& options) {
  TextPrinter printer(options);
  printer.Computation(computation);
  return printer.Take();
}

std::string PrintHlo(const HloInstruction& instruction, const PrintOptions& options) {
  TextPrinter printer(options);
  printer.Instruction(instruction);
  return printer.Take();
}

}  // namespace autotune
