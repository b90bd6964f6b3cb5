#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <ostream>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/types/span.h"
#include "costmodel/evaluation.h"
#include "costmodel/fusion_examples.h"
#include "costmodel/fusion_features.h"
#include "costmodel/model_file.h"
#include "costmodel/npz_data.h"
#include "costmodel/rank_metrics.h"
#include "costmodel/recorded_examples.h"
#include "hardware/atomic_file.h"
#include "hardware/scratch_folder.h"
#include "tuner/command_status.h"
#include "tuner/command_study.h"
#include "tuner/commands.h"
#include "tuner/fusion_evaluate.h"
#include "tuner/html_evaluation.h"
#include "tuner/number_options.h"
#include "tuner/printable.h"
#include "tuner/text_table.h"
#include "tuner/training_files.h"
#include "tuner/tune_options.h"

namespace autotune {
namespace {

constexpr char kExamples[] = R"(
Examples:
  autotune evaluate --model model --data recordings/
  autotune evaluate --model model --data recordings/ --html evaluation.html
  autotune evaluate --model seed1 --model seed2 --model seed3 --data recordings/ --json
  autotune evaluate --random --data recordings/ --config small.json --seeds 3 --out tables
  autotune evaluate --unseen --families families.json --data recordings/

Only programs that none of the models was trained or validated on count, unless --all is given. The
analytical model beside each learned one is fitted on the same training data. Intervals are 95 % of
bootstrap samples over kernels. --random, --unseen, --transfer, --curve and --ablation train models
themselves, one for each split and seed, and print Markdown tables.)";

// Configurations of one .npz file that are judged, at most.
constexpr int64_t kMaxNpzConfigs = 10000;

struct EvaluateOptions {
  std::vector<std::string> models;
  std::vector<std::string> data;
  bool all = false;
  bool by_kernel = false;
  int64_t jobs = 2;
  int64_t bootstrap = 1000;
  std::string html;
  bool json = false;
  std::string task = "tile";
  StudyCommandOptions study;
};

// One model on one set of kernels, with the analytical model that it builds on.
using Evaluation = EvaluatedModel;

// Files of programs that no model has seen.
std::vector<std::string> UnseenFiles(const std::vector<std::string>& files,
                                     const std::vector<ModelFile>& models) {
  std::vector<std::string> unseen;
  for (const std::string& file : files) {
    const std::string program = ProgramOfFile(file);
    const bool seen = std::any_of(models.begin(), models.end(), [&](const ModelFile& model) {
      const auto side = model.split.find(program);
      return side != model.split.end() && side->second != Side::kTest;
    });
    if (!seen) unseen.push_back(file);
  }
  return unseen;
}

// All files into one store: recordings, or .npz files with the features of the model.
absl::StatusOr<RecordedData> ReadJudged(const std::vector<std::string>& files,
                                        const RecordedDataOptions& read, const ModelFile& model,
                                        ExampleStore* store) {
  const auto npz = std::count_if(files.begin(), files.end(), IsNpzFile);
  if (npz == 0 && model.schema == TileFeatureSchema()) {
    return ReadRecordedData(files, read, nullptr, nullptr, store);
  }
  if (npz != static_cast<std::ptrdiff_t>(files.size())) {
    return absl::InvalidArgumentError(absl::StrCat(
        "--data takes recordings, or .npz files alone, with the features of the model (\"",
        model.schema.name, "\")"));
  }
  return ReadNpzData(files, model.schema, read.split, kMaxNpzConfigs, store, store, store);
}

// What is wrong with a model.
absl::Status StatusOfModel(const std::string& directory, const absl::Status& status) {
  return WithInputExitCode(
      absl::Status(status.code(), absl::StrCat(directory, ": ", status.message())));
}

// A model whose files are whole can still have been damaged where no checksum tells.
absl::Status CheckPredictions(absl::Span<const ScoredKernel> kernels) {
  for (const ScoredKernel& kernel : kernels) {
    if (!std::all_of(kernel.log_seconds.begin(), kernel.log_seconds.end(),
                     [](double value) { return std::isfinite(value); })) {
      return absl::InvalidArgumentError(absl::StrCat(
          "the model predicts no time for ", kernel.info.kernel, " of ", kernel.info.program));
    }
  }
  return absl::OkStatus();
}

absl::StatusOr<Evaluation> Evaluate(const std::string& directory, const ModelFile& model,
                                    const std::vector<std::string>& files, int jobs) {
  RecordedDataOptions read;
  for (const std::string& file : files) read.split[ProgramOfFile(file)] = Side::kTest;
  read.constants = model.constants;
  const absl::StatusOr<std::unique_ptr<ScratchFolder>> scratch = ScratchFolder::Create("evaluate");
  if (!scratch.ok()) return WithExitCode(kExitBroken, scratch.status());
  absl::StatusOr<std::unique_ptr<ExampleStore>> store =
      ExampleStore::Create((*scratch)->work(), int64_t{256} << 20);
  if (!store.ok()) return WithExitCode(kExitBroken, store.status());
  absl::StatusOr<RecordedData> data = ReadJudged(files, read, model, store->get());
  if (!data.ok()) return WithInputExitCode(data.status());
  absl::StatusOr<std::unique_ptr<Network>> network = RestoreNetwork(model);
  if (!network.ok()) return StatusOfModel(directory, network.status());
  Evaluation evaluation;
  evaluation.name = directory;
  absl::StatusOr<std::vector<ScoredKernel>> learned = ScoreStore(network->get(), **store, jobs);
  if (!learned.ok()) return learned.status();
  if (absl::Status status = CheckPredictions(*learned); !status.ok()) {
    return StatusOfModel(directory, status);
  }
  absl::StatusOr<std::vector<ScoredKernel>> analytical = ScoreStore(nullptr, **store, jobs);
  if (!analytical.ok()) return analytical.status();
  evaluation.learned = *std::move(learned);
  evaluation.analytical = *std::move(analytical);
  return evaluation;
}

// Devices of the kernels that a model was not trained for.
std::vector<std::string> WarningsOf(const Evaluation& evaluation, const ModelFile& model) {
  std::set<std::string> unknown;
  for (const ScoredKernel& kernel : evaluation.learned) {
    const std::string& device = kernel.info.device;
    if (!model.constants.empty() && !model.constants.contains(device)) unknown.insert(device);
  }
  std::vector<std::string> warnings;
  warnings.reserve(unknown.size());
  for (const std::string& device : unknown) {
    warnings.push_back(absl::StrCat(evaluation.name, " was not trained on recordings of ", device));
  }
  return warnings;
}

absl::StatusOr<EvaluationReport> EvaluateAll(const EvaluateOptions& options) {
  absl::StatusOr<std::vector<std::string>> files = ExpandDataFiles(options.data);
  if (!files.ok()) return files.status();
  std::vector<ModelFile> models;
  for (const std::string& directory : options.models) {
    absl::StatusOr<ModelFile> model = LoadModel(directory);
    if (!model.ok()) return WithInputExitCode(model.status());
    if (model->task == "fusion") {
      return StatusOfModel(
          directory, absl::InvalidArgumentError("a model of the fusion task; add --task fusion"));
    }
    models.push_back(*std::move(model));
  }
  if (!options.all) *files = UnseenFiles(*files, models);
  if (files->empty()) {
    return BadInput(
        "the models were trained on all programs of the "
        "data; --all evaluates on these as well");
  }
  EvaluationReport report;
  report.bootstrap = static_cast<int>(options.bootstrap);
  report.files = *files;
  for (size_t i = 0; i < models.size(); ++i) {
    absl::StatusOr<Evaluation> evaluation =
        Evaluate(options.models[i], models[i], *files, static_cast<int>(options.jobs));
    if (!evaluation.ok()) return evaluation.status();
    for (std::string& warning : WarningsOf(*evaluation, models[i])) {
      report.warnings.push_back(std::move(warning));
    }
    report.models.push_back(*std::move(evaluation));
  }
  return report;
}

std::string Cell(const MetricEstimate& estimate, int digits) {
  return absl::StrFormat("%.*f [%.*f, %.*f]", digits, estimate.value, digits, estimate.low, digits,
                         estimate.high);
}

void AddMetricsRow(const std::string& name, const ModelMetrics& metrics, TextTable* table) {
  table->Row({name, FormatCount(metrics.kernels), FormatCount(metrics.configs),
              Cell(metrics.kendall_tau, 3), Cell(metrics.tile_size_ape, 2),
              absl::StrFormat("%.2f", metrics.program_ape_median.value),
              absl::StrFormat("%.1f / %.1f / %.1f", metrics.top1.value, metrics.top5.value,
                              metrics.top10.value),
              Cell(metrics.mape, 1)});
}

TextTable MetricsTable(const std::string& title) {
  using Align = TextTable::Align;
  TextTable table;
  table.Column(title, Align::kLeft);
  for (const char* column :
       {"kernels", "configs", "tau", "APE %", "median", "top-1/5/10 %", "MAPE %"}) {
    table.Column(column);
  }
  return table;
}

std::map<std::string, std::vector<ScoredKernel>> ByProgram(
    const std::vector<ScoredKernel>& kernels) {
  std::map<std::string, std::vector<ScoredKernel>> programs;
  for (const ScoredKernel& kernel : kernels) {
    programs[absl::StrCat(kernel.info.program, " ", kernel.info.device)].push_back(kernel);
  }
  return programs;
}

void PrintText(const EvaluateOptions& options, const std::vector<Evaluation>& evaluations,
               std::ostream& out) {
  const auto samples = static_cast<int>(options.bootstrap);
  TextTable total = MetricsTable("model");
  for (const Evaluation& evaluation : evaluations) {
    AddMetricsRow(evaluation.name, SummarizeScores(evaluation.learned, samples, 1), &total);
    AddMetricsRow(" analytical", SummarizeScores(evaluation.analytical, samples, 1), &total);
  }
  out << total.ToString();
  for (const Evaluation& evaluation : evaluations) {
    TextTable table = MetricsTable(evaluation.name);
    const auto analytical = ByProgram(evaluation.analytical);
    for (const auto& [program, kernels] : ByProgram(evaluation.learned)) {
      AddMetricsRow(program, SummarizeScores(kernels, 0, 1), &table);
      AddMetricsRow(" analytical", SummarizeScores(analytical.at(program), 0, 1), &table);
    }
    out << "\n" << table.ToString();
  }
}

nlohmann::json KernelsToJson(const Evaluation& evaluation) {
  nlohmann::json kernels = nlohmann::json::array();
  for (size_t i = 0; i < evaluation.learned.size(); ++i) {
    const ScoredKernel& learned = evaluation.learned[i];
    const ScoredKernel& analytical = evaluation.analytical[i];
    kernels.push_back({{"program", learned.info.program},
                       {"kernel", learned.info.kernel},
                       {"device", learned.info.device},
                       {"learned", ToJson(SummarizeScores({&learned, 1}, 0, 1))},
                       {"analytical", ToJson(SummarizeScores({&analytical, 1}, 0, 1))}});
  }
  return kernels;
}

nlohmann::json EvaluationToJson(const EvaluateOptions& options, const Evaluation& evaluation) {
  const auto samples = static_cast<int>(options.bootstrap);
  nlohmann::json programs = nlohmann::json::object();
  const auto analytical = ByProgram(evaluation.analytical);
  for (const auto& [program, kernels] : ByProgram(evaluation.learned)) {
    programs[program] = {
        {"learned", ToJson(SummarizeScores(kernels, samples, 1))},
        {"analytical", ToJson(SummarizeScores(analytical.at(program), samples, 1))}};
  }
  nlohmann::json result = {
      {"model", evaluation.name},
      {"learned", ToJson(SummarizeScores(evaluation.learned, samples, 1))},
      {"analytical", ToJson(SummarizeScores(evaluation.analytical, samples, 1))},
      {"programs", std::move(programs)}};
  if (options.by_kernel) result["kernels"] = KernelsToJson(evaluation);
  return result;
}

// The fusion task: each program judged by networks that were trained on others, or by a given
// model.
absl::StatusOr<std::vector<FusionProgramQuality>> EvaluateFusion(const EvaluateOptions& options) {
  absl::StatusOr<std::vector<FusionPair>> found = ExpandFusionFolders(options.data);
  if (!found.ok()) return found.status();
  const std::vector<FusionPair>& pairs = *found;
  if (pairs.size() < 2 || options.models.size() > 1) {
    return BadInput(
        "--task fusion takes at most one --model, and folders of at least two "
        "programs NAME.hlo with recordings NAME.jsonl.gz of their fusions");
  }
  if (options.models.empty()) {
    const absl::StatusOr<std::unique_ptr<ScratchFolder>> scratch =
        ScratchFolder::Create("evaluate");
    if (!scratch.ok()) return WithExitCode(kExitBroken, scratch.status());
    return CrossValidateFusion(pairs, options.study.seeds, static_cast<int>(options.jobs),
                               (*scratch)->work());
  }
  absl::StatusOr<ModelFile> model = LoadModel(options.models.front());
  if (!model.ok()) return WithInputExitCode(model.status());
  const std::string& directory = options.models.front();
  if (!(model->schema == FusionFeatureSchema())) {
    return StatusOfModel(directory, absl::InvalidArgumentError("no model of the fusion task"));
  }
  absl::StatusOr<std::unique_ptr<Network>> network = RestoreNetwork(*model);
  if (!network.ok()) return StatusOfModel(directory, network.status());
  std::vector<FusionProgramQuality> qualities;
  for (const FusionPair& pair : pairs) {
    const auto side = model->split.find(ProgramOfFile(pair.recording));
    const bool seen = side != model->split.end() && side->second != Side::kTest;
    if (seen && !options.all) continue;
    absl::StatusOr<std::vector<FusionProgramQuality>> rows =
        AssessFusionModels(pair, network->get());
    if (!rows.ok()) return WithInputExitCode(rows.status());
    qualities.insert(qualities.end(), rows->begin(), rows->end());
  }
  return qualities;
}

int RunFusionEvaluate(const EvaluateOptions& options, CommandContext& context) {
  const absl::StatusOr<std::vector<FusionProgramQuality>> qualities = EvaluateFusion(options);
  if (!qualities.ok()) return context.Fail(qualities.status());
  if (options.json) {
    context.out << DumpJson(FusionQualityJson(*qualities)) << "\n";
  } else {
    context.out << PrintableText(FusionQualityText(*qualities));
  }
  return kExitDone;
}

// What cannot be done together is refused, not ignored.
std::string Contradiction(const EvaluateOptions& options, const std::set<std::string>& given) {
  const bool fusion = options.task == "fusion", study = options.study.wanted();
  if (!fusion && options.task != "tile") return "--task takes tile or fusion";
  if (study && fusion) return "studies such as --random are of --task tile";
  if ((study || fusion) && (!options.html.empty() || options.by_kernel)) {
    return "--html and --by-kernel are for --model, of --task tile";
  }
  if (study && (!options.models.empty() || options.all)) {
    return "studies such as --random train their own models: leave --model and --all out";
  }
  for (const char* option :
       {"--out", "--export", "--config", "--test-share", "--validation-share"}) {
    if (!study && given.contains(option)) {
      return absl::StrCat(option, " is for studies such as --random");
    }
  }
  if (!study && given.contains("--seeds") && !(fusion && options.models.empty())) {
    return "--seeds is for what trains models: studies such as --random, --task fusion";
  }
  if (options.study.families.empty() == options.study.unseen) {
    return "--unseen and --families FILE go together; the source tree's "
           "examples/recordings/families.json has the families of its recordings";
  }
  return "";
}

int RunEvaluate(const EvaluateOptions& options, const std::set<std::string>& given,
                CommandContext& context) {
  if (const std::string message = Contradiction(options, given); !message.empty()) {
    return context.Fail(kExitWrongUse, message);
  }
  if (options.task == "fusion") return RunFusionEvaluate(options, context);
  if (options.study.wanted()) {
    return RunStudies(options.study, options.data, options.jobs, options.bootstrap, options.json,
                      context);
  }
  if (options.models.empty()) {
    return context.Fail(kExitWrongUse,
                        "evaluate needs --model DIR, or a study such as --random or --ablation");
  }
  const absl::StatusOr<EvaluationReport> report = EvaluateAll(options);
  if (!report.ok()) return context.Fail(report.status());
  for (const std::string& warning : report->warnings) {
    context.err << "warning: " << PrintableLine(warning) << "\n";
  }
  if (!options.html.empty()) {
    absl::Status written = WriteFileAtomically(options.html, RenderHtml(*report));
    if (!written.ok()) return context.Fail(WithExitCode(kExitBroken, written));
  }
  if (!options.json) {
    PrintText(options, report->models, context.out);
    return kExitDone;
  }
  nlohmann::json document = {{"warnings", report->warnings},
                             {"evaluations", nlohmann::json::array()}};
  for (const Evaluation& evaluation : report->models) {
    document["evaluations"].push_back(EvaluationToJson(options, evaluation));
  }
  context.out << DumpJson(document) << "\n";
  return kExitDone;
}

}  // namespace

