#include "tuner/fusion_command.h"

#include <memory>
#include <optional>
#include <ostream>
#include <utility>
#include <variant>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "hardware/atomic_file.h"
#include "hardware/device_spec.h"
#include "hardware/fusion_compiler.h"
#include "hardware/fusion_recording.h"
#include "hlo/fusion_apply.h"
#include "hlo/fusion_inline.h"
#include "hlo/printer.h"
#include "nlohmann/json.hpp"
#include "search/fusion_groups.h"
#include "search/fusion_scorer.h"
#include "tuner/best_config.h"
#include "tuner/command_status.h"
#include "tuner/fusion_render.h"
#include "tuner/fusion_tuner.h"
#include "tuner/interrupt.h"
#include "tuner/output_files.h"
#include "tuner/printable.h"
#include "tuner/run_tuning.h"

namespace autotune {
namespace {

class FusionCommand {
 public:
  FusionCommand(const TuneOptions& options, bool model_given, CommandContext& context)
      : options_(options), model_given_(model_given), context_(context) {}

  absl::Status Prepare();
  int Run();
  const std::string& out() const { return out_; }

 private:
  absl::Status LoadGraph();
  absl::Status OpenCompiler();
  absl::Status OpenRecording();
  absl::StatusOr<std::variant<FusionCompilation, Failure>> Measure(const FusionDecision& decision);
  FusionTunerOptions TunerOptions() const;
  absl::Status Write(const FusionTuning& tuning) const;

