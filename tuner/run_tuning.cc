#include "tuner/run_tuning.h"

#include <unistd.h>

#include <algorithm>
#include <memory>
#include <optional>
#include <ostream>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "hardware/atomic_file.h"
#include "hardware/device_spec.h"
#include "hardware/record_store.h"
#include "nlohmann/json.hpp"
#include "tbb/global_control.h"
#include "tuner/backend_choice.h"
#include "tuner/best_config.h"
#include "tuner/command_status.h"
#include "tuner/html_report.h"
#include "tuner/interrupt.h"
#include "tuner/kernel_cost.h"
#include "tuner/kernel_space.h"
#include "tuner/models.h"
#include "tuner/output_files.h"
#include "tuner/program.h"
#include "tuner/progress.h"
#include "tuner/report_render.h"
#include "tuner/run_file.h"
#include "tuner/shell_words.h"
#include "tuner/tuner.h"

namespace autotune {
namespace {

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

// The run that --resume names: options not given are those of the run.
absl::StatusOr<std::optional<RunFile>> FindRun(const std::set<std::string>& given,
                                               TuneOptions& options) {
  if (!options.resume) return std::optional<RunFile>();
  if (options.out.empty()) {
    return WithExitCode(kExitWrongUse,
                        absl::InvalidArgumentError("--resume needs --out, the folder of the run"));
  }
  absl::StatusOr<RunFile> run = RunFile::Load(options.out);
  if (!run.ok()) return WithExitCode(kExitBadInput, run.status());
  absl::Status taken = TakeStoredOptions(run->options_json, given, options);
  if (!taken.ok()) {
    return WithExitCode(absl::IsFailedPrecondition(taken) ? kExitWrongUse : kExitBadInput, taken);
  }
  return std::optional<RunFile>(*std::move(run));
}

// Everything of one invocation, in the order in which it is made.
class TuningCommand {
 public:
  TuningCommand(TuneOptions options, CommandContext& context)
      : options_(std::move(options)), context_(context) {}

  absl::Status Prepare(const std::set<std::string>& given);
  int Run();

 private:
  absl::Status LoadInputs();
  absl::Status OpenRun(const std::optional<RunFile>& resumed);
  absl::Status LoadInterruptedRun(const std::string& run_id);
  absl::Status CreateTuner();
  void ShowHeadline();
  void CompleteReport(TuningReport& report);
  absl::Status WriteResults(const TuningReport& report);

