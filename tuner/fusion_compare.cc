#include "tuner/fusion_compare.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <ostream>
#include <system_error>
#include <utility>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "costmodel/fusion_examples.h"
#include "costmodel/fusion_training.h"
#include "costmodel/recorded_examples.h"
#include "hardware/device_spec.h"
#include "hardware/fusion_recording.h"
#include "hardware/scratch_folder.h"
#include "hlo/fusion_inline.h"
#include "nlohmann/json.hpp"
#include "tuner/command_status.h"
#include "tuner/fusion_prior.h"
#include "tuner/fusion_study.h"
#include "tuner/interrupt.h"
#include "tuner/output_files.h"
#include "tuner/printable.h"
#include "tuner/program.h"

namespace autotune {
namespace {

bool IsFolder(const std::string& path) {
  std::error_code error;
  return std::filesystem::is_directory(path, error);
}

// A network that was trained on the other recordings of the folder; of a recording by itself the
// weights that come with autotune, whose model.json tells what they have seen.
absl::StatusOr<FusionPrior> PriorFor(const std::vector<FusionPair>& pairs, const FusionPair& pair,
                                     const FusionStudyOptions& options, const FusionGraph& graph,
                                     const DeviceSpec& device) {
  if (pairs.size() < 2) return CreateFusionPrior("learned", &graph, device);
  const absl::StatusOr<std::unique_ptr<ScratchFolder>> scratch = ScratchFolder::Create("compare");
  if (!scratch.ok()) return WithExitCode(kExitBroken, scratch.status());
  absl::StatusOr<std::unique_ptr<Network>> network = TrainFusionWithout(
      pairs, {ProgramOfFile(pair.recording)}, options.first_seed, /*jobs=*/2, (*scratch)->work());
  if (!network.ok()) return WithExitCode(kExitBroken, network.status());
  return FusionPriorOf(std::shared_ptr<const Network>(*std::move(network)), &graph, device);
}

absl::StatusOr<FusionStudy> Study(const std::vector<FusionPair>& pairs, const FusionPair& pair,
                                  FusionStudyOptions options) {
  absl::StatusOr<Program> program = LoadProgram(pair.program);
  if (!program.ok()) return program.status();
  if (program->module == nullptr) {
    return BadInput(absl::StrCat(pair.program, " is no program"));
  }
  absl::StatusOr<FusionGraph> graph = InlinedFusionGraph(*program->module);
  if (!graph.ok()) return WithExitCode(kExitBadInput, graph.status());
  absl::StatusOr<FusionRecording> recording = FusionRecording::Load(pair.recording);
  if (!recording.ok()) return WithExitCode(kExitBadInput, recording.status());
  const bool learned = std::any_of(options.methods.begin(), options.methods.end(),
                                   [](const FusionMethod& method) { return method.learned; });
  if (learned) {
    absl::StatusOr<DeviceSpec> device = FindDeviceSpec(recording->origin().device);
    if (!device.ok()) return WithExitCode(kExitBadInput, device.status());
    absl::StatusOr<FusionPrior> prior = PriorFor(pairs, pair, options, *graph, *device);
    if (!prior.ok()) return prior.status();
    options.prior = *std::move(prior);
  }
  absl::StatusOr<FusionStudy> study = RunFusionStudy(*graph, *recording, options);
  if (!study.ok()) return WithExitCode(kExitBadInput, study.status());
  // What a program calls itself ("jit_f") tells nobody which it is.
  study->origin.program = ProgramOfFile(pair.recording);
  return study;
}

}  // namespace

bool ComparesFusions(const std::string& program, const std::vector<std::string>& recordings) {
  if (recordings.empty()) return IsFolder(program) && !FusionPairsOf(program).empty();
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
  std::vector<FusionPair> pairs = FusionPairsOf(options.program);
  if (!options.recordings.empty()) pairs = {{options.program, options.recordings.front()}};
  std::vector<FusionStudy> studies;
  for (const FusionPair& pair : pairs) {
    if (InterruptRequested()) return kExitInterrupted;
    absl::StatusOr<FusionStudy> done = Study(pairs, pair, study);
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
