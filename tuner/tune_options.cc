#include "tuner/tune_options.h"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <system_error>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "hardware/record_store_session.h"
#include "nlohmann/json.hpp"
#include "search/builtin.h"
#include "tuner/models.h"
#include "tuner/number_options.h"
#include "tuner/printable.h"

namespace autotune {
namespace {

using nlohmann::json;

constexpr const char* kTargets[] = {"v2", "v3", "v4", "v5e", "v5p", "v6e", "v7x"};

std::string StrategyHelp() {
  std::string help = absl::StrCat("How candidates are proposed [", kDefaultStrategy, ", or ",
                                  kBlindStrategy, " without a model]:");
  for (const StrategyInfo& info : BuiltinStrategies()) {
    absl::StrAppend(&help, "\n", info.name, ": ", info.help);
  }
  return help;
}

// Calls `visit(option name, member)` for every option that a resumed run takes over.
template <typename Options, typename Visit>
void VisitStored(Options& options, Visit visit) {
  visit("PROGRAM", options.program);
  visit("MORE PROGRAMS", options.more_programs);
  visit("--backend", options.backend);
  visit("--recording", options.recordings);
  visit("--plugin", options.plugin);
  visit("--target", options.target);
  visit("--space", options.space);
  visit("--strategy", options.strategy);
  visit("--model", options.model);
  visit("--top-k", options.top_k);
  visit("--seed", options.seed);
  visit("--budget", options.budget);
  visit("--budget-seconds", options.budget_seconds);
  visit("--compile-seconds", options.compile_seconds);
  visit("--repeats", options.repeats);
  visit("--timeout-seconds", options.timeout_seconds);
  visit("--jobs", options.jobs);
  visit("--store", options.store);
  visit("--match", options.match);
}

template <typename T>
void Write(json& document, const char* name, const T& value) {
  document[name] = value;
}
template <typename T>
void Write(json& document, const char* name, const std::optional<T>& value) {
  if (value) document[name] = *value;
}

// Reads a value of the member's type; false if the document holds another one.
bool Read(const json& value, std::string& member) {
  if (value.is_string()) member = value.get<std::string>();
  return value.is_string();
}
bool Read(const json& value, int64_t& member) {
  constexpr uint64_t kLargest = std::numeric_limits<int64_t>::max();
  if (!value.is_number_integer()) return false;
  if (value.is_number_unsigned() && value.get<uint64_t>() > kLargest) return false;
  member = value.get<int64_t>();
  return true;
}
bool Read(const json& value, uint64_t& member) {
  if (value.is_number_unsigned()) member = value.get<uint64_t>();
  return value.is_number_unsigned();
}
bool Read(const json& value, double& member) {
  if (value.is_number()) member = value.get<double>();
  return value.is_number();
}
bool Read(const json& value, std::vector<std::string>& member) {
  if (!value.is_array()) return false;
  member.clear();
  for (const json& item : value) {
    if (!item.is_string()) return false;
    member.push_back(item.get<std::string>());
  }
  return true;
}
template <typename T>
bool Read(const json& value, std::optional<T>& member) {
  T read{};
  if (!Read(value, read)) return false;
  member = read;
  return true;
}

absl::Status OneOf(const char* option, const std::string& value,
                   const std::vector<std::string>& allowed) {
  if (std::find(allowed.begin(), allowed.end(), value) != allowed.end()) return absl::OkStatus();
  return absl::InvalidArgumentError(
      absl::StrCat(option, " takes ", absl::StrJoin(allowed, ", "), "; got \"", value, "\""));
}

// "v3" and "tpu-v3" are the same.
absl::Status NormaliseTarget(std::string& target) {
  if (target.empty()) return absl::OkStatus();
  std::string name = target;
  if (absl::StartsWith(name, "tpu-")) name = name.substr(4);
  absl::Status status = OneOf("--target", name, {std::begin(kTargets), std::end(kTargets)});
  if (status.ok()) target = absl::StrCat("tpu-", name);
  return status;
}

// Numbers that were typed are in their ranges already; those of a stored run may not be.
absl::Status CheckNumbers(const TuneOptions& options) {
  absl::Status status = CheckNumber("--top-k", options.top_k, kTopKRange);
  status.Update(CheckNumber("--repeats", options.repeats, kRepeatsRange));
  status.Update(CheckNumber("--jobs", options.jobs, kJobsRange));
  status.Update(CheckNumber("--compile-seconds", options.compile_seconds, kSecondsRange));
  status.Update(CheckNumber("--timeout-seconds", options.timeout_seconds, kTimeoutRange));
  if (options.budget) status.Update(CheckNumber("--budget", *options.budget, kBudgetRange));
  if (options.budget_seconds) {
    status.Update(CheckNumber("--budget-seconds", *options.budget_seconds, kSecondsRange));
  }
  return status;
}

absl::Status CheckSpace(const std::string& space) {
  if (space.empty()) return absl::OkStatus();
  return OneOf("--space", space, {"tile", "layout", "fusion", "tile+fusion"});
}

absl::Status CheckStrategy(const TuneOptions& options) {
  const StrategyInfo* strategy = FindStrategy(options.strategy);
  if (strategy != nullptr && strategy->needs_scorer && options.model == "none") {
    return absl::InvalidArgumentError(
        absl::StrCat("--strategy ", options.strategy, " needs a model, but --model is none"));
  }
  std::vector<std::string> names;
  for (const StrategyInfo& info : BuiltinStrategies()) names.push_back(info.name);
  return OneOf("--strategy", options.strategy, names);
}

// What is tuned, and what it may cost.
void AddProgramOptions(CLI::App& command, TuneOptions& options) {
  command.add_option_function<std::vector<std::string>>(
      "PROGRAM",
      [&options](const std::vector<std::string>& programs) {
        options.program = programs.front();
        options.more_programs.assign(programs.begin() + 1, programs.end());
      },
      "HLO text or protobuf, or a recording (all of its kernels); several of them, folders and "
      "quoted patterns are tuned together: equal kernels once, one budget");
  AddNumber(command, "--budget", options.budget, kBudgetRange,
            absl::StrCat("Measurements to spend at most [", kDefaultBudget,
                         "]; 0 shows what is recorded"));
  AddNumber(command, "--budget-seconds", options.budget_seconds, kSecondsRange,
            "Device time to spend at most (simulated for replay)");
}

// What measures.
void AddBackendOptions(CLI::App& command, TuneOptions& options) {
  command
      .add_option("--recording", options.recordings,
                  "A file of recorded measurements to replay; may be repeated")
      ->allow_extra_args(false);
  command.add_option("--backend", options.backend, "replay, aot, pjrt or fleet [chosen]");
  command.add_option("--plugin", options.plugin,
                     "PJRT plugin of the device for --backend pjrt [libtpu]");
  command.add_option("--target", options.target,
                     "v2, v3, v4, v5e, v5p, v6e or v7x [what PROGRAM or the recording tells]");
  AddNumber(command, "--repeats", options.repeats, kRepeatsRange, "Runs for one measurement")
      ->capture_default_str();
  AddNumber(command, "--compile-seconds", options.compile_seconds, kSecondsRange,
            "Simulated compile time where replay has none recorded")
      ->capture_default_str();
  AddNumber(command, "--timeout-seconds", options.timeout_seconds, kTimeoutRange,
            "A candidate that takes longer has failed (aot, pjrt, fleet)")
      ->capture_default_str();
  AddNumber(command, "--jobs", options.jobs, kJobsRange,
            "Threads, compilations at a time, and workers of a fleet [as many as there are cores]");
}

// How it searches.
void AddSearchOptions(CLI::App& command, TuneOptions& options) {
  command.add_option(
      "--space", options.space,
      "What is tuned: tile, layout (recorded ones), fusion or tile+fusion [what is recorded, else "
      "tile]");
  command.add_option("--strategy", options.strategy, StrategyHelp());
  command.add_option("--model", options.model,
                     "What guides the search: learned, analytical, the folder of a trained model, "
                     "or none [learned "
                     "if it knows the device, else analytical]");
  AddNumber(command, "--top-k", options.top_k, kTopKRange,
            "Candidates of a kernel measured in one round")
      ->capture_default_str();
  AddNumber(command, "--seed", options.seed, kSeedRange, "Of every random choice")
      ->capture_default_str();
}

// Where results are kept and shown.
void AddOutputOptions(CLI::App& command, TuneOptions& options) {
  command.add_option(
      "--store", options.store,
      "Record store, sqlite:PATH or postgresql://USER@HOST/DB [sqlite:OUT/records.db]");
  command
      .add_option("--match", options.match,
                  "Which results of the store count: strict (same backend, versions and flags) or "
                  "loose (same device)")
      ->capture_default_str();
  command.add_option("--out", options.out, "Folder for results [autotune-runs/TIME-PROGRAM]");
  command.add_flag("--resume", options.resume, "Go on with the interrupted run in --out");
  command.add_flag("--json", options.json, "One JSON document on standard output");
  command.add_flag("--quiet", options.quiet, "No progress");
}

}  // namespace

std::vector<std::string> ProgramsOf(const TuneOptions& options) {
  std::vector<std::string> programs = {options.program};
  programs.insert(programs.end(), options.more_programs.begin(), options.more_programs.end());
  return programs;
}

void AddTuneOptions(CLI::App& command, TuneOptions& options) {
  AddProgramOptions(command, options);
  AddBackendOptions(command, options);
  AddSearchOptions(command, options);
  AddOutputOptions(command, options);
}

bool ReadsStandardInput(const TuneOptions& options) {
  const std::vector<std::string> programs = ProgramsOf(options);
  return std::find(programs.begin(), programs.end(), "-") != programs.end();
}

std::set<std::string> GivenOptions(const CLI::App& command) {
  std::set<std::string> given;
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() > 0) given.insert(option->get_name());
  }
  return given;
}

