#include "tuner/graphviz.h"

#include <memory>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "hardware/atomic_file.h"
#include "hardware/scratch_folder.h"
#include "hlo/read_file.h"
#include "tuner/run_program.h"

namespace autotune {

absl::StatusOr<std::string> DrawSvg(const std::string& graph) {
  const absl::StatusOr<std::unique_ptr<ScratchFolder>> scratch = ScratchFolder::Create("graphviz");
  if (!scratch.ok()) return scratch.status();
  const std::string source = absl::StrCat((*scratch)->work(), "/graph.dot");
  const std::string drawn = absl::StrCat((*scratch)->work(), "/graph.svg");
  const std::string messages = absl::StrCat((*scratch)->work(), "/messages");
  absl::Status written = WriteFileAtomically(source, graph);
  if (!written.ok()) return written;
  const absl::StatusOr<ProgramEnd> end =
      RunProgram({"dot", "-Tsvg", "-o", drawn, source}, messages);
  if (!end.ok()) {
    return absl::UnavailableError(
        "drawing needs the program dot of Graphviz, which is not on PATH (Debian: apt-get install "
        "graphviz); --dot prints the graph without it");
  }
  absl::StatusOr<std::string> svg = ReadWholeFile(drawn);
  if (end->exit_code == 0 && svg.ok() && !svg->empty()) return svg;
  return absl::InternalError(absl::StrCat("dot cannot draw the graph: ", end->output,
                                          " (exit code ", end->exit_code, ")"));
}

}  // namespace autotune
