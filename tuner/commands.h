#ifndef AUTOTUNE_TUNER_COMMANDS_H_
#define AUTOTUNE_TUNER_COMMANDS_H_

#include <iosfwd>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "tuner/exit_code.h"

namespace CLI {
class App;
}  // namespace CLI

namespace autotune {

// What a command may use of its surroundings, and how it ends. One for each process.
struct CommandContext {
  std::ostream& out;  // results; with --json one document and nothing else
  std::ostream& err;  // progress, messages, errors
  bool out_is_terminal = false;
  bool err_is_terminal = false;
  int columns = 80;
  // As typed, the program's name first.
  std::vector<std::string> arguments;
  // Set by the command that ran.
  int exit_code = kExitDone;

  // Prints "autotune: MESSAGE" and returns the exit code, for `return context.Fail(...)`: that of
  // WithExitCode for a status.
  int Fail(const absl::Status& status) const;
  int Fail(ExitCode code, const std::string& message) const;
};

// Each adds one command to `app`: its options, its help, and the callback that runs it and sets
// `context.exit_code`. `context` must outlive `app`. To add a command, write command_NAME.cc,
// declare it here and list it in AddCommands.
void AddTuneCommand(CLI::App& app, CommandContext& context);
void AddReportCommand(CLI::App& app, CommandContext& context);
void AddInspectCommand(CLI::App& app, CommandContext& context);
void AddCheckCommand(CLI::App& app, CommandContext& context);
void AddConvertCommand(CLI::App& app, CommandContext& context);
void AddRecordCommand(CLI::App& app, CommandContext& context);
void AddRecordsCommand(CLI::App& app, CommandContext& context);
void AddFleetCommand(CLI::App& app, CommandContext& context);
void AddBackendsCommand(CLI::App& app, CommandContext& context);
void AddCompareCommand(CLI::App& app, CommandContext& context);
void AddApplyCommand(CLI::App& app, CommandContext& context);
void AddTrainCommand(CLI::App& app, CommandContext& context);
void AddEvaluateCommand(CLI::App& app, CommandContext& context);

// All of them, in the order of `autotune --help`.
void AddCommands(CLI::App& app, CommandContext& context);

// Runs the command line and returns the exit code. Does not throw.
int RunCommandLine(CommandContext& context);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_COMMANDS_H_
