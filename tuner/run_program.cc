#include "tuner/run_program.h"

#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <optional>

#include "absl/status/status.h"
#include "absl/strings/match.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"
#include "absl/strings/string_view.h"
#include "absl/time/clock.h"
#include "hlo/read_file.h"

extern char** environ;

namespace autotune {
namespace {

// How often a program with a time limit is looked at.
constexpr absl::Duration kWatchInterval = absl::Milliseconds(10);

// This process's environment with `variables` in the place of its own of these names.
std::vector<std::string> EnvironmentWith(const std::vector<std::string>& variables) {
  std::vector<std::string> environment = variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string name = std::string(*entry).substr(0, std::string(*entry).find('=') + 1);
    const bool replaced = std::any_of(variables.begin(), variables.end(),
                                      [&](const auto& v) { return absl::StartsWith(v, name); });
    if (!replaced) environment.emplace_back(*entry);
  }
  return environment;
}

std::vector<char*> Pointers(const std::vector<std::string>& texts) {
  std::vector<char*> pointers;
  pointers.reserve(texts.size() + 1);
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));
  pointers.push_back(nullptr);
  return pointers;
}

// The first file of that name on PATH that may be run; empty if there is none. A name with a slash
// stands for itself.
std::string FindProgram(const std::string& name) {
  const auto may_run = [](const std::string& path) {
    struct stat file;
    return stat(path.c_str(), &file) == 0 && S_ISREG(file.st_mode) &&
           access(path.c_str(), X_OK) == 0;
  };
  if (absl::StrContains(name, '/')) return may_run(name) ? name : "";
  const char* path_variable = std::getenv("PATH");
  const std::string folders = path_variable == nullptr ? "/usr/bin:/bin" : path_variable;
  for (const absl::string_view folder : absl::StrSplit(folders, ':')) {
    // An empty one is the current folder.
    std::string path = absl::StrCat(folder.empty() ? "." : folder, "/", name);
    if (may_run(path)) return path;
  }
  return "";
}

// The status that the child ended with; nullopt if it was killed for not being done after `limit`.
std::optional<int> WaitFor(pid_t child, absl::Duration limit) {
  const absl::Time deadline = absl::Now() + limit;
  const bool limited = limit != absl::InfiniteDuration();
  for (int status = 0;;) {
    const pid_t ended = waitpid(child, &status, limited ? WNOHANG : 0);
    if (ended == child || (ended < 0 && errno != EINTR)) return status;
    if (limited && absl::Now() >= deadline) break;
    if (limited) absl::SleepFor(kWatchInterval);
  }
  kill(child, SIGKILL);
  while (waitpid(child, nullptr, 0) < 0 && errno == EINTR) {
  }
  return std::nullopt;
}

}  // namespace

absl::StatusOr<ProgramEnd> RunProgram(const std::vector<std::string>& arguments,
                                      const std::string& log,
                                      const std::vector<std::string>& variables,
                                      absl::Duration time_limit) {
  const std::string program = FindProgram(arguments[0]);
  if (program.empty()) {
    return absl::NotFoundError(absl::StrCat(arguments[0], ": there is no such program"));
  }
  const std::vector<std::string> environment = EnvironmentWith(variables);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDOUT_FILENO, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC,
                                   0600);
  posix_spawn_file_actions_adddup2(&files, STDOUT_FILENO, STDERR_FILENO);
  pid_t child = -1;
  const std::vector<char*> argv = Pointers(arguments);
  const std::vector<char*> envp = Pointers(environment);
  const int error = posix_spawn(&child, program.c_str(), &files, nullptr, argv.data(), envp.data());
  posix_spawn_file_actions_destroy(&files);
  // The program is there: what is missing is the interpreter that it names.
  if (error == ENOENT) {
    return absl::FailedPreconditionError(absl::StrCat(program, ": its interpreter is missing"));
  }
  if (error != 0) return absl::ErrnoToStatus(error, program);
  const std::optional<int> status = WaitFor(child, time_limit);
  if (!status) {
    return absl::DeadlineExceededError(absl::StrCat(
        arguments[0], " was not done after ", absl::FormatDuration(time_limit), " and was killed"));
  }
  return ProgramEnd{WIFEXITED(*status) ? WEXITSTATUS(*status) : -1,
                    ReadWholeFile(log).value_or("")};
}

}  // namespace autotune