void MakePathsAbsolute(TuneOptions& options) {
  const auto absolute = [](const std::string& path) {
    if (path.empty() || path == "-") return path;
    std::error_code error;
    const std::filesystem::path whole = std::filesystem::absolute(path, error);
    return error ? path : whole.lexically_normal().string();
  };
  options.program = absolute(options.program);
  for (std::string& program : options.more_programs) program = absolute(program);
  for (std::string& recording : options.recordings) recording = absolute(recording);
  if (IsModelFolder(options.model)) options.model = absolute(options.model);
  constexpr absl::string_view kSqlite = "sqlite:";
  if (absl::StartsWith(options.store, kSqlite)) {
    options.store = absl::StrCat(kSqlite, absolute(options.store.substr(kSqlite.size())));
  }
}

json OptionsToJson(const TuneOptions& options) {
  json document = json::object();
  VisitStored(options, [&](const char* name, const auto& value) { Write(document, name, value); });
  return document;
}

absl::Status TakeStoredOptions(const std::string& text, const std::set<std::string>& given,
                               TuneOptions& options) {
  const json document = json::parse(text, nullptr, /*allow_exceptions=*/false);
  if (!document.is_object()) {
    return absl::InvalidArgumentError("the options of the stored run cannot be read");
  }
  absl::Status status;
  VisitStored(options, [&](const char* name, auto& value) {
    const auto it = document.find(name);
    if (given.contains(name)) {
      json now = json::object();
      Write(now, name, value);
      const bool budget = absl::StartsWith(name, "--budget");
      if (!budget && (it == document.end() || now[name] != *it)) {
        status.Update(absl::FailedPreconditionError(
            absl::StrCat(name, " is not the same as in the run to resume: ",
                         it == document.end() ? "it had none" : DumpJson(*it, -1))));
      }
      return;
    }
    if (it != document.end() && !Read(*it, value)) {
      status.Update(absl::InvalidArgumentError(
          absl::StrCat("the options of the stored run cannot be read: ", name)));
    }
  });
  if (status.ok()) status = CheckNumbers(options);
  return status;
}

absl::Status FinishTuneOptions(TuneOptions& options) {
  if (options.program.empty()) {
    return absl::InvalidArgumentError("which program? Give an HLO file or a recording");
  }
  if (absl::Status status = CheckNumbers(options); !status.ok()) return status;
  if (absl::Status status = NormaliseTarget(options.target); !status.ok()) return status;
  if (absl::Status status = CheckSpace(options.space); !status.ok()) return status;
  if (options.strategy.empty()) {
    options.strategy = options.model == "none" ? kBlindStrategy : kDefaultStrategy;
  }
  if (absl::Status status = CheckStrategy(options); !status.ok()) return status;
  if (!options.backend.empty()) {
    absl::Status status = OneOf("--backend", options.backend, {"replay", "aot", "pjrt", "fleet"});
    if (!status.ok()) return status;
  }
  if (absl::Status status = OneOf("--match", options.match, {"strict", "loose"}); !status.ok()) {
    return status;
  }
  if (!options.store.empty()) {
    if (absl::Status status = ParseStoreUrl(options.store).status(); !status.ok()) return status;
  }
  if (!options.budget && !options.budget_seconds) options.budget = kDefaultBudget;
  return absl::OkStatus();
}

}  // namespace autotune
