#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "hardware/recording.h"
#include "hlo/program_stage.h"
#include "hlo/read_file.h"
#include "hlo/read_module.h"
#include "nlohmann/json.hpp"
#include "tbb/blocked_range.h"
#include "tbb/parallel_for.h"
#include "tuner/commands.h"
#include "tuner/input_files.h"
#include "tuner/printable.h"
#include "tuner/text_table.h"

namespace autotune {
namespace {

using nlohmann::json;

constexpr char kExamples[] = R"(
Examples:
  autotune check program.hlo other.hlo.pb
  autotune check dump_dir/ 'more/*after_optimizations*' exported.mlir
  jax_program | autotune check -

One line for each file: "ok" with its form and size, or "bad" with position and reason. Recordings are
read too. Ends with exit code 3 if any file is bad.)";

struct CheckOptions {
  std::vector<std::string> inputs;
  std::string format = "auto";
  bool keep_unknown = false;
  bool json = false;
};

// What was found of one file.
struct CheckedFile {
  std::string path;
  std::string format;
  std::string stage;                 // of a program: how far it is compiled
  std::optional<std::string> error;  // its first line says where and why
  int64_t instructions = 0;
  int64_t computations = 0;
  int64_t elided_constants = 0;
  int64_t kernels = 0;  // of a recording
  int64_t runs = 0;
};

void CheckRecording(const std::string& content, CheckedFile& file) {
  file.format = "recording";
  absl::StatusOr<Recording> recording = Recording::Parse(content, InputName(file.path));
  if (!recording.ok()) {
    file.error = std::string(recording.status().message());
    return;
  }
  for (const RecordedKernel& kernel : recording->kernels()) {
    ++file.kernels;
    file.runs += kernel.runs();
  }
}

void CheckModule(std::string content, const ReadOptions& options, CheckedFile& file) {
  absl::StatusOr<ReadModuleResult> read =
      ReadVerifiedModule(std::move(content), InputName(file.path), options);
  if (!read.ok()) {
    file.error = std::string(read.status().message());
    return;
  }
  const HloModule& module = *read->module;
  file.format = std::string(HloFormatName(read->format));
  file.stage = std::string(ProgramStageName(StageOf(module)));
  file.instructions = module.instruction_count();
  file.computations = static_cast<int64_t>(module.computations().size());
  file.elided_constants = module.elided_constant_count();
}

CheckedFile Check(const std::string& path, const ReadOptions& options) {
  CheckedFile file = {.path = path};
  absl::StatusOr<std::string> content = ReadWholeFile(path);
  if (!content.ok()) {
    file.error = std::string(content.status().message());
  } else if (options.format == HloFormat::kAuto && IsRecordingContent(*content)) {
    CheckRecording(*content, file);
  } else {
    CheckModule(*std::move(content), options, file);
  }
  return file;
}

// Errors begin with the file's name already.
std::string Line(const CheckedFile& file) {
  if (file.error) {
    const std::string reason = file.error->substr(0, file.error->find('\n'));
    const bool named = reason.find(InputName(file.path)) != std::string::npos;
    return absl::StrCat("bad  ", named ? "" : absl::StrCat(file.path, ": "), reason);
  }
  if (file.format == "recording") {
    return absl::StrCat("ok   ", file.path, ": recording, ", FormatCount(file.kernels),
                        " kernels, ", FormatCount(file.runs), " runs");
  }
  std::string line = absl::StrCat("ok   ", file.path, ": ", file.format, ", ", file.stage, ", ",
                                  FormatCount(file.instructions), " instructions, ",
                                  FormatCount(file.computations), " computations");
  if (file.elided_constants > 0) {
    absl::StrAppend(&line, ", ", FormatCount(file.elided_constants), " elided constants");
  }
  return line;
}

json ToJson(const CheckedFile& file) {
  json value = {{"path", file.path}, {"ok", !file.error.has_value()}, {"format", file.format}};
  if (file.error) {
    value["error"] = *file.error;
  } else if (file.format == "recording") {
    value["kernels"] = file.kernels;
    value["runs"] = file.runs;
  } else {
    value["stage"] = file.stage;
    value["instructions"] = file.instructions;
    value["computations"] = file.computations;
    value["elided_constants"] = file.elided_constants;
  }
  return value;
}

// All files behind the arguments; an argument that stands for nothing is a bad file of its own.
std::vector<CheckedFile> CheckAll(const CheckOptions& options, const ReadOptions& read) {
  std::vector<CheckedFile> files;
  for (const std::string& input : options.inputs) {
    absl::StatusOr<std::vector<std::string>> paths = FindModuleFiles(input);
    if (!paths.ok()) {
      files.push_back({.path = input, .error = std::string(paths.status().message())});
      continue;
    }
    for (const std::string& path : *paths) files.push_back({.path = path});
  }
  auto check = [&](size_t i) {
    if (!files[i].error) files[i] = Check(files[i].path, read);
  };
  if (files.size() == 1) {
    check(0);
    return files;
  }
  tbb::parallel_for(size_t{0}, files.size(), check);
  return files;
}

int RunCheck(const CheckOptions& options, CommandContext& context) {
  const std::optional<HloFormat> format = HloFormatFromName(options.format);
  if (!format) {
    return context.Fail(kExitWrongUse,
                        absl::StrCat("--format: there is no form \"", options.format, "\""));
  }
  const std::vector<CheckedFile> files =
      CheckAll(options, {.format = *format, .keep_unknown = options.keep_unknown});
  int64_t bad = 0;
  json list = json::array();
  for (const CheckedFile& file : files) {
    bad += file.error ? 1 : 0;
    if (options.json) {
      list.push_back(ToJson(file));
    } else {
      context.out << PrintableLine(Line(file)) << "\n";
    }
  }
  if (options.json) {
    const json document = {{"schema", "autotune.check/1"}, {"bad", bad}, {"files", list}};
    context.out << DumpJson(document) << "\n";
  }
  return bad == 0 ? kExitDone : kExitBadInput;
}

}  // namespace

void AddCheckCommand(CLI::App& app, CommandContext& context) {
  CLI::App* command = app.add_subcommand("check", "Parse and verify files, folders and patterns");
  auto options = std::make_shared<CheckOptions>();
  command
      ->add_option("FILE", options->inputs, "HLO text or protobuf, recordings, folders, patterns")
      ->required();
  command
      ->add_option("--format", options->format,
                   "auto, hlo, pb, hloproto, snapshot, hlo_with_config, pbtxt or stablehlo")
      ->capture_default_str();
  command->add_flag("--keep-unknown", options->keep_unknown,
                    "Accept attributes and opcodes of a newer XLA");
  command->add_flag("--json", options->json, "One JSON document on standard output");
  command->footer(kExamples);
  command->callback([options, &context] { context.exit_code = RunCheck(*options, context); });
}

}  // namespace autotune
