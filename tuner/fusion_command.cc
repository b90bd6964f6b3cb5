#include "tuner/fusion_command.h"

#include <algorithm>
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
#include "hardware/aot_backend.h"
#include "hardware/atomic_file.h"
#include "hardware/device_spec.h"
#include "hardware/fusion_compiler.h"
#include "hardware/fusion_recording.h"
#include "hlo/fusion_apply.h"
#include "hlo/fusion_inline.h"
#include "hlo/printer.h"
#include "nlohmann/json.hpp"
#include "tuner/best_config.h"
#include "tuner/command_status.h"
#include "tuner/fusion_inspect.h"
#include "tuner/fusion_joint.h"
#include "tuner/fusion_prior.h"
#include "tuner/fusion_render.h"
#include "tuner/fusion_tuner.h"
#include "tuner/interrupt.h"
#include "tuner/models.h"
#include "tuner/output_files.h"
#include "tuner/printable.h"
#include "tuner/run_lock.h"
#include "tuner/run_tuning.h"

namespace autotune {
namespace {

constexpr absl::Duration kProgramTimeout = absl::Minutes(30);
// Of a kernel, tiles whose times are predicted before the budget is split.
constexpr int64_t kTilesToPredict = 2000;

class FusionCommand {
 public:
  FusionCommand(const TuneOptions& options, bool model_given, CommandContext& context)
      : options_(options), model_given_(model_given), context_(context) {}

  absl::Status Prepare();
  int Run();
  absl::StatusOr<int> RunJoint();

 private:
  absl::Status LoadGraph();
  absl::Status OpenCompiler();
  absl::Status OpenRecording();
  absl::Status OpenModel();
  absl::StatusOr<std::variant<FusionCompilation, Failure>> Measure(const FusionDecision& decision);
  AotBackendOptions AotOptions() const;
  FusionTunerOptions TunerOptions(int64_t budget) const;
  absl::StatusOr<FusionTuning> Tune(int64_t budget);
  absl::Status Write(const FusionTuning& tuning) const;
  absl::Status Show(const FusionTuning& tuning) const;
  absl::StatusOr<double> TileGain();
  int TuneTiles(int64_t budget);
  absl::Status Confirm(const JointSplit& split, const FusionTuning& tuning, int64_t tiles_spent);
  absl::Status WriteJoint(const JointSplit& split, const FusionTuning& tuning,
                          const JointResult& result, int64_t tiles_spent) const;

