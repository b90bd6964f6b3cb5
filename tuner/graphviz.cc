#include "tuner/graphviz.h"

#include <fcntl.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <fstream>
#include <memory>
#include <sstream>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "hardware/atomic_file.h"
#include "hardware/scratch_folder.h"

extern char** environ;

namespace autotune {
namespace {

std::string ReadAll(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  content << file.rdbuf();
  return content.str();
}

// Runs `dot` with its messages in a file: its exit code, 127 if there is no such program, -1 if it
// was killed.
int RunDot(std::vector<std::string> arguments, const std::string& messages) {
  std::vector<char*> pointers;
  pointers.reserve(arguments.size() + 1);
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t files;
  posix_spawn_file_actions_init(&files);
  posix_spawn_file_actions_addopen(&files, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
  posix_spawn_file_actions_addopen(&files, STDERR_FILENO, messages.c_str(), O_WRONLY | O_CREAT,
                                   0600);
  posix_spawn_file_actions_adddup2(&files, STDERR_FILENO, STDOUT_FILENO);
  pid_t pid = 0;
  const int error = posix_spawnp(&pid, pointers[0], &files, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&files);
  if (error != 0) return 127;
  int status = 0;
  while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

absl::StatusOr<std::string> DrawSvg(const std::string& graph) {
  const absl::StatusOr<std::unique_ptr<ScratchFolder>> scratch = ScratchFolder::Create("graphviz");
  if (!scratch.ok()) return scratch.status();
  const std::string source = absl::StrCat((*scratch)->work(), "/graph.dot");
  const std::string drawn = absl::StrCat((*scratch)->work(), "/graph.svg");
  const std::string messages = absl::StrCat((*scratch)->work(), "/messages");
  absl::Status written = WriteFileAtomically(source, graph);
  if (!written.ok()) return written;
  const int code = RunDot({"dot", "-Tsvg", "-o", drawn, source}, messages);
  std::string svg = ReadAll(drawn);
  if (code == 0 && !svg.empty()) return svg;
  if (code == 127) {
    return absl::UnavailableError(
        "drawing needs the program dot of Graphviz, which is not on PATH (Debian: apt-get install "
        "graphviz); --dot prints the graph without it");
  }
  return absl::InternalError(
      absl::StrCat("dot cannot draw the graph: ", ReadAll(messages), " (exit code ", code, ")"));
}

}  // namespace autotune
