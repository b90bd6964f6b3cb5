#include "tuner/commands.h"

#include <algorithm>
#include <exception>
#include <filesystem>
#include <numeric>
#include <ostream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "CLI/CLI.hpp"
#include "absl/strings/ascii.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "tuner/command_status.h"
#include "tuner/printable.h"

namespace autotune {
namespace {

constexpr char kAbout[] =
    "Finds faster tile and fusion configurations for the kernels of a TPU program, spending at "
    "most\n"
    "--budget measurements.";

constexpr char kExamples[] = R"(
Examples:
  autotune program.hlo --recording tpu_v3.pb --budget 40   tune, replaying recorded measurements
  autotune tpu_v3.pb --budget 100                          tune every kernel of a recording
  autotune inspect program.hlo                             kernels, costs, where the time goes
  autotune check dumps/                                    parse and verify every file of a folder
  autotune convert program.hlo --to pb --out program.pb    between text and protobuf

`autotune PROGRAM ...` is short for `autotune tune PROGRAM ...`; `autotune COMMAND --help` says more.
Exit codes: 0 done, 1 nothing could be measured, 2 wrong use, 3 bad input, 4 a backend, the store or
the disk broke, 130 interrupted (the run can be resumed).)";

// Puts "tune" in front unless the first argument is a command or asks about autotune itself.
std::vector<std::string> WithDefaultCommand(const CLI::App& app,
                                            std::vector<std::string> arguments) {
  if (arguments.empty()) return {"--help"};
  const std::string& first = arguments.front();
  const auto commands = app.get_subcommands([](const CLI::App*) { return true; });
  const bool known = std::any_of(commands.begin(), commands.end(), [&](const CLI::App* command) {
    return command->get_name() == first;
  });
  if (!known && first != "--help" && first != "-h" && first != "--version") {
    arguments.insert(arguments.begin(), "tune");
  }
  return arguments;
}

// How many letters have to be changed, added or taken away to turn one word into the other
// (Levenshtein's distance).
size_t EditDistance(const std::string& a, const std::string& b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = std::exchange(row[0], i + 1);
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, diagonal + 1, row[j] + 1});
    }
  }
  return row.back();
}

std::vector<std::string> CommandNames(const CLI::App& app) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    names.push_back(command->get_name());
  }
  return names;
}

// The name most like the word; empty if none is.
std::string Nearest(const std::vector<std::string>& names, const std::string& word) {
  std::string nearest;
  size_t distance = std::min<size_t>(3, word.size());
  for (const std::string& name : names) {
    const size_t this_distance = EditDistance(word, name);
    if (this_distance >= distance) continue;
    nearest = name;
    distance = this_distance;
  }
  return nearest;
}

// "; did you mean `autotune inspect`?"
std::string DidYouMean(const std::vector<std::string>& names, const std::string& word,
                       const std::string& before) {
  const std::string nearest = Nearest(names, word);
  return nearest.empty() ? "" : absl::StrCat("; did you mean `autotune ", before, nearest, "`?");
}

bool Contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

// What to say of a first argument that can be neither a command nor a file: a single word that is
// the name of none. Empty if it may be one.
std::string NoSuchCommand(const CLI::App& app, const std::string& word) {
  const bool is_word = std::all_of(word.begin(), word.end(), [](char c) {
    return absl::ascii_isalnum(static_cast<unsigned char>(c)) || c == '-' || c == '_';
  });
  std::error_code error;
  if (word.empty() || word[0] == '-' || !is_word || std::filesystem::exists(word, error)) return "";
  const std::vector<std::string> names = CommandNames(app);
  if (Contains(names, word)) return "";
  return absl::StrCat("\"", word, "\" is neither a command nor a file that is there",
                      DidYouMean(names, word, ""), "\n`autotune --help` lists the commands");
}

// The same of the word after a command that has commands of its own, such as `records`.
std::string NoSuchPart(const CLI::App& app, const std::vector<std::string>& arguments) {
  std::vector<std::string> names;
  for (const CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    if (command->get_name() == arguments.front()) names = CommandNames(*command);
  }
  if (names.empty()) return "";
  const std::string before = absl::StrCat(arguments.front(), " ");
  const std::string takes =
      absl::StrCat("`autotune ", arguments.front(), "` takes ", absl::StrJoin(names, ", "));
  if (arguments.size() == 1) return takes;
  const std::string& word = arguments[1];
  if (absl::StartsWith(word, "-") || Contains(names, word)) return "";
  return absl::StrCat(takes, "; got \"", word, "\"", DidYouMean(names, word, before));
}

