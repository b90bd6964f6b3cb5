#include "tuner/command_study.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <ostream>
#include <set>
#include <system_error>
#include <utility>

#include "CLI/CLI.hpp"
#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/str_cat.h"
#include "costmodel/recorded_examples.h"
#include "hardware/atomic_file.h"
#include "hardware/scratch_folder.h"
#include "tuner/command_status.h"
#include "tuner/number_options.h"
#include "tuner/output_files.h"
#include "tuner/printable.h"
#include "tuner/study_tables.h"
#include "tuner/training_files.h"

namespace autotune {
namespace {

absl::Status ReadFamilies(const std::string& path, ProgramFamilies* families) {
  absl::StatusOr<nlohmann::json> json = ReadJsonFile(path);
  if (!json.ok()) return json.status();
  try {
    json->get_to(*families);
  } catch (const nlohmann::json::exception&) {
    return BadInput(
        absl::StrCat(path, " must be a JSON object of families, each a list of programs"));
  }
  std::set<std::string> programs;
  for (const auto& [family, members] : *families) {
    for (const std::string& program : members) {
      if (!programs.insert(program).second) {
        return BadInput(absl::StrCat(path, ": ", program, " stands twice"));
      }
    }
  }
  return absl::OkStatus();
}

// A misspelt family would not be held out.
void WarnOfAbsentFamilies(const StudyOptions& study, CommandContext& context) {
  std::set<std::string> known;
  for (const std::string& file : study.files) known.insert(ProgramOfFile(file));
  for (const auto& [family, programs] : study.families) {
    const bool any = std::any_of(programs.begin(), programs.end(), [&](const std::string& program) {
      return known.contains(program);
    });
    if (any) continue;
    context.err << "warning: the data hold no program of the family " << PrintableLine(family)
                << "\n";
  }
}

absl::StatusOr<StudyOptions> Prepare(const StudyCommandOptions& options,
                                     const std::vector<std::string>& data) {
  StudyOptions study;
  absl::StatusOr<std::vector<std::string>> files = ExpandDataFiles(data);
  if (!files.ok()) return files.status();
  study.files = *std::move(files);
  if (std::any_of(study.files.begin(), study.files.end(), IsNpzFile)) {
    return BadInput("studies take recordings, not .npz files");
  }
  study.trainer.network.members = 3;
  if (absl::Status status = ReadTrainerConfig(options.config, "tile", &study.trainer);
      !status.ok()) {
    return status;
  }
  if (!options.families.empty()) {
    absl::Status status = ReadFamilies(options.families, &study.families);
    if (!status.ok()) return status;
  }
  study.seeds = options.seeds;
  study.test_share = options.test_share;
  study.validation_share = options.validation_share;
  study.export_to = options.export_to;
  study.curve_configs = options.curve_configs;
  return study;
}

// What would be found out only after hours of training.
absl::Status MakeOutputs(const StudyCommandOptions& options) {
  absl::Status status;
  if (!options.out.empty()) {
    const std::string folder = std::filesystem::path(options.out).parent_path().string();
    status = MakeOutputDirectory(folder.empty() ? "." : folder);
  }
  std::error_code error;
  const std::string& exported = options.export_to;
  if (!exported.empty() && std::filesystem::exists(exported, error) &&
      !std::filesystem::is_empty(exported, error)) {  // sides of two studies would mix
    status.Update(WrongUse(absl::StrCat("--export needs an empty folder; ", exported, " is none")));
  }
  if (status.ok() && !exported.empty()) status = MakeOutputDirectory(exported);
  return status;
}

}  // namespace

void AddStudyOptions(CLI::App& command, StudyCommandOptions& options) {
  command.add_flag("--random", options.random,
                   "Train and judge: a share of the programs held out, for each seed");
  command.add_flag("--unseen", options.unseen,
                   "Train and judge: one family of programs held out after another");
  command.add_flag("--transfer", options.transfer,
                   "Train on the recordings of one device, judge on another");
  command.add_flag("--curve", options.curve, "Train on a quarter, a half and all of the kernels");
  AddNumbers(command, "--curve-configs", options.curve_configs, {1, int64_t{1} << 30},
             "The same by configurations: so many, the same share of each kernel; and all");
  command.add_flag("--ablation", options.ablation, "Change the parts of the method one by one");
  command.add_option("--families", options.families,
                     R"(Families for --unseen, a JSON file: {"attention": ["t5", "bert"], ...}; )"
                     "programs of none are one more, \"others\"");
  command.add_option("--config", options.config, "Hyper-parameters as of train, a JSON file");
  AddNumber(command, "--seeds", options.seeds, {1, 100}, "Splits and networks of each study")
      ->capture_default_str();
  AddNumber(command, "--test-share", options.test_share, kShareRange,
            "Share of the programs that all but --unseen hold out")
      ->capture_default_str();
  AddNumber(command, "--validation-share", options.validation_share, kShareRange,
            "Share of the programs that decide when to stop; 0: the last epoch counts")
      ->capture_default_str();
  command.add_option("--out", options.out, "Also write the tables as OUT.md and OUT.json");
  command.add_option("--export", options.export_to,
                     "Also write the examples of every split as .npz into this folder");
}

int RunStudies(const StudyCommandOptions& options, const std::vector<std::string>& data,
               int64_t jobs, int64_t bootstrap, bool json, CommandContext& context) {
  absl::StatusOr<StudyOptions> study = Prepare(options, data);
  if (!study.ok()) return context.Fail(study.status());
  if (absl::Status status = MakeOutputs(options); !status.ok()) return context.Fail(status);
  WarnOfAbsentFamilies(*study, context);
  const absl::StatusOr<std::unique_ptr<ScratchFolder>> scratch = ScratchFolder::Create("evaluate");
  if (!scratch.ok()) return context.Fail(WithExitCode(kExitBroken, scratch.status()));
  study->scratch = (*scratch)->work();
  study->trainer.jobs = static_cast<int>(jobs);
  study->bootstrap = bootstrap;
  study->progress = [&context](const std::string& line) {
    context.err << PrintableText(line) << "\n" << std::flush;
  };
  const std::pair<bool, StudyKind> kinds[] = {
      {options.random, StudyKind::kRandom},
      {options.unseen, StudyKind::kUnseen},
      {options.transfer, StudyKind::kTransfer},
      {options.curve || !options.curve_configs.empty(), StudyKind::kCurve},
      {options.ablation, StudyKind::kAblation}};
  nlohmann::json document = {{"studies", nlohmann::json::array()}};
  std::string markdown;
  absl::Status failed;
  for (const auto& [wanted, kind] : kinds) {
    if (!wanted) continue;
    study->kind = kind;
    absl::StatusOr<nlohmann::json> result = RunModelStudy(*study);
    if (!result.ok()) {  // the studies before it took hours and are kept
      failed = WithInputExitCode(result.status());
      break;
    }
    absl::StrAppend(&markdown, markdown.empty() ? "" : "\n", "**",
                    (*result)["study"].get<std::string>(), "**: ", StudyToMarkdown(*result));
    document["studies"].push_back(*std::move(result));
  }
  context.out << (json ? DumpJson(document) + "\n" : PrintableText(markdown));
  if (!options.out.empty()) {
    failed.Update(WriteFileAtomically(options.out + ".md", markdown));
    failed.Update(WriteFileAtomically(options.out + ".json", DumpJson(document, 1) + "\n"));
  }
  return failed.ok() ? static_cast<int>(kExitDone) : context.Fail(failed);
}

}  // namespace autotune
