#include <algorithm>
#include <cstdint>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hardware/atomic_file.h"
#include "hardware/replay_backend.h"
#include "nlohmann/json.hpp"
#include "tuner/backend_choice.h"
#include "tuner/command_status.h"
#include "tuner/commands.h"
#include "tuner/compare.h"
#include "tuner/compare_render.h"
#include "tuner/fusion_compare.h"
#include "tuner/fusion_study.h"
#include "tuner/html_report.h"
#include "tuner/input_files.h"
#include "tuner/interrupt.h"
#include "tuner/models.h"
#include "tuner/number_options.h"
#include "tuner/printable.h"
#include "tuner/program.h"
#include "tuner/shell_words.h"
#include "tuner/tune_options.h"

namespace autotune {
namespace {

constexpr char kExamples[] = R"(
Examples:
  autotune compare tpu_v3.pb --seeds 100
  autotune compare program.hlo --recording tpu_v3.pb --methods random,annealing+analytical
  autotune compare tpu_v3.pb --with-default --json > comparison.json
  autotune compare tpu_v3.pb --html comparison.html
  autotune compare examples/recordings/fusion_v3 --seeds 5

A method is `default` (the compiler's choice alone) or STRATEGY or STRATEGY+MODEL. The recorded
configurations of a kernel are the whole space; recorded failures cost a measurement; nothing is
read from or written to a record store.)";

// The options as typed. Data only.
struct CompareOptions {
  std::string program;
  std::vector<std::string> recordings;
  std::string methods = kDefaultMethods;
  int64_t seeds = 100;
  uint64_t seed = 1;
  bool with_default = false;
  std::optional<int64_t> max_evaluations;
  double exploration = 0.1;
  double compile_seconds = SimulatedClock().compile_seconds;
  int64_t repeats = SimulatedClock().repeats;
  int64_t jobs = 0;
  std::string html;
  bool json = false;
  bool quiet = false;
};

// What is compared: a program, and everything recorded of it in one.
struct CompareInput {
  Program program;
  std::unique_ptr<ReplayBackend> replay;
};

absl::StatusOr<CompareInput> LoadInput(const CompareOptions& options) {
  CompareInput input;
  absl::StatusOr<Program> program = LoadProgram(options.program);
  if (!program.ok()) return program.status();
  input.program = *std::move(program);
  if (absl::Status status = RequireKernels(input.program); !status.ok()) return status;
  std::vector<Recording> recordings;
  if (input.program.recording) recordings.push_back(*input.program.recording);
  for (const std::string& path : options.recordings) {
    absl::StatusOr<Recording> recording = LoadRecording(path);
    if (!recording.ok()) return recording.status();
    recordings.push_back(*std::move(recording));
  }
  if (recordings.empty()) {
    return WrongUse(
        "compare works on recorded measurements: give them with "
        "--recording FILE, or a recording as PROGRAM");
  }
  absl::StatusOr<std::unique_ptr<ReplayBackend>> replay =
      ReplayBackend::Create(std::move(recordings));
  if (!replay.ok()) return WithExitCode(kExitBadInput, replay.status());
  input.replay = *std::move(replay);
  std::vector<std::string> names = options.recordings;
  if (input.program.recording) names.insert(names.begin(), options.program);
  absl::Status matching = RequireRecordedKernels(input.program, input.replay->recording(),
                                                 absl::StrJoin(names, " and "));
  if (!matching.ok()) return matching;
  return input;
}

// One model for each name in the methods.
absl::StatusOr<std::vector<std::pair<std::string, std::shared_ptr<CostModel>>>> CreateModels(
    const std::vector<SearchMethod>& methods, const std::string& device, TimeSource source) {
  std::vector<std::pair<std::string, std::shared_ptr<CostModel>>> models;
  for (const SearchMethod& method : methods) {
    const bool known = std::any_of(models.begin(), models.end(),
                                   [&](const auto& model) { return model.first == method.model; });
    if (method.model.empty() || known) continue;
    absl::StatusOr<std::shared_ptr<CostModel>> model = CreateModel(method.model, device, source);
    if (!model.ok()) return model.status();
    if (*model == nullptr) {
      return WrongUse(absl::StrCat("the method ", method.Name(), " needs a model; '", method.model,
                                   "' is none. Without a model it is called ", method.strategy));
    }
    models.emplace_back(method.model, *std::move(model));
  }
  return models;
}

// Draws "comparing: 1,234 of 7,000 runs" on a terminal and takes it away at the end.
class RunCounter {
 public:
  RunCounter(bool shown, std::ostream& stream) : shown_(shown), stream_(stream) {}
  ~RunCounter() {
    if (shown_ && last_ >= 0) stream_ << "\r\033[K" << std::flush;
  }
  void Show(int64_t done, int64_t total) {
    const int64_t percent = total > 0 ? 100 * done / total : 100;
    if (!shown_ || percent == last_) return;
    last_ = percent;
    stream_ << "\rcomparing: " << percent << " % of " << total << " runs" << std::flush;
  }