  const TuneOptions& options_;
  const bool model_given_;
  CommandContext& context_;
  std::string out_;
  std::optional<Program> program_;
  std::optional<FusionGraph> graph_;
  std::unique_ptr<FusionCompiler> compiler_;
  std::optional<FusionRecording> recording_;  // that is replayed
  std::optional<DeviceSpec> device_;
};

absl::Status FusionCommand::LoadGraph() {
  absl::StatusOr<Program> program = LoadProgram(options_.program);
  if (!program.ok()) return program.status();
  program_ = *std::move(program);
  if (program_->module == nullptr) {
    return WithExitCode(
        kExitBadInput, absl::InvalidArgumentError(absl::StrCat(options_.program,
                                                               " is a recording of kernels; fusion "
                                                               "needs a program")));
  }
  absl::StatusOr<FusionGraph> graph = InlinedFusionGraph(*program_->module);
  if (!graph.ok()) return WithExitCode(kExitBadInput, graph.status());
  graph_ = *std::move(graph);
  for (const std::string& warning : program_->warnings) {
    context_.err << "warning: " << PrintableText(warning) << "\n";
  }
  return absl::OkStatus();
}

absl::Status FusionCommand::OpenRecording() {
  if (options_.recordings.size() != 1) {
    return WithExitCode(kExitWrongUse, absl::InvalidArgumentError(
                                           "--space fusion replays one recording at a time"));
  }
  absl::StatusOr<FusionRecording> recording = FusionRecording::Load(options_.recordings.front());
  if (!recording.ok()) return WithExitCode(kExitBadInput, recording.status());
  if (recording->origin().fingerprint != FusionFingerprint(*graph_)) {
    return WithExitCode(kExitBadInput, absl::InvalidArgumentError(absl::StrCat(
                                           options_.recordings.front(), " records ",
                                           recording->origin().program, ", another program")));
  }
  recording_ = *std::move(recording);
  absl::StatusOr<DeviceSpec> device = FindDeviceSpec(recording_->origin().device);
  if (!device.ok()) return WithExitCode(kExitBadInput, device.status());
  device_ = *std::move(device);
  return absl::OkStatus();
}

absl::Status FusionCommand::OpenCompiler() {
  if (!options_.backend.empty() && options_.backend != "aot") {
    return WithExitCode(kExitWrongUse,
                        absl::InvalidArgumentError(absl::StrCat(
                            "--space fusion works with --backend aot, or with the --recording of a "
                            "fusion sweep, not with --backend ",
                            options_.backend)));
  }
  AotBackendOptions aot;
  aot.target = options_.target.empty() ? kAssumedTarget : options_.target;
  aot.timeout = absl::Seconds(options_.timeout_seconds);
  absl::StatusOr<std::unique_ptr<FusionCompiler>> compiler = FusionCompiler::Create(aot);
  if (!compiler.ok()) return WithExitCode(kExitBroken, compiler.status());
  compiler_ = *std::move(compiler);
  device_ = compiler_->device();
  return absl::OkStatus();
}

absl::Status FusionCommand::Prepare() {
  if (options_.resume) {
    return WithExitCode(kExitWrongUse,
                        absl::InvalidArgumentError(
                            "--space fusion needs no --resume: give the command again with the "
                            "same --out, and what was compiled costs no time"));
  }
  if (absl::Status status = LoadGraph(); !status.ok()) return status;
  const bool replays = !options_.recordings.empty();
  if (absl::Status status = replays ? OpenRecording() : OpenCompiler(); !status.ok()) return status;
  out_ = !options_.out.empty() ? options_.out
                               : NewRunDirectory(options_.program, absl::ToUnixMicros(absl::Now()));
  if (absl::Status status = MakeOutputDirectory(out_); !status.ok()) return status;
  std::ostream& stream = options_.json ? context_.err : context_.out;
  if (!options_.quiet) {
    stream << PrintableText(absl::StrCat("autotune: fusion of ", options_.program, " for ",
                                         device_->name, ", ",
                                         replays ? "replayed from " + options_.recordings.front()
                                                 : "compiled ahead of time",
                                         "; ESTIMATES\n"))
           << std::flush;
  }
  return absl::OkStatus();
}

absl::StatusOr<std::variant<FusionCompilation, Failure>> FusionCommand::Measure(
    const FusionDecision& decision) {
  if (recording_.has_value()) return ReplayFusions(&*recording_)(decision);
  const std::string path = absl::StrCat(out_, "/fusion.jsonl");
  absl::Status status =
      RecordFusions(*compiler_, *graph_, std::string(graph_->module().name()), {decision}, path,
                    [](const FusionRecording&) { return true; });
  if (!status.ok()) return status;
  absl::StatusOr<FusionRecording> written = FusionRecording::Load(path);
  if (!written.ok()) return written.status();
  return ReplayFusions(&*written)(decision);
}

FusionTunerOptions FusionCommand::TunerOptions() const {
  FusionTunerOptions tuning;
  tuning.budget = options_.budget.value_or(kDefaultBudget);
  if (options_.space == "tile+fusion") tuning.budget = (tuning.budget + 1) / 2;
  tuning.strategy = options_.strategy;
  tuning.guide = options_.model == "none"                         ? FusionGuide::kNone
                 : model_given_ && options_.model == "analytical" ? FusionGuide::kAnalytical
                                                                  : FusionGuide::kLearned;
  tuning.top_k = options_.top_k;
  tuning.seed = options_.seed;
  tuning.confirm = !recording_.has_value();
  if (recording_.has_value()) {
    for (const FusionEntry& entry : recording_->entries()) tuning.only.push_back(entry.decision);
  }
  tuning.progress = [this](const FusionRecording& done, const FusionEntry& entry) {
    if (!options_.quiet) {
      const std::string outcome =
          entry.failure.has_value()
              ? std::string(FailureKindName(entry.failure->kind))
              : absl::StrFormat("%.3f us, %d kernels", entry.total.schedule * 1e6,
                                entry.kernels.size());
      context_.err << done.entries().size() << ": " << entry.decision.Key() << "  " << outcome
                   << std::endl;
    }
    return !InterruptRequested();
  };
  return tuning;
}

absl::Status FusionCommand::Write(const FusionTuning& tuning) const {
  const std::string versions =
      recording_.has_value() ? recording_->origin().versions : compiler_->version();
  absl::StatusOr<std::unique_ptr<HloModule>> tuned = ApplyFusion(*graph_, tuning.Chosen().decision);
  if (!tuned.ok()) return tuned.status();
  const BestConfig best =
      FusionBestConfig(*graph_, tuning, options_.program, device_->name, versions);
  absl::Status status = WriteFileAtomically(absl::StrCat(out_, "/best.json"),
                                            absl::StrCat(DumpJson(best.ToJson()), "\n"));
  status.Update(WriteFileAtomically(absl::StrCat(out_, "/tuned.hlo"), PrintHlo(**tuned)));
  status.Update(WriteFileAtomically(
      absl::StrCat(out_, "/report.json"),
      absl::StrCat(DumpJson(FusionTuningJson(*graph_, tuning, device_->name)), "\n")));
  return status;
}

int FusionCommand::Run() {
  const FusionTunerOptions tuner_options = TunerOptions();
  absl::StatusOr<FusionTuning> tuning = TuneFusion(
      *graph_, std::string(graph_->module().name()), *device_,
      [this](const FusionDecision& decision) { return Measure(decision); }, tuner_options);
  if (!tuning.ok()) {
    const bool bad = absl::IsFailedPrecondition(tuning.status());
    return context_.Fail(WithExitCode(bad ? kExitBadInput : kExitBroken, tuning.status()));
  }
  tuning->recording.set_versions(recording_.has_value() ? recording_->origin().versions
                                                        : compiler_->version());
  if (absl::Status status = Write(*tuning); !status.ok()) {
    return context_.Fail(WithExitCode(kExitBroken, status));
  }
  if (options_.json) {
    context_.out << DumpJson(FusionTuningJson(*graph_, *tuning, device_->name)) << "\n";
  } else {
    context_.out << PrintableText(FusionTuningText(*graph_, *tuning, device_->name))
                 << PrintableText(
                        absl::StrCat("Written to ", out_, ": best.json, tuned.hlo, report.json",
                                     recording_.has_value() ? "" : ", fusion.jsonl", "\n"));
  }
  context_.out.flush();
  return tuning->stopped ? kExitInterrupted : kExitDone;
}

// The tiles of the kernels of the program that fusion tuning wrote, and both results in one file.
int TuneTilesOf(const std::string& out, TuneOptions options, CommandContext& context) {
  const std::string fusion_best = absl::StrCat(out, "/best.json");
  absl::StatusOr<std::string> fusion_text = ReadWholeFile(fusion_best);
  if (!fusion_text.ok()) return context.Fail(WithExitCode(kExitBroken, fusion_text.status()));
  options.program = absl::StrCat(out, "/tuned.hlo");
  options.out = absl::StrCat(out, "/tiles");
  options.space = "tile";
  options.backend = "aot";
  const int64_t budget = options.budget.value_or(kDefaultBudget);
  options.budget = budget - (budget + 1) / 2;
  const int code = RunTuning(options, {"--space", "--backend", "--out", "--budget"}, context);
  if (code != kExitDone) return code;
  const std::string tile_path = absl::StrCat(options.out, "/best.json");
  absl::StatusOr<std::string> tile_text = ReadWholeFile(tile_path);
  if (!tile_text.ok()) return context.Fail(WithExitCode(kExitBroken, tile_text.status()));
  absl::StatusOr<BestConfig> best = BestConfig::Parse(*fusion_text, fusion_best);
  absl::StatusOr<BestConfig> tiles = BestConfig::Parse(*tile_text, tile_path);
  if (!best.ok()) return context.Fail(WithExitCode(kExitBroken, best.status()));
  if (!tiles.ok()) return context.Fail(WithExitCode(kExitBroken, tiles.status()));
  best->kernels.insert(best->kernels.end(), tiles->kernels.begin(), tiles->kernels.end());
  const absl::Status written =
      WriteFileAtomically(fusion_best, absl::StrCat(DumpJson(best->ToJson()), "\n"));
  return written.ok() ? code : context.Fail(WithExitCode(kExitBroken, written));
}

}  // namespace

int RunFusionTuning(const TuneOptions& options, const std::set<std::string>& given,
                    CommandContext& context) {
  const bool joint = options.space == "tile+fusion";
  if (joint && (options.json || !options.recordings.empty())) {
    return context.Fail(kExitWrongUse,
                        "--space tile+fusion works live and without --json: for each of its halves "
                        "there is a report.json");
  }
  FusionCommand command(options, given.contains("--model"), context);
  if (absl::Status status = command.Prepare(); !status.ok()) return context.Fail(status);
  const int code = command.Run();
  return joint && code == kExitDone ? TuneTilesOf(command.out(), options, context) : code;
}

int RunFusionInspection(const Program& program, const std::string& target, int64_t limit, bool dot,
                        CommandContext& context) {
  absl::StatusOr<DeviceSpec> device = FindDeviceSpec(target.empty() ? kAssumedTarget : target);
  if (!device.ok()) return context.Fail(WithExitCode(kExitWrongUse, device.status()));
  if (program.module == nullptr) {
    return context.Fail(kExitBadInput, "--fusion needs a program, not a recording of kernels");
  }
  absl::StatusOr<FusionGraph> graph = InlinedFusionGraph(*program.module);
  if (!graph.ok()) return context.Fail(WithExitCode(kExitBadInput, graph.status()));
  // A program with barriers of its own shows its groups as they are.
  const FusionScorer scorer(&*graph, PredictOutline(*graph), *device);
  context.out << PrintableText(dot ? FusionGroupsDot(*graph, scorer, {})
                                   : FusionGroupsText(*graph, scorer, {}, limit));
  return kExitDone;
}

}  // namespace autotune
