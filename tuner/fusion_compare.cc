#include "tuner/fusion_compare.h"

#include <algorithm>
#include <filesystem>
#include <ostream>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "hardware/fusion_recording.h"
#include "hlo/fusion_inline.h"
#include "nlohmann/json.hpp"
#include "tuner/command_status.h"
#include "tuner/fusion_study.h"
#include "tuner/interrupt.h"
#include "tuner/output_files.h"
#include "tuner/printable.h"
#include "tuner/program.h"

namespace autotune {
namespace {

constexpr char kSuffix[] = ".jsonl.gz";

struct Input {
  std::string program;
  std::string recording;
};

// The pairs of a folder, by name.
std::vector<Input> PairsOf(const std::string& folder) {
  std::vector<Input> inputs;
  std::error_code error;
  for (const auto& entry : std::filesystem::directory_iterator(folder, error)) {
    const std::string path = entry.path().string();
    if (!absl::EndsWith(path, kSuffix)) continue;
    std::string program = absl::StrCat(absl::StripSuffix(path, kSuffix), ".hlo");
    if (std::filesystem::exists(program, error)) inputs.push_back({std::move(program), path});
  }
  std::sort(inputs.begin(), inputs.end(),
            [](const Input& a, const Input& b) { return a.program < b.program; });
  return inputs;
}

bool IsFolder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

absl::StatusOr<FusionStudy> Study(const Input& input, const FusionStudyOptions& options) {
  absl::StatusOr<Program> program = LoadProgram(input.program);
  if (!program.ok()) return program.status();
  if (program->module == nullptr) {
    return WithExitCode(kExitBadInput,
                        absl::InvalidArgumentError(absl::StrCat(input.program, " is no program")));
  }
  absl::StatusOr<FusionGraph> graph = InlinedFusionGraph(*program->module);
  if (!graph.ok()) return WithExitCode(kExitBadInput, graph.status());
  absl::StatusOr<FusionRecording> recording = FusionRecording::Load(input.recording);
  if (!recording.ok()) return WithExitCode(kExitBadInput, recording.status());
  absl::StatusOr<FusionStudy> study = RunFusionStudy(*graph, *recording, options);
  if (!study.ok()) return WithExitCode(kExitBadInput, study.status());
  return study;
}

}  // namespace

bool ComparesFusions(const std::string& program, const std::vector<std::string>& recordings) {
  if (recordings.empty()) return IsFolder(program) && !PairsOf(program).empty();
  return recordings.size() == 1 && FusionRecording::Load(recordings.front()).ok();
}

int CompareFusionMethods(const FusionCompareOptions& options, CommandContext& context) {
  absl::StatusOr<std::vector<FusionMethod>> methods = ParseFusionMethods(options.methods);
  if (!methods.ok()) return context.Fail(WithExitCode(kExitWrongUse, methods.status()));
  FusionStudyOptions study;
  study.methods = *std::move(methods);
  study.seeds = options.seeds;
  study.first_seed = options.first_seed;
  if (options.max_evaluations.has_value()) {
    std::erase_if(study.budgets, [&](int64_t b) { return b >= *options.max_evaluations; });
    study.budgets.push_back(*options.max_evaluations);
  }
  std::vector<Input> inputs = PairsOf(options.program);
  if (!options.recordings.empty()) inputs = {{options.program, options.recordings.front()}};
  std::vector<FusionStudy> studies;
  for (const Input& input : inputs) {
    if (InterruptRequested()) return kExitInterrupted;
    absl::StatusOr<FusionStudy> done = Study(input, study);
    if (!done.ok()) return context.Fail(done.status());
    studies.push_back(*std::move(done));
  }
  if (options.json) {
    context.out << DumpJson(FusionStudiesJson(studies)) << "\n";
  } else {
    context.out << PrintableText(FusionStudiesText(studies));
  }
  return kExitDone;
}

}  // namespace autotune
