#include <algorithm>
#include <cstddef>
#include <filesystem>
#include <memory>
#include <optional>
#include <ostream>
#include <set>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/time/clock.h"
#include "costmodel/fusion_examples.h"
#include "costmodel/fusion_features.h"
#include "costmodel/fusion_training.h"
#include "costmodel/model_file.h"
#include "costmodel/network_json.h"
#include "costmodel/npz_data.h"
#include "costmodel/npz_layouts.h"
#include "costmodel/recorded_examples.h"
#include "costmodel/trainer.h"
#include "hardware/atomic_file.h"
#include "hlo/fingerprint.h"
#include "tuner/command_status.h"
#include "tuner/commands.h"
#include "tuner/interrupt.h"
#include "tuner/number_options.h"
#include "tuner/output_files.h"
#include "tuner/printable.h"
#include "tuner/run_lock.h"
#include "tuner/text_table.h"
#include "tuner/training_files.h"

namespace autotune {
namespace {

constexpr char kExamples[] = R"(
Examples:
  autotune train --data recordings/ --out model
  autotune train --data recordings/ --out model --config small.json --seed 3 --test vgg16,wav2vec2
  autotune train --data npz/tile/xla --out model --memory-mb 512
  autotune train --data npz/layout/xla/random --task layout --out layouts --max-configs 200
  autotune tune program.hlo --model model --recording recordings/vgg16.v3.rec --budget 20

Data sets are split by program: the programs in --test, or --test-share of them, are never trained
on. Goes on where an interrupted call with the same options stopped. --config takes hyper-parameters
as JSON, all of them optional: {"epochs": 60, "network": {"hidden": 64, "members": 3, ...}, "step":
{"loss": "logistic", ...}}. DIR/training.json shows all of them with the curves of the training, and
can be given as --config itself.)";

struct TrainOptions {
  std::vector<std::string> data;
  std::string task = "tile";
  std::string out;
  std::string config;
  std::vector<std::string> test;
  double test_share = 0.15;
  double validation_share = 0.15;
  double training_share = 1;
  uint64_t seed = 1;
  bool seed_given = false;
  int64_t jobs = 2;
  int64_t memory_mb = 1024;
  int64_t max_configs = 2000;
  bool quiet = false;
};

// Everything that a training works with.
struct Setup {
  std::vector<FusionPair> pairs;  // of the fusion task
  TrainerOptions trainer;
  const FeatureSchema* schema = &TileFeatureSchema();
  RecordedData data;
  RunLock lock;
  std::unique_ptr<ExampleStore> training, validation, test;
};

// Of recordings, or of .npz files with the features that these bring.
absl::StatusOr<RecordedData> ReadExamples(const TrainOptions& options,
                                          const std::vector<std::string>& files,
                                          const ProgramSplit& split, Setup* setup) {
  if (!setup->pairs.empty()) {
    setup->schema = &FusionFeatureSchema();
    return ReadFusionData(setup->pairs, split, setup->training.get(), setup->validation.get(),
                          setup->test.get());
  }
  const auto npz = std::count_if(files.begin(), files.end(), IsNpzFile);
  if (npz == 0) {
    if (options.task == "layout") {
      return absl::InvalidArgumentError("--task layout takes .npz files of TpuGraphs' layouts");
    }
    RecordedDataOptions read;
    read.split = split;
    read.training_share = options.training_share;
    return ReadRecordedData(files, read, setup->training.get(), setup->validation.get(),
                            setup->test.get());
  }
  if (npz != static_cast<std::ptrdiff_t>(files.size())) {
    return absl::InvalidArgumentError("--data takes recordings or .npz files, not both at once");
  }
  absl::StatusOr<const FeatureSchema*> schema = DetectNpzSchema(files.front());
  if (!schema.ok()) return schema.status();
  const std::string task = *schema == &TpuGraphsLayoutSchema() ? "layout" : "tile";
  if (task != options.task) {
    return absl::InvalidArgumentError(
        absl::StrCat(files.front(), " is for --task ", task, ", not for ", options.task));
  }
  setup->schema = *schema;
  return ReadNpzData(files, **schema, split, options.max_configs, setup->training.get(),
                     setup->validation.get(), setup->test.get());
}

// Programs with recordings of their fusions.
absl::Status FindPairs(const TrainOptions& options, std::vector<FusionPair>* pairs) {
  absl::StatusOr<std::vector<FusionPair>> found = ExpandFusionFolders(options.data);
  if (!found.ok()) return found.status();
  *pairs = *std::move(found);
  if (!pairs->empty()) return absl::OkStatus();
  return BadInput(
      "--task fusion takes folders of programs NAME.hlo with recordings "
      "NAME.jsonl.gz of their fusions (autotune record --space fusion)");
}

// A misspelt program would be trained on, and nothing be left to judge by.
absl::Status CheckTestPrograms(const std::vector<std::string>& test,
                               const std::vector<std::string>& programs) {
  for (const std::string& program : test) {
    if (std::find(programs.begin(), programs.end(), program) != programs.end()) continue;
    const std::set<std::string> known(programs.begin(), programs.end());
    return WrongUse(absl::StrCat("--test: the data hold no program \"", program, "\"; they hold ",
                                 absl::StrJoin(known, ", ")));
  }
  return absl::OkStatus();
}

// What .npz files and fusions would override is refused.
absl::Status CheckSides(const TrainOptions& options, const std::vector<std::string>& files,
                        const Setup& setup) {
  const bool recordings =
      setup.pairs.empty() && std::none_of(files.begin(), files.end(), IsNpzFile);
  if (options.training_share < 1 && !recordings) {
    return WrongUse("--training-share is for recordings of tiles");
  }
  for (const std::string& file : files) {
    const bool held_out = std::find(options.test.begin(), options.test.end(),
                                    ProgramOfFile(file)) != options.test.end();
    if (!held_out || !IsNpzFile(file) || SideOfFolder(file).value_or(Side::kTest) == Side::kTest) {
      continue;
    }
    return WrongUse(absl::StrCat("--test: the folder of ", file, " says that it is trained on"));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::vector<std::string>> DataFiles(const TrainOptions& options,
                                                   const Setup& setup) {
  if (setup.pairs.empty()) return ExpandDataFiles(options.data);
  std::vector<std::string> files;
  for (const FusionPair& pair : setup.pairs) files.push_back(pair.recording);
  return files;
}

absl::Status ReadData(const TrainOptions& options, Setup* setup) {
  absl::StatusOr<std::vector<std::string>> files = DataFiles(options, *setup);
  if (!files.ok()) return files.status();
  std::vector<std::string> programs;
  for (const std::string& file : *files) programs.push_back(ProgramOfFile(file));
  if (absl::Status status = CheckTestPrograms(options.test, programs); !status.ok()) return status;
  if (absl::Status status = CheckSides(options, *files, *setup); !status.ok()) return status;
  const ProgramSplit split =
      SplitPrograms(programs, {options.test.begin(), options.test.end()}, options.validation_share,
                    options.test_share, setup->trainer.network.seed);
  const int64_t bytes = options.memory_mb << 20;
  for (auto* store : {&setup->training, &setup->validation, &setup->test}) {
    const bool large = store == &setup->training;
    absl::StatusOr<std::unique_ptr<ExampleStore>> created =
        ExampleStore::Create(options.out, large ? bytes / 2 : bytes / 4);
    if (!created.ok()) return WithExitCode(kExitBroken, created.status());
    *store = *std::move(created);
  }
  absl::StatusOr<RecordedData> data = ReadExamples(options, *files, split, setup);
  if (!data.ok()) return WithInputExitCode(data.status());
  setup->data = *std::move(data);
  return absl::OkStatus();
}

absl::StatusOr<Setup> Prepare(const TrainOptions& options) {
  if (options.task != "tile" && options.task != "fusion" && options.task != "layout") {
    return WrongUse(
        absl::StrCat("--task takes tile, fusion or layout; got \"", options.task, "\""));
  }
  if (absl::Status status = MakeOutputDirectory(options.out); !status.ok()) return status;
  absl::StatusOr<RunLock> lock = RunLock::Acquire(options.out);
  if (!lock.ok()) return lock.status();
  Setup setup;
  setup.lock = *std::move(lock);
  TrainerOptions& trainer = setup.trainer;
  trainer.network.members = 3;
  if (options.task == "fusion") {
    if (absl::Status status = FindPairs(options, &setup.pairs); !status.ok()) return status;
    trainer = FusionTrainerOptions();
  }
  if (options.task == "layout") trainer = LayoutTrainerOptions();
  trainer.network.seed = options.seed;
  if (absl::Status status = ReadTrainerConfig(options.config, options.task, &trainer);
      !status.ok()) {
    return status;
  }
  if (options.seed_given) trainer.network.seed = options.seed;
  if (absl::Status status = ReadData(options, &setup); !status.ok()) return status;
  trainer.network.opcodes = setup.schema->opcodes;
  trainer.jobs = static_cast<int>(options.jobs);
  trainer.checkpoint = absl::StrCat(options.out, "/checkpoint.bin");
  trainer.data_fingerprint = setup.data.fingerprint;
  return setup;
}

std::string Describe(const ExampleStore& store) {
  int64_t configs = 0;
  for (int64_t i = 0; i < store.size(); ++i) configs += store.info(i).configs;
  return absl::StrCat(FormatCount(store.size()), " kernels with ", FormatCount(configs),
                      " configurations");
}

nlohmann::json DataToJson(const Setup& setup) {
  nlohmann::json result = {{"duplicates_left_out", setup.data.duplicates}};
  for (const auto& [name, store] :
       {std::pair("training", setup.training.get()),
        std::pair("validation", setup.validation.get()), std::pair("test", setup.test.get())}) {
    int64_t configs = 0;
    for (int64_t i = 0; i < store->size(); ++i) configs += store->info(i).configs;
    result[name] = {{"kernels", store->size()}, {"configs", configs}};
  }
  return result;
}

std::string QualityLine(const std::string& what, const RankingQuality& quality) {
  return absl::StrFormat("%-24s tau %6.3f   APE %7.2f %%   top-1 %7.2f %%   MAPE %7.2f %%\n", what,
                         quality.kendall_tau, quality.tile_size_ape, 100 * quality.top1_error,
                         quality.mape);
}

// Writes the model and prints how good it is on both sides that it was not trained on.
absl::Status Finish(const TrainOptions& options, const Setup& setup, const TrainingResult& result,
                    double seconds, CommandContext& context) {
  ModelFile model;
  model.task = options.task;
  model.schema = *setup.schema;
  model.network = result.network->options();
  model.constants = setup.data.constants;
  model.split = setup.data.split;
  model.data_fingerprint = FingerprintText(setup.data.fingerprint);
  model.data = DataToJson(setup);
  model.training = ToJson(setup.trainer);
  model.weights = result.network->Save(/*with_optimizer=*/false);
  model.metrics = nlohmann::json::object();
  for (const auto& [name, store] :
       {std::pair("validation", setup.validation.get()), std::pair("test", setup.test.get())}) {
    if (store->size() == 0) continue;
    absl::StatusOr<RankingQuality> learned = AssessNetwork(*result.network, *store, 1);
    if (!learned.ok()) return learned.status();
    model.metrics[name]["learned"] = ToJson(*learned);
    context.out << QualityLine(absl::StrCat(name, ", learned"), *learned);
    // TpuGraphs' own features come without an analytical model.
    if (setup.schema->kernel.empty()) continue;
    absl::StatusOr<RankingQuality> base = AssessBase(*store);
    if (!base.ok()) return base.status();
    model.metrics[name]["analytical"] = ToJson(*base);
    context.out << QualityLine(absl::StrCat(name, ", analytical"), *base);
  }
  nlohmann::json curves = nlohmann::json::array();
  for (const EpochReport& report : result.epochs) curves.push_back(ToJson(report));
  const nlohmann::json report = {
      {"task", options.task},     {"options", model.training},       {"data", model.data},
      {"metrics", model.metrics}, {"best_epoch", result.best_epoch}, {"seconds", seconds},
      {"epochs", curves}};
  if (absl::Status status = SaveModel(model, options.out); !status.ok()) return status;
  context.out << PrintableLine(options.out) << ": " << FormatCount(result.network->ParameterCount())
              << " parameters, " << FormatCount(static_cast<int64_t>(model.weights.size()))
              << " bytes\n";
  return WriteFileAtomically(absl::StrCat(options.out, "/training.json"),
                             DumpJson(report, 1) + "\n");
}

std::string ProgressLine(const EpochReport& report, int64_t epochs) {
  std::string line =
      absl::StrFormat("epoch %3d of %d  loss %.4f", report.epoch, epochs, report.loss);
  const RankingQuality& validation = report.validation;
  if (validation.kernels > 0) {
    absl::StrAppendFormat(&line, "  validation: tau %.3f  APE %.2f %%  MAPE %.1f %%%s",
                          validation.kendall_tau, validation.tile_size_ape, validation.mape,
                          report.best ? "  *" : "");
  }
  return line + "\n";
}

int RunTrain(const TrainOptions& options, CommandContext& context) {
  InstallInterruptHandler();
  const absl::Time start = absl::Now();
  absl::StatusOr<Setup> setup = Prepare(options);
  if (!setup.ok()) return context.Fail(setup.status());
  if (!options.quiet) {
    context.err << "training on " << Describe(*setup->training) << "; validation on "
                << Describe(*setup->validation) << "; test on " << Describe(*setup->test) << "\n";
  }
  absl::StatusOr<TrainingResult> result = TrainNetwork(
      *setup->training, *setup->validation, setup->trainer, [&](const EpochReport& report) {
        if (!options.quiet) {
          context.err << ProgressLine(report, setup->trainer.epochs) << std::flush;
        }
        return !InterruptRequested();
      });
  if (!result.ok()) return context.Fail(WithInputExitCode(result.status()));
  if (result->interrupted) {
    context.err << "interrupted; the same command goes on where this one stopped\n";
    return kExitInterrupted;
  }
  const absl::Status status =
      Finish(options, *setup, *result, absl::ToDoubleSeconds(absl::Now() - start), context);
  if (!status.ok()) return context.Fail(status);
  std::error_code ignored;
  std::filesystem::remove(setup->trainer.checkpoint, ignored);
  return kExitDone;
}

}  // namespace

void AddTrainCommand(CLI::App& app, CommandContext& context) {
  CLI::App* command = app.add_subcommand("train", "Train a cost model on recordings");
  auto options = std::make_shared<TrainOptions>();
  command->add_option("--data", options->data, "Recordings or .npz files, or folders of them")
      ->required();
  command
      ->add_option("--task", options->task,
                   "tile: the order of a kernel's configurations; "
                   "fusion: the times of a program's kernels, from --data folders of NAME.hlo with "
                   "NAME.jsonl.gz; layout: the order of a program's layouts, from .npz files of "
                   "TpuGraphs' layout collection")
      ->capture_default_str();
  command->add_option("--out", options->out, "The folder of the model")->required();
  command->add_option("--config", options->config, "Hyper-parameters, a JSON file");
  command->add_option("--test", options->test, "Programs that are not trained on")->delimiter(',');
  AddNumber(*command, "--test-share", options->test_share, kShareRange,
            "The same, as a share of all programs")
      ->capture_default_str();
  AddNumber(*command, "--validation-share", options->validation_share, kShareRange,
            "Share of the programs that decide when to stop")
      ->capture_default_str();
  AddNumber(*command, "--training-share", options->training_share, kShareRange,
            "Train on this share of the kernels only, for learning curves")
      ->capture_default_str();
  CLI::Option* seed = AddNumber(*command, "--seed", options->seed, kSeedRange,
                                "Of the split and of the network; goes before that of --config")
                          ->capture_default_str();
  AddNumber(*command, "--jobs", options->jobs, {1, 256}, "Threads")->capture_default_str();
  AddNumber(*command, "--memory-mb", options->memory_mb, {1, 1 << 20},
            "Memory for examples; the rest is on disk")
      ->capture_default_str();
  AddNumber(*command, "--max-configs", options->max_configs, {2, 1 << 30},
            "Configurations of one .npz file that are kept, at most")
      ->capture_default_str();
  command->add_flag("--quiet", options->quiet, "No progress");
  command->footer(kExamples);
  command->callback([options, seed, &context] {
    options->seed_given = seed->count() > 0;
    context.exit_code = RunTrain(*options, context);
  });
}

}  // namespace autotune
