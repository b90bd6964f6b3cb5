#include "tuner/graphviz.h"

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "hardware/atomic_file.h"
#include "hardware/scratch_folder.h"
#include "hlo/read_file.h"
#include "tuner/run_program.h"

namespace autotune {
namespace {

// Why `dot` did not come to an end of its own, with what can be done.
absl::Status Explained(const absl::Status& status) {
  if (absl::IsNotFound(status)) {
    return absl::UnavailableError(
        "drawing needs the program dot of Graphviz, which is not on PATH (Debian: apt-get install "
        "graphviz); --dot prints the graph without it");
  }
  const std::string message(status.message());
  if (absl::IsDeadlineExceeded(status)) {
    return absl::DeadlineExceededError(
        absl::StrCat("drawing takes too long: ", message,
                     "; --limit N draws fewer groups, --dot prints the graph without drawing it"));
  }
  return absl::Status(status.code(), absl::StrCat("Graphviz's program cannot be started: ", message,
                                                  "; --dot prints the graph without it"));
}

}  // namespace

absl::StatusOr<std::string> DrawSvg(const std::string& graph, absl::Duration time_limit) {
  const absl::StatusOr<std::unique_ptr<ScratchFolder>> scratch = ScratchFolder::Create("graphviz");
  if (!scratch.ok()) return scratch.status();
  const std::string source = absl::StrCat((*scratch)->work(), "/graph.dot");
  const std::string drawn = absl::StrCat((*scratch)->work(), "/graph.svg");
  const std::string messages = absl::StrCat((*scratch)->work(), "/messages");
  absl::Status written = WriteFileAtomically(source, graph);
  if (!written.ok()) return written;
  const absl::StatusOr<ProgramEnd> end =
      RunProgram({"dot", "-Tsvg", "-o", drawn, source}, messages, {}, time_limit);
  if (!end.ok()) return Explained(end.status());
  absl::StatusOr<std::string> svg = ReadWholeFile(drawn);
  if (end->exit_code == 0 && svg.ok() && !svg->empty()) return svg;
  return absl::InternalError(absl::StrCat("dot cannot draw the graph: ", end->output,
                                          " (exit code ", end->exit_code, ")"));
}

}  // namespace autotune
