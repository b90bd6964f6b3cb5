#include <sys/ioctl.h>
#include <unistd.h>

#include <iostream>

#include "tuner/commands.h"

namespace {

int TerminalColumns() {
  winsize size = {};
  if (ioctl(STDERR_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 80;
  return size.ws_col;
}

}  // namespace

int main(int argc, char** argv) {
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