 private:
  bool shown_;
  std::ostream& stream_;
  int64_t last_ = -1;
};

absl::StatusOr<ComparisonReport> Compare(const CompareOptions& options,
                                         const CommandContext& context) {
  absl::StatusOr<std::vector<SearchMethod>> methods = ParseSearchMethods(options.methods);
  if (!methods.ok()) return WithExitCode(kExitWrongUse, methods.status());
  absl::StatusOr<CompareInput> input = LoadInput(options);
  if (!input.ok()) return input.status();
  const std::string device = input->replay->capabilities().device;
  auto models = CreateModels(*methods, device, input->replay->capabilities().time_source);
  if (!models.ok()) return models.status();
  std::vector<NamedModel> named;
  for (const auto& [name, model] : *models) named.push_back({name, model.get()});

  RunCounter counter(context.err_is_terminal && !options.quiet, context.err);
  ComparisonOptions comparison;
  comparison.methods = *std::move(methods);
  comparison.seeds = options.seeds;
  comparison.first_seed = options.seed;
  comparison.with_default = options.with_default;
  comparison.max_evaluations = options.max_evaluations;
  comparison.exploration = options.exploration;
  comparison.clock = {.compile_seconds = options.compile_seconds, .repeats = options.repeats};
  comparison.jobs = static_cast<int>(options.jobs);
  comparison.progress = [&](int64_t done, int64_t total) {
    counter.Show(done, total);
    return !InterruptRequested();
  };
  absl::StatusOr<ComparisonReport> report =
      RunComparison(input->program.kernels, input->replay->recording(), named, comparison);
  if (absl::IsCancelled(report.status())) return WithExitCode(kExitInterrupted, report.status());
  if (!report.ok()) return WithExitCode(kExitWrongUse, report.status());
  report->program = options.program;
  report->recordings = options.recordings;
  report->command = ShellCommand(context.arguments);
  report->warnings.insert(report->warnings.begin(), input->program.warnings.begin(),
                          input->program.warnings.end());
  return report;
}

int RunCompare(const CompareOptions& options, const std::set<std::string>& given,
               CommandContext& context) {
  InstallInterruptHandler();
  if (ComparesFusions(options.program, options.recordings)) {
    for (const char* option : {"--html", "--with-default", "--exploration", "--compile-seconds",
                               "--repeats", "--jobs"}) {
      if (!given.contains(option)) continue;
      return context.Fail(kExitWrongUse, absl::StrCat(option, " is not for recordings of fusions"));
    }
    FusionCompareOptions fusion{options.program, options.recordings, options.methods};
    if (options.methods == kDefaultMethods) fusion.methods = kFusionMethods;
    fusion.seeds = options.seeds;
    fusion.first_seed = options.seed;
    fusion.max_evaluations = options.max_evaluations;
    fusion.json = options.json;
    return CompareFusionMethods(fusion, context);
  }
  const absl::StatusOr<ComparisonReport> report = Compare(options, context);
  if (!report.ok()) return context.Fail(report.status());
  if (!options.html.empty()) {
    const absl::Status written = WriteFileAtomically(options.html, RenderHtml(*report));
    if (!written.ok()) return context.Fail(WithExitCode(kExitBroken, written));
  }
  if (options.json) {
    context.out << DumpJson(ComparisonToJson(*report), -1) << "\n";
  } else {
    context.out << PrintableText(ComparisonToText(*report));
    if (!options.html.empty())
      context.out << PrintableText(absl::StrCat("The report is ", options.html, "\n"));
  }
  return kExitDone;
}

}  // namespace

void AddCompareCommand(CLI::App& app, CommandContext& context) {
  CLI::App* command =
      app.add_subcommand("compare", "Compare search methods and models on recorded measurements");
  auto options = std::make_shared<CompareOptions>();
  command
      ->add_option(
          "PROGRAM", options->program,
          "HLO of an optimised program, or a recording (all of its kernels); a program before "
          "optimisation with a recording of its fusions, or a folder of NAME.hlo and "
          "NAME.jsonl.gz")
      ->required();
  command->add_option("--recording", options->recordings, "Recorded measurements; may be repeated")
      ->allow_extra_args(false);
  command->add_option("--methods", options->methods, "Methods, separated by commas")
      ->capture_default_str();
  AddNumber(*command, "--seeds", options->seeds, kSeedCountRange,
            "Runs of each method on each kernel")
      ->capture_default_str();
  AddNumber(*command, "--seed", options->seed, kSeedRange, "The first seed")->capture_default_str();
  command->add_flag("--with-default", options->with_default,
                    "Every run measures the compiler's default first");
  AddNumber(*command, "--max-evaluations", options->max_evaluations, kEvaluationsRange,
            "Measurements of a run at most [the whole space]");
  AddNumber(*command, "--exploration", options->exploration, kShareRange,
            "Share of measurements that a model does not choose")
      ->capture_default_str();
  AddNumber(*command, "--compile-seconds", options->compile_seconds, kSecondsRange,
            "Simulated compile time where none is recorded")
      ->capture_default_str();
  AddNumber(*command, "--repeats", options->repeats, kRepeatsRange,
            "Runs for one measurement, on that clock")
      ->capture_default_str();
  AddNumber(*command, "--jobs", options->jobs, kJobsRange, "Threads [as many as there are cores]");
  command->add_option("--html", options->html, "Write a report with charts to this file");
  command->add_flag("--json", options->json, "One JSON document on standard output");
  command->add_flag("--quiet", options->quiet, "No progress");
  command->footer(kExamples);
  command->callback([options, command, &context] {
    context.exit_code = RunCompare(*options, GivenOptions(*command), context);
  });
}

}  // namespace autotune
