#include "tuner/fusion_run.h"

#include <algorithm>
#include <memory>
#include <optional>
#include <ostream>
#include <utility>
#include <variant>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "hardware/atomic_file.h"
#include "hardware/fusion_compiler.h"
#include "hardware/fusion_recording.h"
#include "hlo/fusion_apply.h"
#include "hlo/fusion_inline.h"
#include "hlo/printer.h"
#include "nlohmann/json.hpp"
#include "tuner/best_config.h"
#include "tuner/command_status.h"
#include "tuner/fusion_inspect.h"
#include "tuner/fusion_render.h"
#include "tuner/interrupt.h"
#include "tuner/output_files.h"
#include "tuner/printable.h"
#include "tuner/run_file.h"

namespace autotune {

absl::Status FusionRun::LoadGraph() {
  absl::StatusOr<Program> program = LoadProgram(options_.program);
  if (!program.ok()) return program.status();
  program_ = *std::move(program);
  if (program_->module == nullptr) {
    return BadInput(absl::StrCat(options_.program,
                                 " is a recording of kernels; fusion "
                                 "needs a program"));
  }
  absl::StatusOr<FusionGraph> graph = InlinedFusionGraph(*program_->module);
  if (!graph.ok()) return WithExitCode(kExitBadInput, graph.status());
  graph_ = *std::move(graph);
  for (const std::string& warning : program_->warnings) {
    context_.err << "warning: " << PrintableText(warning) << "\n";
  }
  return absl::OkStatus();
}

absl::Status FusionRun::OpenRecording() {
  if (options_.recordings.size() != 1) {
    return WrongUse("--space fusion replays one recording at a time");
  }
  absl::StatusOr<FusionRecording> recording = LoadFusionsOf(*graph_, options_.recordings.front());
  if (!recording.ok()) return recording.status();
  recording_ = *std::move(recording);
  absl::StatusOr<DeviceSpec> device = FindDeviceSpec(recording_->origin().device);
  if (!device.ok()) return WithExitCode(kExitBadInput, device.status());
  const absl::StatusOr<DeviceSpec> asked =
      options_.target.empty() ? device : FindDeviceSpec(options_.target);
  if (!asked.ok() || asked->name != device->name) {
    return WrongUse(
        absl::StrCat("the recording is of ", device->name, ", not of --target ", options_.target));
  }
  device_ = *std::move(device);
  return absl::OkStatus();
}

// A learned model that was asked for. In a joint run it is one of tiles, and fusion is guided by
// what the run itself learns.
absl::Status FusionRun::OpenModel() {
  if (!model_given_ || options_.model == "analytical" || options_.model == "none" ||
      options_.space == "tile+fusion") {
    return absl::OkStatus();
  }
  absl::StatusOr<FusionPrior> prior = CreateFusionPrior(options_.model, &*graph_, *device_);
  if (!prior.ok()) return prior.status();
  prior_ = *std::move(prior);
  return absl::OkStatus();
}

AotBackendOptions FusionRun::AotOptions() const {
  AotBackendOptions aot;
  aot.target = options_.target.empty() ? kAssumedTarget : options_.target;
  aot.timeout = absl::Seconds(options_.timeout_seconds);
  aot.jobs = static_cast<int>(std::max<int64_t>(1, options_.jobs));
  return aot;
}

absl::Status FusionRun::OpenCompiler() {
  if (!options_.backend.empty() && options_.backend != "aot") {
    return WrongUse(
        absl::StrCat("--space fusion works with --backend aot, or with the --recording of a "
                     "fusion sweep, not with --backend ",
                     options_.backend));
  }
  absl::StatusOr<std::unique_ptr<FusionCompiler>> compiler = FusionCompiler::Create(AotOptions());
  if (!compiler.ok()) return WithExitCode(kExitBroken, compiler.status());
  compiler_ = *std::move(compiler);
  device_ = compiler_->device();
  return absl::OkStatus();
}

absl::Status FusionRun::Prepare() {
  if (absl::Status status = LoadGraph(); !status.ok()) return status;
  const bool replays = !options_.recordings.empty();
  if (absl::Status status = replays ? OpenRecording() : OpenCompiler(); !status.ok()) return status;
  if (absl::Status status = OpenModel(); !status.ok()) return status;
  out_ = !options_.out.empty() ? options_.out
                               : NewRunDirectory(options_.program, absl::ToUnixMicros(absl::Now()));
  if (absl::Status status = MakeOutputDirectory(out_); !status.ok()) return status;
  absl::StatusOr<RunLock> lock = RunLock::Acquire(out_);
  if (!lock.ok()) return lock.status();
  if (!absl::IsNotFound(RunFile::Load(out_).status())) {
    return WrongUse(absl::StrCat(out_, " holds a run of tiles: give another --out"));
  }
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

absl::StatusOr<std::variant<FusionCompilation, Failure>> FusionRun::Measure(
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

FusionTunerOptions FusionRun::TunerOptions(int64_t budget) const {
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

absl::Status FusionRun::Write(const FusionTuning& tuning) const {
  const std::string versions =
      recording_.has_value() ? recording_->origin().versions : compiler_->version();
  absl::StatusOr<std::unique_ptr<HloModule>> tuned = ApplyFusion(*graph_, tuning.Chosen().decision);
  if (!tuned.ok()) return tuned.status();
  const BestConfig best =
      FusionBestConfig(*graph_, tuning, options_.program, device_->name, versions);
  const std::pair<const char*, std::string> files[] = {
      {"report.json",
       absl::StrCat(DumpJson(FusionTuningJson(*graph_, tuning, device_->name)), "\n")},
      {"tuned.hlo", PrintHlo(**tuned)},
      {"best.json", absl::StrCat(DumpJson(best.ToJson()), "\n")}};
  for (const auto& [name, content] : files) {  // best.json last: it belongs to the others
    absl::Status status = WriteFileAtomically(absl::StrCat(out_, "/", name), content);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

absl::StatusOr<FusionTuning> FusionRun::Tune(int64_t budget) {
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

absl::Status FusionRun::Show(const FusionTuning& tuning) const {
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

int FusionRun::Run() {
  const absl::StatusOr<FusionTuning> tuning = Tune(options_.budget.value_or(kDefaultBudget));
  if (!tuning.ok()) return context_.Fail(tuning.status());
  if (absl::Status status = Show(*tuning); !status.ok()) return context_.Fail(status);
  return tuning->stopped ? kExitInterrupted : kExitDone;
}

}  // namespace autotune