  const TuneOptions& options_;
  const bool model_given_;
  CommandContext& context_;
  std::string out_;
  RunLock lock_;
  std::optional<Program> program_;
  std::optional<FusionGraph> graph_;
  std::unique_ptr<FusionCompiler> compiler_;
  std::optional<FusionRecording> recording_;  // that is replayed
  std::optional<DeviceSpec> device_;
  FusionPrior prior_;
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
  absl::StatusOr<FusionRecording> recording = LoadFusionsOf(*graph_, options_.recordings.front());
  if (!recording.ok()) return recording.status();
  recording_ = *std::move(recording);
  absl::StatusOr<DeviceSpec> device = FindDeviceSpec(recording_->origin().device);
  if (!device.ok()) return WithExitCode(kExitBadInput, device.status());
  device_ = *std::move(device);
  return absl::OkStatus();
}

// A learned model that was asked for. In a joint run it is one of tiles, and fusion is guided by
// what the run itself learns.
absl::Status FusionCommand::OpenModel() {
  if (!model_given_ || options_.model == "analytical" || options_.model == "none" ||
      options_.space == "tile+fusion") {
    return absl::OkStatus();
  }
  absl::StatusOr<FusionPrior> prior = CreateFusionPrior(options_.model, &*graph_, *device_);
  if (!prior.ok()) return prior.status();
  prior_ = *std::move(prior);
  return absl::OkStatus();
}

AotBackendOptions FusionCommand::AotOptions() const {
  AotBackendOptions aot;
  aot.target = options_.target.empty() ? kAssumedTarget : options_.target;
  // A whole program takes longer than the candidates that the option is about.
  aot.timeout = std::max(absl::Seconds(options_.timeout_seconds), kProgramTimeout);
  aot.jobs = static_cast<int>(std::max<int64_t>(1, options_.jobs));
  return aot;
}

absl::Status FusionCommand::OpenCompiler() {
  if (!options_.backend.empty() && options_.backend != "aot") {
    return WithExitCode(kExitWrongUse,
                        absl::InvalidArgumentError(absl::StrCat(
                            "--space fusion works with --backend aot, or with the --recording of a "
                            "fusion sweep, not with --backend ",
                            options_.backend)));
  }
  absl::StatusOr<std::unique_ptr<FusionCompiler>> compiler = FusionCompiler::Create(AotOptions());
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
  if (absl::Status status = OpenModel(); !status.ok()) return status;
  out_ = !options_.out.empty() ? options_.out
                               : NewRunDirectory(options_.program, absl::ToUnixMicros(absl::Now()));
  if (absl::Status status = MakeOutputDirectory(out_); !status.ok()) return status;
  absl::StatusOr<RunLock> lock = RunLock::Acquire(out_);
  if (!lock.ok()) return lock.status();
  lock_ = *std::move(lock);
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

FusionTunerOptions FusionCommand::TunerOptions(int64_t budget) const {
  FusionTunerOptions tuning;
  tuning.budget = budget;
  tuning.strategy = options_.strategy;
  tuning.guide = options_.model == "none"                         ? FusionGuide::kNone
                 : model_given_ && options_.model == "analytical" ? FusionGuide::kAnalytical
                                                                  : FusionGuide::kLearned;
  tuning.prior = prior_;
  tuning.top_k = options_.top_k;
  tuning.seed = options_.seed;
  // Both spaces are confirmed together.
  tuning.confirm = !recording_.has_value() && options_.space != "tile+fusion";
  tuning.confirm_with = [this](const FusionDecision& decision) {
    return compiler_->CompileWhole(*graph_, decision);
  };
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

absl::StatusOr<FusionTuning> FusionCommand::Tune(int64_t budget) {
  const FusionTunerOptions tuner_options = TunerOptions(budget);
  absl::StatusOr<FusionTuning> tuning = TuneFusion(
      *graph_, std::string(graph_->module().name()), *device_,
      [this](const FusionDecision& decision) { return Measure(decision); }, tuner_options);
  if (!tuning.ok()) {
    const bool bad = absl::IsFailedPrecondition(tuning.status());
    return WithExitCode(bad ? kExitBadInput : kExitBroken, tuning.status());
  }
  tuning->recording.set_versions(recording_.has_value() ? recording_->origin().versions
                                                        : compiler_->version());
  return tuning;
}

absl::Status FusionCommand::Show(const FusionTuning& tuning) const {
  if (absl::Status status = Write(tuning); !status.ok()) {
    return WithExitCode(kExitBroken, status);
  }
  if (options_.json) {
    context_.out << DumpJson(FusionTuningJson(*graph_, tuning, device_->name)) << "\n";
  } else {
    context_.out << PrintableText(FusionTuningText(*graph_, tuning, device_->name))
                 << PrintableText(
                        absl::StrCat("Written to ", out_, ": best.json, tuned.hlo, report.json",
                                     recording_.has_value() ? "" : ", fusion.jsonl", "\n"));
  }
  context_.out.flush();
  return absl::OkStatus();
}

int FusionCommand::Run() {
  const absl::StatusOr<FusionTuning> tuning = Tune(options_.budget.value_or(kDefaultBudget));
  if (!tuning.ok()) return context_.Fail(tuning.status());
  if (absl::Status status = Show(*tuning); !status.ok()) return context_.Fail(status);
  return tuning->stopped ? kExitInterrupted : kExitDone;
}

// Both spaces: a tenth of the budget goes to fusion, then both gains are predicted and the rest is
// split by them; fusion goes on where it was; the tiles of the kernels of what it chose follow; the
// whole is compiled at the end.
absl::StatusOr<int> FusionCommand::RunJoint() {
  const int64_t budget = options_.budget.value_or(kDefaultBudget);
  const int64_t probe = std::max<int64_t>(2, budget / 10);
  absl::StatusOr<FusionTuning> tuning = Tune(probe);
  if (!tuning.ok()) return tuning.status();
  absl::StatusOr<double> tile_gain = TileGain();
  if (!tile_gain.ok()) return tile_gain.status();
  // The model likes best what it errs about: no more is expected of fusion than it has shown.
  const double fusion_gain =
      std::min(tuning->predicted_gain, std::max(0.0, -tuning->comparison.change.schedule));
  const JointSplit split = SplitJointBudget(budget, probe, fusion_gain, *tile_gain);
  if (!tuning->stopped && split.fusion > probe) {
    tuning = Tune(split.fusion);
    if (!tuning.ok()) return tuning.status();
  }
  if (absl::Status status = Show(*tuning); !status.ok()) return status;
  if (tuning->stopped) return static_cast<int>(kExitInterrupted);
  // What fusion did not need goes to the tiles.
  const int64_t tiles = split.tiles + split.fusion - tuning->compilations;
  const int code = TuneTiles(tiles);
  if (code != kExitDone) return code;
  absl::Status confirmed = Confirm(split, *tuning, tiles);
  if (!confirmed.ok()) return confirmed;
  return code;
}

// What the analytical model expects of other tiles in the default program.
absl::StatusOr<double> FusionCommand::TileGain() {
  if (compiler_->last_program() == nullptr) {
    absl::StatusOr<std::variant<FusionCompilation, Failure>> compiled =
        compiler_->CompileWhole(*graph_, {});
    if (!compiled.ok()) return WithExitCode(kExitBroken, compiled.status());
  }
  const std::shared_ptr<const HloModule> program = compiler_->last_program();
  absl::StatusOr<std::shared_ptr<CostModel>> model =
      CreateModel("analytical", device_->name, TimeSource::kEstimate);
  if (!model.ok()) return model.status();
  return program == nullptr ? 0.0 : PredictedTileGain(*program, *device_, **model, kTilesToPredict);
}

// The tiles of the kernels of tuned.hlo: a run of its own in OUT/tiles.
int FusionCommand::TuneTiles(int64_t budget) {
  TuneOptions options = options_;
  options.program = absl::StrCat(out_, "/tuned.hlo");
  options.out = absl::StrCat(out_, "/tiles");
  options.space = "tile";
  options.backend = "aot";
  options.budget = budget;
  if (!model_given_) options.model.clear();  // what is best for tiles on this device
  if (options.target.empty()) options.target = kAssumedTarget;
  return RunTuning(options, {"--space", "--backend", "--out", "--budget", "--target"}, context_);
}

absl::Status FusionCommand::Confirm(const JointSplit& split, const FusionTuning& tuning,
                                    int64_t tiles_spent) {
  const std::string tile_path = absl::StrCat(out_, "/tiles/best.json");
  absl::StatusOr<std::string> text = ReadWholeFile(tile_path);
  if (!text.ok()) return WithExitCode(kExitBroken, text.status());
  absl::StatusOr<BestConfig> tiles = BestConfig::Parse(*text, tile_path);
  if (!tiles.ok()) return WithExitCode(kExitBroken, tiles.status());
  const FusionDecision& cuts = tuning.Chosen().decision;
  absl::StatusOr<std::variant<FusionCompilation, Failure>> fused =
      compiler_->CompileWhole(*graph_, cuts);
  if (!fused.ok()) return WithExitCode(kExitBroken, fused.status());
  const FusionCompilation* compiled = std::get_if<FusionCompilation>(&*fused);
  absl::StatusOr<std::unique_ptr<HloModule>> program = ApplyFusion(*graph_, cuts);
  if (!program.ok()) return WithExitCode(kExitBroken, program.status());
  if (compiled == nullptr) {
    return WithExitCode(kExitBroken,
                        absl::InternalError("the chosen program does not compile a second time"));
  }
  absl::StatusOr<std::unique_ptr<AotBackend>> backend = AotBackend::Create(AotOptions());
  if (!backend.ok()) return WithExitCode(kExitBroken, backend.status());
  absl::StatusOr<JointResult> result = ConfirmJoint(
      *compiler_, **backend, **program, tuning.base.total, *compiled, *tiles, split.confirm - 1);
  if (!result.ok()) return WithExitCode(kExitBroken, result.status());
  ++result->compilations;
  return WriteJoint(split, tuning, *result, tiles_spent);
}

absl::Status FusionCommand::WriteJoint(const JointSplit& split, const FusionTuning& tuning,
                                       const JointResult& result, int64_t tiles_spent) const {
  BestConfig best =
      FusionBestConfig(*graph_, tuning, options_.program, device_->name, compiler_->version());
  best.kernels.insert(best.kernels.end(), result.best.kernels.begin(), result.best.kernels.end());
  // What is unsettled is a candidate; the default stays chosen.
  const std::string name = result.unsettled ? "candidate" : "best";
  absl::Status status = WriteFileAtomically(absl::StrCat(out_, "/", name, ".json"),
                                            absl::StrCat(DumpJson(best.ToJson()), "\n"));
  status.Update(
      WriteFileAtomically(absl::StrCat(out_, "/", result.unsettled ? "candidate" : "tuned", ".hlo"),
                          PrintHlo(*result.program)));
  if (result.unsettled) {
    FusionTuning none = tuning;
    none.fastest = none.base;
    none.unsettled = false;
    status.Update(Write(none));
  }
  const int64_t fusion_spent = tuning.compilations;
  status.Update(WriteFileAtomically(
      absl::StrCat(out_, "/joint.json"),
      absl::StrCat(DumpJson(JointJson(split, result, fusion_spent, tiles_spent)), "\n")));
  if (!status.ok()) return WithExitCode(kExitBroken, status);
  context_.out << PrintableText(JointText(split, result, fusion_spent, tiles_spent)) << std::flush;
  return absl::OkStatus();
}

}  // namespace

int RunFusionTuning(const TuneOptions& options, const std::set<std::string>& given,
                    CommandContext& context) {
  const bool joint = options.space == "tile+fusion";
  if (joint && (options.json || !options.recordings.empty())) {
    return context.Fail(kExitWrongUse,
                        "--space tile+fusion works live and without --json: OUT/joint.json, and a "
                        "report.json for each of its halves, hold the results");
  }
  FusionCommand command(options, given.contains("--model"), context);
  if (absl::Status status = command.Prepare(); !status.ok()) return context.Fail(status);
  if (!joint) return command.Run();
  const absl::StatusOr<int> code = command.RunJoint();
  return code.ok() ? *code : context.Fail(code.status());
}

}  // namespace autotune