  TuneOptions options_;
  CommandContext& context_;
  absl::Time start_ = absl::Now();
  double load_seconds_ = 0;
  Program program_;
  ChosenBackend backend_;
  TuningTask task_;
  std::unique_ptr<RecordStore> store_;
  std::string store_url_;
  std::unique_ptr<ProgressObserver> progress_;
  std::unique_ptr<tbb::global_control> threads_;
  std::unique_ptr<Tuner> tuner_;
};

absl::Status TuningCommand::Prepare(const std::set<std::string>& given) {
  absl::StatusOr<std::optional<RunFile>> resumed = FindRun(given, options_);
  if (!resumed.ok()) return resumed.status();
  absl::Status finished = FinishTuneOptions(options_);
  if (!finished.ok()) return WithExitCode(kExitWrongUse, finished);
  if (options_.jobs > 0) {
    threads_ = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism,
                                                     static_cast<size_t>(options_.jobs));
  }
  const ProgressStyle style = options_.quiet             ? ProgressStyle::kNone
                              : context_.err_is_terminal ? ProgressStyle::kBar
                                                         : ProgressStyle::kLines;
  progress_ = NewProgress(style, context_.err, context_.columns);
  if (absl::Status status = LoadInputs(); !status.ok()) return status;
  if (absl::Status status = OpenRun(*resumed); !status.ok()) return status;
  ShowHeadline();
  return CreateTuner();
}

absl::Status TuningCommand::LoadInputs() {
  absl::StatusOr<Program> program = LoadProgram(options_.program);
  if (!program.ok()) return program.status();
  program_ = *std::move(program);
  for (const std::string& warning : program_.warnings) {
    progress_->OnMessage(absl::StrCat("warning: ", warning));
  }
  absl::StatusOr<ChosenBackend> backend = ChooseBackend(options_, program_);
  if (!backend.ok()) return backend.status();
  backend_ = *std::move(backend);
  task_.kernels = program_.kernels;
  load_seconds_ = absl::ToDoubleSeconds(absl::Now() - start_);
  return absl::OkStatus();
}

absl::Status TuningCommand::OpenRun(const std::optional<RunFile>& resumed) {
  const int64_t now = absl::ToUnixMicros(start_);
  if (options_.out.empty()) options_.out = NewRunDirectory(options_.program, now);
  if (absl::Status status = MakeOutputDirectory(options_.out); !status.ok()) return status;
  store_url_ = !options_.store.empty() ? options_.store
               : resumed               ? resumed->store
                                       : absl::StrCat("sqlite:", options_.out, "/records.db");
  absl::StatusOr<std::unique_ptr<RecordStore>> store = RecordStore::Open(store_url_);
  if (!store.ok()) {
    const ExitCode code = absl::IsInvalidArgument(store.status()) ? kExitWrongUse : kExitBroken;
    return WithExitCode(code, store.status());
  }
  store_ = *std::move(store);
  if (resumed) return LoadInterruptedRun(resumed->run_id);
  task_.run.id = NewRunId();
  task_.run.program = options_.program;
  task_.run.options_json = OptionsToJson(options_).dump();
  task_.run.seed = options_.seed;
  task_.run.started_unix_micros = now;
  return RunFile{task_.run.id, store_url_, task_.run.options_json}.Save(options_.out);
}

absl::Status TuningCommand::LoadInterruptedRun(const std::string& run_id) {
  absl::StatusOr<RunRecord> run = store_->GetRun(run_id);
  if (absl::IsNotFound(run.status())) {
    return WithExitCode(kExitBadInput, absl::NotFoundError(absl::StrCat(
                                           store_url_, " does not hold the run ", run_id)));
  }
  if (!run.ok()) return run.status();
  absl::StatusOr<std::vector<CandidateRecord>> candidates = store_->RunCandidates(run_id);
  if (!candidates.ok()) return candidates.status();
  task_.run = *run;
  task_.resume = InterruptedRun{*std::move(run), *std::move(candidates)};
  return absl::OkStatus();
}

absl::Status TuningCommand::CreateTuner() {
  const std::string device = backend_.backend->capabilities().device;
  absl::StatusOr<std::shared_ptr<CostModel>> model = CreateModel(options_.model, device);
  if (!model.ok()) return model.status();
  TunerParts parts;
  parts.model = *std::move(model);
  parts.baseline = parts.model;
  if (options_.model != "analytical") {
    // Without the model of an unusual device there is just no baseline.
    absl::StatusOr<std::shared_ptr<CostModel>> baseline = CreateModel("analytical", device);
    if (baseline.ok()) parts.baseline = *std::move(baseline);
  }
  TunerOptions tuning;
  tuning.strategy = options_.strategy;
  tuning.top_k = options_.top_k;
  tuning.seed = options_.seed;
  tuning.budget = options_.budget;
  tuning.budget_seconds = options_.budget_seconds;
  tuning.clock = {.compile_seconds = options_.compile_seconds, .repeats = options_.repeats};
  // Rounds grow with what a backend can do at once, but a replay is the same on every machine.
  tuning.jobs = backend_.known != nullptr ? 1
                : options_.jobs > 0       ? options_.jobs
                                    : std::max<int64_t>(1, std::thread::hardware_concurrency());
  parts.known = backend_.known;
  parts.replays = backend_.known != nullptr;
  parts.space_of = std::move(backend_.space_of);
  parts.backend = std::move(backend_.backend);
  parts.store = std::move(store_);
  parts.progress = progress_.get();
  parts.interrupted = InterruptRequested;
  absl::StatusOr<std::unique_ptr<Tuner>> tuner = Tuner::Create(std::move(parts), tuning);
  if (!tuner.ok()) return WithExitCode(kExitWrongUse, tuner.status());
  tuner_ = *std::move(tuner);
  return absl::OkStatus();
}

void TuningCommand::ShowHeadline() {
  const Capabilities& capabilities = backend_.backend->capabilities();
  RunHeadline headline;
  headline.backend = capabilities.name;
  headline.device = capabilities.device;
  headline.time_source = capabilities.time_source;
  headline.reason = backend_.reason;
  headline.program = options_.program;
  headline.kernels = static_cast<int64_t>(task_.kernels.size());
  headline.strategy = options_.strategy;
  headline.model = options_.model;
  headline.seed = options_.seed;
  if (!options_.json) {
    context_.out << RenderHeadline(headline) << std::endl;
  } else if (!options_.quiet) {
    context_.err << RenderHeadline(headline) << std::endl;
  }
}

void TuningCommand::CompleteReport(TuningReport& report) {
  report.program_name = program_.name;
  report.backend_reason = backend_.reason;
  report.space = options_.space;
  report.recordings = options_.recordings;
  report.output_directory = options_.out;
  report.host = HostName();
  report.time.load = load_seconds_;
  report.wall_seconds = absl::ToDoubleSeconds(absl::Now() - start_);
  report.warnings.insert(report.warnings.begin(), program_.warnings.begin(),
                         program_.warnings.end());
  if (absl::StatusOr<DeviceSpec> device = FindDeviceSpec(report.device); device.ok()) {
    for (size_t i = 0; i < report.kernels.size(); ++i) {
      report.kernels[i].cost = CostOfKernel(task_.kernels[i], *device);
      report.kernels[i].compiler_estimate_seconds =
          CompilerEstimateSeconds(task_.kernels[i], *device);
    }
  }
  report.commands.reproduce = ShellCommand(context_.arguments);
  const bool unfinished =
      report.outcome == RunOutcome::kInterrupted || report.outcome == RunOutcome::kFailed;
  if (unfinished) {
    report.commands.resume =
        ShellCommand({context_.arguments.front(), "--out", options_.out, "--resume"});
  }
}

absl::Status TuningCommand::WriteResults(const TuningReport& report) {
  const std::string best = BestConfig::FromReport(report).ToJson().dump(2);
  const std::pair<const char*, std::string> files[] = {
      {"report.json", absl::StrCat(RenderJson(report).dump(1), "\n")},
      {"report.html", RenderHtml(report)},
      {"best.json", absl::StrCat(best, "\n")}};
  absl::Status status;
  for (const auto& [name, content] : files) {
    status.Update(WriteFileAtomically(absl::StrCat(options_.out, "/", name), content));
  }
  return status;
}

int TuningCommand::Run() {
  TuningReport report = tuner_->Tune(task_);
  CompleteReport(report);
  const absl::Status written = WriteResults(report);
  if (options_.json) {
    context_.out << RenderJson(report).dump(2) << "\n";
  } else {
    context_.out << RenderConsole(report);
  }
  context_.out.flush();
  if (!written.ok()) return context_.Fail(WithExitCode(kExitBroken, written));
  switch (report.outcome) {
    case RunOutcome::kDone:
      return kExitDone;
    case RunOutcome::kNothingMeasured:
      return kExitNothingMeasured;
    case RunOutcome::kInterrupted:
      return kExitInterrupted;
    case RunOutcome::kFailed:
      break;
  }
  return context_.Fail(kExitBroken, report.error);
}

}  // namespace

int RunTuning(TuneOptions options, const std::set<std::string>& given, CommandContext& context) {
  InstallInterruptHandler();
  TuningCommand command(std::move(options), context);
  if (absl::Status status = command.Prepare(given); !status.ok()) return context.Fail(status);
  return command.Run();
}

}  // namespace autotune