void AddEvaluateCommand(CLI::App& app, CommandContext& context) {
  CLI::App* command =
      app.add_subcommand("evaluate", "Judge trained cost models on recordings they have not seen");
  auto options = std::make_shared<EvaluateOptions>();
  command->add_option("--model", options->models, "The folder of a model; may be repeated")
      ->allow_extra_args(false);
  command->add_option("--data", options->data, "Recordings or .npz files, or folders of them")
      ->required();
  command->add_flag("--all", options->all, "Also programs that a model was trained on");
  command->add_flag("--by-kernel", options->by_kernel, "Every kernel by itself (with --json)");
  AddNumber(*command, "--bootstrap", options->bootstrap, {0, 100000},
            "Samples for the intervals; 0 for none")
      ->capture_default_str();
  AddNumber(*command, "--jobs", options->jobs, {1, 256}, "Threads")->capture_default_str();
  command
      ->add_option("--task", options->task,
                   "tile; or fusion: folders of programs with recordings of their fusions, each "
                   "program judged by a model of the others")
      ->capture_default_str();
  command->add_option("--html", options->html, "Write a page with charts here");
  command->add_flag("--json", options->json, "One JSON document on standard output");
  AddStudyOptions(*command, options->study);
  command->footer(kExamples);
  command->callback([options, command, &context] {
    context.exit_code = RunEvaluate(*options, GivenOptions(*command), context);
  });
}

}  // namespace autotune