// "; did you mean --recording?" for the first option that the command does not have.
std::string UnknownOption(const CLI::App& command, const std::vector<std::string>& arguments) {
  std::vector<std::string> names;
  for (const CLI::Option* option : command.get_options()) {
    for (const std::string& name : option->get_lnames()) names.push_back(absl::StrCat("--", name));
  }
  for (const std::string& argument : arguments) {
    const std::string word = argument.substr(0, argument.find('='));
    if (!absl::StartsWith(word, "--") || Contains(names, word)) continue;
    const std::string nearest = Nearest(names, word);
    return nearest.empty() ? "" : absl::StrCat("; did you mean ", nearest, "?");
  }
  return "";
}

// Parse errors and requests for help; returns the exit code.
int ExplainParseError(const CLI::App& app, const CLI::ParseError& error,
                      const CommandContext& context) {
  if (error.get_exit_code() == static_cast<int>(CLI::ExitCodes::Success)) {
    return app.exit(error, context.out, context.err) == 0 ? kExitDone : kExitWrongUse;
  }
  std::string command;
  const CLI::App* used = &app;
  while (!used->get_subcommands().empty()) {
    used = used->get_subcommands().front();
    absl::StrAppend(&command, " ", used->get_name());
  }
  context.err << "autotune: " << PrintableText(error.what())
              << PrintableText(UnknownOption(*used, context.arguments)) << "\n"
              << "`autotune" << command << " --help` lists the options\n";
  return kExitWrongUse;
}

}  // namespace

int CommandContext::Fail(ExitCode code, const std::string& message) const {
  err << "autotune: " << PrintableText(message) << std::endl;
  return code;
}

int CommandContext::Fail(const absl::Status& status) const {
  return Fail(ExitCodeOf(status), std::string(status.message()));
}

void AddCommands(CLI::App& app, CommandContext& context) {
  AddTuneCommand(app, context);
  AddReportCommand(app, context);
  AddApplyCommand(app, context);
  AddInspectCommand(app, context);
  AddCompareCommand(app, context);
  AddTrainCommand(app, context);
  AddEvaluateCommand(app, context);
  AddCheckCommand(app, context);
  AddConvertCommand(app, context);
  AddRecordCommand(app, context);
  AddRecordsCommand(app, context);
  AddFleetCommand(app, context);
  AddBackendsCommand(app, context);
}

// No option or argument of any command takes an empty text: where one comes from a variable that is
// not set, the file that is not found would have no name.
void RefuseEmptyValues(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    if (option->get_expected_max() == 0) continue;  // a flag
    option->check(CLI::Validator(
        [](std::string& text) -> std::string { return text.empty() ? "the value is empty" : ""; },
        ""));
  }
  for (CLI::App* command : app.get_subcommands([](const CLI::App*) { return true; })) {
    RefuseEmptyValues(*command);
  }
}

int RunCommandLine(CommandContext& context) {
  try {
    CLI::App app(kAbout, "autotune");
    app.footer(kExamples);
    app.set_version_flag("--version", absl::StrCat("autotune ", AUTOTUNE_VERSION));
    app.require_subcommand(1);
    AddCommands(app, context);
    RefuseEmptyValues(app);
    std::vector<std::string> arguments(context.arguments.begin() + 1, context.arguments.end());
    std::string wrong = arguments.empty() ? "" : NoSuchCommand(app, arguments.front());
    if (wrong.empty() && !arguments.empty()) wrong = NoSuchPart(app, arguments);
    if (!wrong.empty()) return context.Fail(kExitWrongUse, wrong);
    for (const std::string& argument : arguments) {
      // CLI11 would take the next argument for the value.
      if (absl::StartsWith(argument, "--") && argument.find('=') == argument.size() - 1) {
        return context.Fail(kExitWrongUse, absl::StrCat(argument, " the value is empty"));
      }
    }
    arguments = WithDefaultCommand(app, std::move(arguments));
    std::reverse(arguments.begin(), arguments.end());  // the order that CLI11 wants
    try {
      app.parse(std::move(arguments));
    } catch (const CLI::ParseError& error) {
      return ExplainParseError(app, error, context);
    }
    return context.exit_code;
  } catch (const std::bad_alloc&) {
    return context.Fail(kExitBroken, "out of memory");
  } catch (const std::exception& error) {
    return context.Fail(kExitBroken, absl::StrCat("internal error: ", error.what()));
  }
}

}  // namespace autotune
