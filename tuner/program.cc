#include "tuner/program.h"

#include <utility>

#include "absl/strings/str_cat.h"
#include "hardware/atomic_file.h"
#include "tuner/command_status.h"

namespace autotune {
namespace {

absl::StatusOr<Program> FromRecording(const std::string& path, const std::string& bytes) {
  absl::StatusOr<Recording> recording = Recording::Parse(bytes, path);
  if (!recording.ok()) return WithExitCode(kExitBadInput, recording.status());
  Program program = {.path = path, .name = path};
  for (const RecordedKernel& kernel : recording->kernels()) {
    program.kernels.push_back(kernel.kernel());
  }
  program.recording = *std::move(recording);
  return program;
}

}  // namespace

absl::StatusOr<Program> LoadProgram(const std::string& path) {
  absl::StatusOr<std::string> bytes = ReadWholeFile(path);
  if (!bytes.ok()) return WithExitCode(kExitBadInput, bytes.status());
  if (Recording::LooksLikeRecording(*bytes)) return FromRecording(path, *bytes);
  return WithExitCode(kExitBadInput, absl::InvalidArgumentError(absl::StrCat(path, ": todo")));
}

absl::Status RequireKernels(const Program& program) {
  if (!program.kernels.empty()) return absl::OkStatus();
  return WithExitCode(kExitBadInput,
                      absl::InvalidArgumentError(absl::StrCat(program.path, ": has no kernels")));
}

}  // namespace autotune
