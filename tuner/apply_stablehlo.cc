#include "tuner/apply_stablehlo.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "hardware/atomic_file.h"
#include "hardware/scratch_folder.h"

extern char** environ;

namespace autotune {
namespace {

// argv: the program as a serialised HloModuleProto, and where the result goes.
constexpr char kScript[] = R"(
import sys
from jaxlib import _jax
with open(sys.argv[1], "rb") as source, open(sys.argv[2], "wb") as result:
    result.write(_jax.mlir.hlo_to_stablehlo(source.read()))
)";

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

// Runs a program with its errors in a file. Returns the exit code, or -1.
int RunProgram(std::vector<std::string> arguments, const std::string& errors) {
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, errors.c_str(), O_WRONLY | O_CREAT, 0600);
  posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, pointers[0], &files, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) return -1;
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

// The last line that says something: Python puts the error there.
std::string LastLine(std::string text) {
  while (!text.empty() && text.back() == '\n') text.pop_back();
  return text.substr(text.rfind('\n') + 1);
}

}  // namespace

absl::StatusOr<std::string> ToStableHlo(const HloModule& program) {
  const absl::StatusOr<std::unique_ptr<ScratchFolder>> scratch = ScratchFolder::Create("apply");
  if (!scratch.ok()) return scratch.status();
  const std::string source = absl::StrCat((*scratch)->work(), "/program.pb");
  const std::string result = absl::StrCat((*scratch)->work(), "/program.mlir");
  const std::string errors = absl::StrCat((*scratch)->work(), "/errors");
  absl::Status written = WriteFileAtomically(source, program.ToProto().SerializeAsString());
  if (!written.ok()) return written;
  const char* python = std::getenv("AUTOTUNE_PYTHON");
  const std::string interpreter = python == nullptr ? "python3" : python;
  if (RunProgram({interpreter, "-c", kScript, source, result}, errors) == 0) {
    return ReadAll(result);
  }
  return absl::UnavailableError(
      absl::StrCat("converting to StableHLO needs jaxlib (pip install jaxlib) in ", interpreter,
                   ", or in the Python that AUTOTUNE_PYTHON names: ", LastLine(ReadAll(errors))));
}

}  // namespace autotune
