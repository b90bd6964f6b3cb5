#include "tuner/run_tuning.h"

#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/time/clock.h"
#include "absl/time/time.h"
#include "hardware/atomic_file.h"
#include "hardware/device_spec.h"
#include "hardware/journaled_store.h"
#include "hardware/kernel_roofline.h"
#include "hardware/record_store.h"
#include "nlohmann/json.hpp"
#include "search/builtin.h"
#include "tbb/global_control.h"
#include "tuner/backend_choice.h"
#include "tuner/best_config.h"
#include "tuner/command_status.h"
#include "tuner/default_model.h"
#include "tuner/estimate_warning.h"
#include "tuner/fusion_command.h"
#include "tuner/html_report.h"
#include "tuner/interrupt.h"
#include "tuner/kernel_cost.h"
#include "tuner/kernel_space.h"
#include "tuner/models.h"
#include "tuner/number_options.h"
#include "tuner/output_files.h"
#include "tuner/printable.h"
#include "tuner/program.h"
#include "tuner/program_set.h"
#include "tuner/progress.h"
#include "tuner/report_render.h"
#include "tuner/run_file.h"
#include "tuner/run_lock.h"
#include "tuner/shell_words.h"
#include "tuner/tuner.h"

namespace autotune {
namespace {

// How far the store may be behind the journal: long beside a transaction, short beside a look at
// the store by somebody else.
constexpr double kStoreEverySeconds = 0.25;

std::string HostName() {
  char name[256] = {};
  return gethostname(name, sizeof(name) - 1) == 0 ? name : "";
}

// Whether a tile other than the compiler's own was found for a kernel.
bool FoundTiles(const TuningReport& report) {
  return std::any_of(report.kernels.begin(), report.kernels.end(), [](const KernelReport& kernel) {
    if (!SecondsOf(kernel.best) || kernel.best->config.tile() == nullptr) return false;
    return !kernel.compiler_default || kernel.compiler_default->config != kernel.best->config;
  });
}

// The run that --resume names: options not given are those of the run.
absl::StatusOr<std::optional<RunFile>> FindRun(const std::set<std::string>& given,
                                               TuneOptions& options) {
  if (!options.resume) return std::optional<RunFile>();
  if (options.out.empty()) {
    return WrongUse("--resume needs --out, the folder of the run");
  }
  absl::StatusOr<RunFile> run = RunFile::Load(options.out);
  if (!run.ok()) return WithExitCode(kExitBadInput, run.status());
  MakePathsAbsolute(options);  // as the stored ones are
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
  // On standard error, and in the report.
  void Warn(std::string warning);
  absl::Status LoadInputs();
  absl::Status LoadModels();
  absl::Status ChooseModel();
  absl::Status OpenRun(const std::optional<RunFile>& resumed);
  absl::Status OpenStore(bool new_folder);
  absl::Status BeginRun();
  // The record of a run that begins now.
  void FillRun(const std::string& id);
  absl::Status LoadInterruptedRun(const RunFile& resumed);
  absl::Status CheckBudgetLeft(const RunFile& resumed) const;
  absl::Status CreateTuner();
  RunHeadline MakeHeadline() const;
  void ShowHeadline();
  void CompleteReport(TuningReport& report);
  absl::Status WriteResults(const TuningReport& report);

  TuneOptions options_;
  CommandContext& context_;
  absl::Time start_ = absl::Now();
  double load_seconds_ = 0;
  Program program_;
  std::vector<ProgramReport> members_;  // of several programs
  ChosenBackend backend_;
  std::shared_ptr<CostModel> model_;
  std::shared_ptr<CostModel> baseline_;
  TuningTask task_;
  RunLock lock_;
  std::unique_ptr<RecordStore> store_;
  RunFile run_file_;
  RunHeadline headline_;
  std::vector<std::string> warnings_;
  std::unique_ptr<ProgressObserver> progress_;
  std::unique_ptr<tbb::global_control> threads_;
  std::unique_ptr<Tuner> tuner_;
};

absl::Status TuningCommand::Prepare(const std::set<std::string>& given) {
  absl::StatusOr<std::optional<RunFile>> resumed = FindRun(given, options_);
  if (!resumed.ok()) return resumed.status();
  absl::Status finished = FinishTuneOptions(options_);
  if (!finished.ok()) return WithExitCode(kExitWrongUse, finished);
  if (options_.jobs == 0 && options_.backend != "fleet") {  // a fleet counts its own
    options_.jobs = std::clamp<int64_t>(std::thread::hardware_concurrency(), 1, kJobsRange.max);
  }
  if (options_.jobs > 0) {
    threads_ = std::make_unique<tbb::global_control>(tbb::global_control::max_allowed_parallelism,
                                                     static_cast<size_t>(options_.jobs));
  }
  const ProgressStyle style = options_.quiet             ? ProgressStyle::kNone
                              : context_.err_is_terminal ? ProgressStyle::kBar
                                                         : ProgressStyle::kLines;
  progress_ = NewProgress(style, context_.err, context_.columns);
  if (absl::Status status = LoadInputs(); !status.ok()) return status;
  if (absl::Status status = LoadModels(); !status.ok()) return status;
  if (absl::Status status = OpenRun(*resumed); !status.ok()) return status;
  if (absl::Status status = CreateTuner(); !status.ok()) return status;
  ShowHeadline();
  return absl::OkStatus();
}

void TuningCommand::Warn(std::string warning) {
  progress_->OnMessage(absl::StrCat("warning: ", warning));
  warnings_.push_back(std::move(warning));
}

absl::Status TuningCommand::LoadInputs() {
  absl::StatusOr<ProgramSet> programs = LoadPrograms(ProgramsOf(options_));
  if (!programs.ok()) return programs.status();
  program_ = std::move(programs->program);
  members_ = std::move(programs->members);
  for (const std::string& warning : program_.warnings) Warn(warning);
  absl::StatusOr<ChosenBackend> backend = ChooseBackend(options_, program_);
  if (!backend.ok()) return backend.status();
  backend_ = *std::move(backend);
  options_.space = backend_.space;
  task_.kernels = program_.kernels;
  load_seconds_ = absl::ToDoubleSeconds(absl::Now() - start_);
  return absl::OkStatus();
}

absl::Status TuningCommand::LoadModels() {
  const std::string device = backend_.backend->capabilities().device;
  if (options_.model != "none" && !FindDeviceSpec(device).ok()) {
    progress_->OnMessage(absl::StrCat("no cost model knows ", device, ": searching without one"));
    options_.model = "none";
    if (options_.strategy == kDefaultStrategy) options_.strategy = kBlindStrategy;
  }
  // Without the model of an unusual device there is just no baseline.
  absl::StatusOr<std::shared_ptr<CostModel>> baseline = CreateModel("analytical", device);
  if (baseline.ok()) baseline_ = *std::move(baseline);
  if (options_.model.empty()) return absl::OkStatus();  // ChooseModel, once the store is open
  if (options_.model == "analytical") {
    model_ = baseline_;
    return absl::OkStatus();
  }
  absl::StatusOr<std::shared_ptr<CostModel>> model =
      CreateModel(options_.model, device, backend_.backend->capabilities().time_source);
  if (!model.ok()) return model.status();
  model_ = *std::move(model);
  return absl::OkStatus();
}

// The model of a run without --model. Where nothing is searched, LibTorch stays unloaded.
absl::Status TuningCommand::ChooseModel() {
  if (!options_.model.empty()) return absl::OkStatus();
  const Capabilities& capabilities = backend_.backend->capabilities();
  const MeasurementContext context = {capabilities.device, capabilities.name, capabilities.versions,
                                      backend_.flags, capabilities.time_source};
  const bool measures = options_.budget != 0 && options_.budget_seconds != 0;
  if (!measures || !AnythingToRank(task_.kernels, backend_.space_of, *store_, context,
                                   *VersionMatchFromName(options_.match))) {
    options_.model = "analytical";
    model_ = baseline_;
    return absl::OkStatus();
  }
  absl::StatusOr<DefaultModel> chosen =
      CreateDefaultModel(capabilities.device, capabilities.time_source);
  if (!chosen.ok()) return chosen.status();
  options_.model = chosen->name;
  model_ = chosen->name == "analytical" ? baseline_ : std::move(chosen->model);
  if (chosen->broken) {
    Warn(chosen->note);
  } else if (!chosen->note.empty() && !options_.quiet) {
    progress_->OnMessage(absl::StrCat("note: ", chosen->note));
  }
  return absl::OkStatus();
}

absl::Status TuningCommand::OpenRun(const std::optional<RunFile>& resumed) {
  if (options_.out.empty()) {
    options_.out = NewRunDirectory(options_.program, absl::ToUnixMicros(start_));
  }
  std::error_code error;
  const bool new_folder = !std::filesystem::exists(options_.out, error);
  if (absl::Status status = MakeOutputDirectory(options_.out); !status.ok()) return status;
  absl::StatusOr<RunLock> lock = RunLock::Acquire(options_.out);
  if (!lock.ok()) return lock.status();
  lock_ = *std::move(lock);
  if (absl::IsNotFound(RunFile::Load(options_.out).status()) &&
      std::filesystem::exists(absl::StrCat(options_.out, "/best.json"), error)) {
    return WrongUse(absl::StrCat(options_.out, " holds a run of fusions: give another --out"));
  }
  run_file_.store = resumed ? resumed->store : options_.store;
  if (absl::Status status = OpenStore(new_folder); !status.ok()) return status;
  if (absl::Status status = ChooseModel(); !status.ok()) return status;
  absl::Status status = resumed ? LoadInterruptedRun(*resumed) : BeginRun();
  if (!status.ok()) return status;
  run_file_.run_id = task_.run.id;
  run_file_.model = ModelFingerprint(options_.model);
  if (resumed && !resumed->model.empty() && resumed->model != run_file_.model) {
    Warn(absl::StrCat("the model \"", options_.model,
                      "\" is another than the one that this run began with"));
    run_file_.model = resumed->model;
  }
  TuneOptions stored = options_;
  MakePathsAbsolute(stored);
  if (!resumed) run_file_.store = stored.store;
  run_file_.options_json = DumpJson(OptionsToJson(stored), -1);
  if (!resumed) task_.run.options_json = run_file_.options_json;
  return run_file_.Save(options_.out);
}

absl::Status TuningCommand::OpenStore(bool new_folder) {
  absl::StatusOr<std::unique_ptr<RecordStore>> store =
      RecordStore::Open(run_file_.StoreUrl(options_.out));
  if (store.ok()) {
    // Results wait beside the run while the store is away.
    store = OpenJournaledStore(*std::move(store),
                               {.path = absl::StrCat(options_.out, "/journal.jsonl"),
                                .store_every_seconds = kStoreEverySeconds,
                                .notify = [this](const std::string& message) {
                                  progress_->OnMessage(absl::StrCat("warning: ", message));
                                }});
  }
  if (store.ok()) {
    store_ = *std::move(store);
    return absl::OkStatus();
  }
  if (new_folder) {  // nothing is left of a command that did nothing
    std::error_code ignored;
    std::filesystem::remove(absl::StrCat(options_.out, "/run.lock"), ignored);
    std::filesystem::remove(options_.out, ignored);  // if it is empty
  }
  const ExitCode code = absl::IsInvalidArgument(store.status()) ? kExitWrongUse : kExitBroken;
  return WithExitCode(code, store.status());
}

absl::Status TuningCommand::BeginRun() {
  if (const absl::StatusOr<RunFile> earlier = RunFile::Load(options_.out); earlier.ok()) {
    Warn(absl::StrCat(
        options_.out, " holds the run ", earlier->run_id,
        ": its reports are replaced, and it cannot be resumed any more",
        options_.store.empty() ? "; what it measured is reused and costs nothing" : ""));
  }
  FillRun(NewRunId());
  return absl::OkStatus();
}

void TuningCommand::FillRun(const std::string& id) {
  task_.run.id = id;
  task_.run.program = NameOfPrograms(ProgramsOf(options_));
  task_.run.seed = options_.seed;
  task_.run.started_unix_micros = absl::ToUnixMicros(start_);
}

absl::Status TuningCommand::LoadInterruptedRun(const RunFile& resumed) {
  const std::string& run_id = resumed.run_id;
  absl::StatusOr<RunRecord> run = store_->GetRun(run_id);
  if (absl::IsNotFound(run.status())) {
    // It was killed after its file was written and before the store had it (tests/hardware/
    // run_kills.py finds that moment): nothing was measured.
    Warn(absl::StrCat(store_->url(), " does not hold the run ", run_id,
                      ": it starts from the beginning"));
    FillRun(run_id);
    task_.run.options_json = resumed.options_json;
    return absl::OkStatus();
  }
  if (!run.ok()) return run.status();
  absl::StatusOr<std::vector<CandidateRecord>> candidates = store_->RunCandidates(run_id);
  if (!candidates.ok()) return candidates.status();
  absl::StatusOr<double> seconds = LoadDeviceSeconds(*store_, run_id);
  if (!seconds.ok()) return seconds.status();
  task_.run = *run;
  task_.resume = InterruptedRun{*std::move(run), *std::move(candidates), *seconds};
  return CheckBudgetLeft(resumed);
}

// A smaller budget than what is spent would only show less than is known. The seconds of the run
// itself may be overrun by the length of a batch.
absl::Status TuningCommand::CheckBudgetLeft(const RunFile& resumed) const {
  TuneOptions before;
  if (absl::Status status = TakeStoredOptions(resumed.options_json, {}, before); !status.ok()) {
    return status;
  }
  const int64_t spent = task_.resume->Measured();
  std::string less;
  if (options_.budget && *options_.budget < spent) {
    less =
        absl::StrCat("--budget ", *options_.budget, " is less than the ", spent, " measurements");
  } else if (options_.budget_seconds && options_.budget_seconds != before.budget_seconds &&
             *options_.budget_seconds < task_.resume->device_seconds) {
    less = absl::StrFormat("--budget-seconds %g is less than the %g s of device time",
                           *options_.budget_seconds, task_.resume->device_seconds);
  }
  if (less.empty()) return absl::OkStatus();
  return WrongUse(absl::StrCat(less, " that the run in ", options_.out,
                               " has spent already; its results are as they were"));
}

absl::Status TuningCommand::CreateTuner() {
  headline_ = MakeHeadline();
  TunerParts parts;
  parts.model = model_;
  parts.baseline = baseline_;
  TunerOptions tuning;
  tuning.strategy = options_.strategy;
  tuning.top_k = options_.top_k;
  tuning.seed = options_.seed;
  tuning.match = *VersionMatchFromName(options_.match);
  tuning.budget = options_.budget;
  tuning.budget_seconds = options_.budget_seconds;
  tuning.clock = {.compile_seconds = options_.compile_seconds, .repeats = options_.repeats};
  // Rounds grow with what a backend can do at once, but a replay is the same on every machine.
  tuning.jobs = backend_.known != nullptr ? 1 : std::max<int64_t>(1, options_.jobs);
  parts.flags = backend_.flags;
  parts.known = backend_.known;
  parts.replays = backend_.known != nullptr;
  parts.space_of = std::move(backend_.space_of);
  if (auto device = FindDeviceSpec(backend_.backend->capabilities().device); device.ok()) {
    parts.roofline_of = [device = *device](const Kernel& kernel) {
      return RooflineSeconds(kernel, device);
    };
  }
  parts.backend = std::move(backend_.backend);
  parts.store = std::move(store_);
  parts.progress = progress_.get();
  parts.interrupted = InterruptRequested;
  absl::StatusOr<std::unique_ptr<Tuner>> tuner = Tuner::Create(std::move(parts), tuning);
  if (!tuner.ok()) return WithExitCode(kExitWrongUse, tuner.status());
  tuner_ = *std::move(tuner);
  return absl::OkStatus();
}

RunHeadline TuningCommand::MakeHeadline() const {
  const Capabilities& capabilities = backend_.backend->capabilities();
  RunHeadline headline;
  headline.backend = capabilities.name;
  headline.device = capabilities.device;
  headline.time_source = capabilities.time_source;
  headline.reason = backend_.reason;
  headline.program = NameOfPrograms(ProgramsOf(options_));
  headline.programs = static_cast<int64_t>(members_.size());
  headline.kernels = static_cast<int64_t>(program_.kernels.size());
  headline.strategy = options_.strategy;
  headline.model = options_.model;
  headline.seed = options_.seed;
  return headline;
}

void TuningCommand::ShowHeadline() {
  if (options_.json && options_.quiet) return;
  std::ostream& stream = options_.json ? context_.err : context_.out;
  stream << PrintableText(RenderHeadline(headline_)) << std::endl;
}

void TuningCommand::CompleteReport(TuningReport& report) {
  report.program_name = program_.name;
  report.programs = members_;
  SumPrograms(report);
  report.backend_reason = backend_.reason;
  report.space = options_.space;
  report.recordings = options_.recordings;
  report.output_directory = options_.out;
  report.host = HostName();
  report.time.load = load_seconds_;
  report.wall_seconds = absl::ToDoubleSeconds(absl::Now() - start_);
  report.warnings.insert(report.warnings.begin(), warnings_.begin(), warnings_.end());
  if (absl::StatusOr<DeviceSpec> device = FindDeviceSpec(report.device); device.ok()) {
    for (size_t i = 0; i < report.kernels.size(); ++i) {
      report.kernels[i].cost = CostOfKernel(task_.kernels[i], *device);
      report.kernels[i].compiler_estimate_seconds =
          CompilerEstimateSeconds(task_.kernels[i], *device);
    }
  }
  AddEstimateWarning(report);
  const std::string& self = context_.arguments.front();
  const bool from_file = !ReadsStandardInput(options_);
  // Arguments that resume do not make the run anew.
  if (!options_.resume) report.commands.reproduce = ShellCommand(context_.arguments);
  const bool unfinished =
      report.outcome == RunOutcome::kInterrupted || report.outcome == RunOutcome::kFailed;
  if (unfinished && from_file) {
    report.commands.resume = ShellCommand({self, "--out", options_.out, "--resume"});
  }
  if (from_file && members_.empty() && program_.module != nullptr && FoundTiles(report)) {
    report.commands.apply = ShellCommand({self, "apply", options_.program, "--config",
                                          absl::StrCat(options_.out, "/best.json"), "--out",
                                          absl::StrCat(options_.out, "/tuned.hlo")});
  }
}

absl::Status TuningCommand::WriteResults(const TuningReport& report) {
  const std::string best = DumpJson(BestConfig::FromReport(report).ToJson());
  const std::pair<const char*, std::string> files[] = {
      {"report.json", absl::StrCat(DumpJson(RenderJson(report), 1), "\n")},
      {"report.html", RenderHtml(report)},
      {"best.json", absl::StrCat(best, "\n")}};
  for (const auto& [name, content] : files) {  // best.json last: it belongs to the report
    absl::Status status = WriteFileAtomically(absl::StrCat(options_.out, "/", name), content);
    if (!status.ok()) return status;
  }
  return absl::OkStatus();
}

int TuningCommand::Run() {
  TuningReport report = tuner_->Tune(task_);
  CompleteReport(report);
  const absl::Status written = WriteResults(report);
  if (options_.json) {
    context_.out << DumpJson(RenderJson(report)) << "\n";
  } else {
    context_.out << PrintableText(RenderConsole(report));
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
  if (options.space == "fusion" || options.space == "tile+fusion") {
    absl::Status finished = FinishTuneOptions(options);
    if (!finished.ok()) return context.Fail(WithExitCode(kExitWrongUse, finished));
    // Fusions learn on top of the analytical model; what knows tiles ranks none.
    if (options.model.empty()) options.model = "analytical";
    if (!options.more_programs.empty()) {
      return context.Fail(kExitWrongUse,
                          absl::StrCat("--space ", options.space, " takes one program at a time"));
    }
    return RunFusionTuning(options, given, context);
  }
  TuningCommand command(std::move(options), context);
  if (absl::Status status = command.Prepare(given); !status.ok()) return context.Fail(status);
  return command.Run();
}

}  // namespace autotune
