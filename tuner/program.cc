#include "tuner/program.h"

#include <algorithm>
#include <utility>

#include "absl/algorithm/container.h"
#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hardware/compiled_for.h"
#include "hlo/program_stage.h"
#include "hlo/read_file.h"
#include "hlo/read_module.h"
#include "tuner/command_status.h"
#include "tuner/input_files.h"

namespace autotune {
namespace {

absl::StatusOr<Program> FromRecording(const std::string& path, const std::string& bytes) {
  absl::StatusOr<Recording> recording = Recording::Parse(bytes, InputName(path));
  if (!recording.ok()) return recording.status();
  Program program;
  program.path = path;
  program.name = path;
  for (const RecordedKernel& kernel : recording->kernels()) {
    program.kernels.push_back(kernel.kernel());
  }
  program.recording = *std::move(recording);
  return program;
}

absl::StatusOr<Program> FromModule(const std::string& path, std::unique_ptr<HloModule> module) {
  Program program;
  program.path = path;
  program.module = std::move(module);
  program.name = std::string(program.module->name());
  absl::StatusOr<std::vector<Kernel>> kernels = ExtractKernels(*program.module);
  if (!kernels.ok()) return kernels.status();
  program.kernels = *std::move(kernels);
  if (StageOf(*program.module) == ProgramStage::kOptimizedElsewhere) {
    program.warnings.push_back(
        absl::StrCat(path, " ", ProgramStageAdvice(ProgramStage::kOptimizedElsewhere)));
  }
  if (const int64_t elided = program.module->elided_constant_count(); elided > 0) {
    program.warnings.push_back(absl::StrCat(
        path, ": ", elided, elided == 1 ? " constant was" : " constants were",
        " elided (`{...}`) when the file was written; costs and tuning do not need them. "
        "--xla_dump_hlo_as_proto, or print_large_constants when printing, writes them in full"));
  }
  return program;
}

// The one file that the argument stands for.
absl::StatusOr<std::string> OneFile(const std::string& argument) {
  absl::StatusOr<std::vector<std::string>> files = FindModuleFiles(argument);
  if (!files.ok()) return files.status();
  if (files->size() == 1) return files->front();
  constexpr size_t kListed = 8;
  const size_t listed = std::min(kListed, files->size());
  std::string list =
      absl::StrJoin(files->begin(), files->begin() + static_cast<std::ptrdiff_t>(listed), "\n  ");
  if (listed < files->size()) absl::StrAppend(&list, "\n  ...");
  return absl::InvalidArgumentError(
      absl::StrCat(argument, " holds ", files->size(), " programs; give one of them:\n  ", list));
}

absl::StatusOr<Program> Load(const std::string& argument) {
  absl::StatusOr<std::string> path = OneFile(argument);
  if (!path.ok()) return path.status();
  absl::StatusOr<std::string> content = ReadWholeFile(*path);
  if (!content.ok()) return content.status();
  if (IsRecordingContent(*content)) return FromRecording(*path, *content);
  absl::StatusOr<ReadModuleResult> read = ReadVerifiedModule(*std::move(content), InputName(*path));
  if (!read.ok()) return read.status();
  absl::StatusOr<Program> program = FromModule(*path, std::move(read->module));
  if (program.ok() && read->format == HloFormat::kStableHlo) {
    program->warnings.push_back(
        absl::StrCat(*path, " is StableHLO; the compiler behind a PJRT plugin made HLO of it"));
  }
  return program;
}

// What the program, or the first of its kernels that tells, was optimised for.
std::vector<std::string> CompiledFor(const Program& program) {
  if (program.module != nullptr) return CompiledForDevices(*program.module);
  for (const Kernel& kernel : program.kernels) {
    std::vector<std::string> devices = CompiledForDevices(*kernel.module);
    if (!devices.empty()) return devices;
  }
  return {};
}

}  // namespace

absl::StatusOr<Program> LoadProgram(const std::string& path) {
  absl::StatusOr<Program> program = Load(path);
  if (program.ok()) return program;
  return WithExitCode(kExitBadInput, program.status());
}

bool IsBeforeOptimisation(const Program& program) {
  return program.module != nullptr && program.kernels.empty() &&
         StageOf(*program.module) == ProgramStage::kBeforeOptimization;
}

absl::Status RequireKernels(const Program& program) {
  if (!program.kernels.empty()) return absl::OkStatus();
  const bool tpu =
      program.module == nullptr || StageOf(*program.module) == ProgramStage::kOptimizedForTpu;
  const absl::string_view what =
      tpu ? "holds no kernels: no fusion or other operation of it is tiled for a TPU"
          : ProgramStageAdvice(StageOf(*program.module));
  return BadInput(absl::StrCat(program.path, " ", what));
}

absl::Status RequireCompiledFor(const Program& program, const DeviceSpec& device) {
  if (program.module != nullptr) return RequireCompiledFor(program.path, *program.module, device);
  for (const Kernel& kernel : program.kernels) {
    absl::Status status = RequireCompiledFor(absl::StrCat(program.path, ", kernel ", kernel.name),
                                             *kernel.module, device);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::Status RequireCompiledFor(const std::string& path, const HloModule& module,
                                const DeviceSpec& device) {
  const absl::Status status = CheckCompiledFor(module, device);
  if (status.ok()) return status;
  return WithExitCode(
      kExitWrongUse,
      absl::Status(status.code(),
                   absl::StrCat(path, ": ", std::string(status.message()),
                                "; give the program before optimisation or, to the aot "
                                "compiler, --target of what it was compiled for")));
}

AssumedTarget AssumeTarget(absl::Span<const Program> programs) {
  constexpr char kHow[] = "--target names another";
  for (const Program& program : programs) {
    if (program.recording && FindDeviceSpec(program.recording->origin().device).ok()) {
      return {program.recording->origin().device, absl::StrCat("target of the recording, ", kHow)};
    }
    const std::vector<std::string> devices = CompiledFor(program);
    if (devices.empty()) continue;
    if (absl::c_linear_search(devices, kAssumedTarget)) break;
    return {devices.back(), absl::StrCat("the program's layouts are those of ",
                                         absl::StrJoin(devices, " or "), ", ", kHow)};
  }
  return {kAssumedTarget, absl::StrCat("target assumed, ", kHow)};
}

}  // namespace autotune
