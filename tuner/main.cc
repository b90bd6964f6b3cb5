#include <fcntl.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include <csignal>
#include <iostream>

#include "tuner/commands.h"

namespace {

int TerminalColumns() {
  winsize size = {};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

// A standard stream that the caller closed gives its number to the next file that is opened, a
// record store for instance, and what is printed would go in there. Its number is taken by
// something that can neither be read (input) nor written (output), so that using it fails.
void HoldClosedStreams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) == -1) {
      (void)!open("/dev/null", stream == STDIN_FILENO ? O_WRONLY : O_RDONLY);
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  HoldClosedStreams();
  // A limit of file sizes is an error of the write, as a full disk is.
  std::signal(SIGXFSZ, SIG_IGN);
  std::ios::sync_with_stdio(false);
  autotune::CommandContext context = {.out = std::cout, .err = std::cerr};
  context.out_is_terminal = isatty(STDOUT_FILENO) != 0;
  context.err_is_terminal = isatty(STDERR_FILENO) != 0;
  context.columns = TerminalColumns();
  context.arguments.assign(argv, argv + argc);
  int code = autotune::RunCommandLine(context);
  // A closed pipe or a full disk behind standard output must not pass for success.
  std::cout.flush();
  if (!std::cout && code == autotune::kExitDone) {
    code = context.Fail(autotune::kExitBroken, "standard output could not be written");
  }
  return code;
}
