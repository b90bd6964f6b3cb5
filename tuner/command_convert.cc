#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hardware/atomic_file.h"
#include "hlo/read_file.h"
#include "hlo/read_module.h"
#include "hlo/unknown_fields.h"
#include "tuner/command_status.h"
#include "tuner/commands.h"
#include "tuner/input_files.h"

namespace autotune {
namespace {

constexpr char kExamples[] = R"(
Examples:
  autotune convert program.hlo --to pb --out program.pb
  autotune convert module_0001.hlo.pb --to hlo --out -

Forms: hlo (text), pb (HloModuleProto), hloproto (HloProto), pbtxt (protobuf text). The form of the
input is told from its content; --format forces one. StableHLO (MLIR) is imported by a PJRT plugin
where there is one (./autotune --with aot).)";

struct ConvertOptions {
  std::string input;
  std::string to;
  std::string out;
  std::string format = "auto";
  bool keep_unknown = false;
};

std::optional<HloFormat> OutputFormat(const std::string& name) {
  const std::optional<HloFormat> format = HloFormatFromName(name);
  for (HloFormat allowed :
       {HloFormat::kText, HloFormat::kModuleProto, HloFormat::kHloProto, HloFormat::kTextProto}) {
    if (format == allowed) return format;
  }
  return std::nullopt;
}

// Warns of what the form that is written has no place for.
void WarnOfLosses(const std::string& name, HloFormat to, const ReadModuleResult& read,
                  std::ostream& err) {
  std::vector<std::string> lost = read.beside.other_fields;
  const std::vector<std::string>& whole = read.beside.hlo_proto_fields;
  if (to != HloFormat::kHloProto) lost.insert(lost.begin(), whole.begin(), whole.end());
  if (!lost.empty()) {
    err << "warning: " << name << ": what the file holds beside the module is left out ("
        << absl::StrJoin(lost, ", ") << ")"
        << (lost.size() > read.beside.other_fields.size() ? "; --to hloproto keeps a HloProto's"
                                                          : "")
        << "\n";
  }
  const int64_t elided = read.module->elided_constant_count();
  if (elided > 0 && to != HloFormat::kText) {
    err << "warning: " << name << ": XLA does not load the result, for " << elided
        << (elided == 1 ? " constant was" : " constants were")
        << " elided (`{...}`): dump the program with its constants\n";
  }
  if (to == HloFormat::kModuleProto || to == HloFormat::kHloProto) return;
  const int64_t unknown =
      CountUnknownFields(read.module->ToProto(), /*text_attributes=*/to != HloFormat::kText);
  if (unknown > 0) {
    err << "warning: " << name << ": " << unknown
        << (unknown == 1 ? " field of a newer XLA is" : " fields of a newer XLA are")
        << " left out; --to pb keeps what is unknown\n";
  }
}

absl::StatusOr<std::string> Convert(const ConvertOptions& options, CommandContext& context) {
  const std::optional<HloFormat> to = OutputFormat(options.to);
  if (!to) {
    return WrongUse(
        absl::StrCat("--to takes hlo, pb, hloproto or pbtxt; got \"", options.to, "\""));
  }
  const std::optional<HloFormat> from = HloFormatFromName(options.format);
  if (!from) {
    return WrongUse(absl::StrCat("--format: there is no form \"", options.format, "\""));
  }
  absl::StatusOr<std::string> content = ReadWholeFile(options.input);
  if (!content.ok()) return WithExitCode(kExitBadInput, content.status());
  // As XLA does, what can be read is converted; whether it is a sound program is another question.
  absl::Status verified;
  absl::StatusOr<ReadModuleResult> read = ReadInputModule(
      *std::move(content), InputName(options.input),
      {.format = *from, .keep_unknown = options.keep_unknown, .keep_beside = true}, &verified);
  if (!read.ok()) return WithExitCode(kExitBadInput, read.status());
  if (!verified.ok()) context.err << "warning: " << verified.message() << "\n";
  WarnOfLosses(InputName(options.input), *to, *read, context.err);
  return WriteModule(*read->module, *to, read->beside);
}

int RunConvert(const ConvertOptions& options, CommandContext& context) {
  absl::StatusOr<std::string> converted = Convert(options, context);
  if (!converted.ok()) return context.Fail(converted.status());
  if (options.out == "-") {
    context.out << *converted;
    return kExitDone;
  }
  const absl::Status written = WriteFileAtomically(options.out, *converted);
  return written.ok() ? kExitDone : context.Fail(WithExitCode(kExitBroken, written));
}

}  // namespace

void AddConvertCommand(CLI::App& app, CommandContext& context) {
  CLI::App* command = app.add_subcommand("convert", "Between text and protobuf forms of HLO");
  auto options = std::make_shared<ConvertOptions>();
  command->add_option("IN", options->input, "The program; - is standard input")->required();
  command->add_option("--to", options->to, "hlo, pb, hloproto or pbtxt")->required();
  command->add_option("--out", options->out, "File to write; - is standard output")->required();
  command->add_option("--format", options->format, "Of the input")->capture_default_str();
  command->add_flag("--keep-unknown", options->keep_unknown,
                    "Accept attributes and opcodes of a newer XLA");
  command->footer(kExamples);
  command->callback([options, &context] { context.exit_code = RunConvert(*options, context); });
}

}  // namespace autotune
