#include "tuner/tune_options.h"

#include <algorithm>
#include <cmath>

#include "CLI/CLI.hpp"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "nlohmann/json.hpp"
#include "search/builtin.h"

namespace autotune {
namespace {

using nlohmann::json;

constexpr const char* kTargets[] = {"v2", "v3", "v4", "v5e", "v5p", "v6e", "v7x"};

std::string StrategyHelp() {
  std::string help = absl::StrCat("How candidates are proposed [", kDefaultStrategy, ", or ",
                                  kDefaultBlindStrategy, " without a model]:");
  for (const StrategyInfo& info : BuiltinStrategies()) {
    absl::StrAppend(&help, "\n", info.name, ": ", info.help);
  }
  return help;
}

// Calls `visit(option name, member)` for every option that a resumed run takes over.
template <typename Options, typename Visit>
void VisitStored(Options& options, Visit visit) {
  visit("PROGRAM", options.program);
  visit("--backend", options.backend);
  visit("--recording", options.recordings);
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
  visit("--store", options.store);
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
  if (value.is_number_integer()) member = value.get<int64_t>();
  return value.is_number_integer();
}
bool Read(const json& value, uint64_t& member) {
  if (value.is_number_integer()) member = value.get<uint64_t>();
  return value.is_number_integer();
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

absl::Status CheckNumbers(const TuneOptions& options) {
  if (options.budget && *options.budget < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--budget must not be negative, but is ", *options.budget));
  }
  if (options.budget_seconds &&
      !(std::isfinite(*options.budget_seconds) && *options.budget_seconds >= 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--budget-seconds must not be negative, but is ", *options.budget_seconds));
  }
  if (!(std::isfinite(options.compile_seconds) && options.compile_seconds >= 0)) {
    return absl::InvalidArgumentError(
        absl::StrCat("--compile-seconds must not be negative, but is ", options.compile_seconds));
  }
  for (const auto& [name, value] :
       {std::make_pair("--top-k", options.top_k), std::make_pair("--repeats", options.repeats)}) {
    if (value < 1) {
      return absl::InvalidArgumentError(absl::StrCat(name, " must be at least 1, but is ", value));
    }
  }
  if (options.jobs < 0) {
    return absl::InvalidArgumentError(
        absl::StrCat("--jobs must not be negative, but is ", options.jobs));
  }
  return absl::OkStatus();
}

}  // namespace

void AddTuneOptions(CLI::App& command, TuneOptions& options) {
  command.add_option("PROGRAM", options.program,
                     "HLO text or protobuf, or a recording (all of its kernels)");
  command.add_option("--budget", options.budget,
                     absl::StrCat("Measurements to spend at most [", kDefaultBudget,
                                  "]; 0 shows what is recorded"));
  command.add_option("--budget-seconds", options.budget_seconds,
                     "Device time to spend at most (simulated for replay)");
  command
      .add_option("--recording", options.recordings,
                  "A file of recorded measurements to replay; may be repeated")
      ->allow_extra_args(false);
  command.add_option("--backend", options.backend, "replay, aot, pjrt or fleet [chosen]");
  command.add_option("--target", options.target, "v2, v3, v4, v5e, v5p, v6e or v7x");
  command.add_option("--space", options.space, "What is tuned: tile")->capture_default_str();
  command.add_option("--strategy", options.strategy, StrategyHelp());
  command.add_option("--model", options.model, "What guides the search: analytical or none")
      ->capture_default_str();
  command.add_option("--top-k", options.top_k, "Candidates of a kernel measured in one round")
      ->capture_default_str();
  command.add_option("--seed", options.seed, "Of every random choice")->capture_default_str();
  command.add_option("--repeats", options.repeats, "Runs for one measurement")
      ->capture_default_str();
  command
      .add_option("--compile-seconds", options.compile_seconds,
                  "Simulated compile time where replay has none recorded")
      ->capture_default_str();
  command.add_option("--jobs", options.jobs, "Threads [as many as there are cores]");
  command.add_option("--store", options.store, "Record store, sqlite:PATH [OUT/records.db]");
  command.add_option("--out", options.out, "Folder for results [autotune-runs/TIME-PROGRAM]");
  command.add_flag("--resume", options.resume, "Go on with the interrupted run in --out");
  command.add_flag("--json", options.json, "One JSON document on standard output");
  command.add_flag("--quiet", options.quiet, "No progress");
}

std::set<std::string> GivenOptions(const CLI::App& command) {
  std::set<std::string> given;
  for (const CLI::Option* option : command.get_options()) {
    if (option->count() > 0) given.insert(option->get_name());
  }
  return given;
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
                         it == document.end() ? "it had none" : it->dump())));
      }
      return;
    }
    if (it != document.end() && !Read(*it, value)) {
      status.Update(absl::InvalidArgumentError(
          absl::StrCat("the options of the stored run cannot be read: ", name)));
    }
  });
  return status;
}

absl::Status FinishTuneOptions(TuneOptions& options) {
  if (options.program.empty()) {
    return absl::InvalidArgumentError("which program? Give an HLO file or a recording");
  }
  if (absl::Status status = CheckNumbers(options); !status.ok()) return status;
  if (absl::Status status = NormaliseTarget(options.target); !status.ok()) return status;
  std::vector<std::string> strategies;
  for (const StrategyInfo& info : BuiltinStrategies()) strategies.push_back(info.name);
  if (options.strategy.empty()) {
    options.strategy = options.model == "none" ? kDefaultBlindStrategy : kDefaultStrategy;
  }
  if (absl::Status status = OneOf("--strategy", options.strategy, strategies); !status.ok()) {
    return status;
  }
  if (!options.backend.empty()) {
    absl::Status status = OneOf("--backend", options.backend, {"replay", "aot", "pjrt", "fleet"});
    if (!status.ok()) return status;
  }
  if (!options.budget && !options.budget_seconds) options.budget = kDefaultBudget;
  return absl::OkStatus();
}

}  // namespace autotune
