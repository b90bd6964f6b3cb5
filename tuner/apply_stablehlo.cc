#include "tuner/apply_stablehlo.h"

#include <cstdlib>
#include <memory>
#include <string>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "hardware/atomic_file.h"
#include "hardware/scratch_folder.h"
#include "hlo/read_file.h"
#include "tuner/run_program.h"

namespace autotune {
namespace {

// argv: the program as a serialised HloModuleProto, and where the result goes.
constexpr char kScript[] = R"(
import sys
from jaxlib import _jax
with open(sys.argv[1], "rb") as source, open(sys.argv[2], "wb") as result:
    result.write(_jax.mlir.hlo_to_stablehlo(source.read()))
)";

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
  const std::string messages = absl::StrCat((*scratch)->work(), "/messages");
  absl::Status written = WriteFileAtomically(source, program.ToProto().SerializeAsString());
  if (!written.ok()) return written;
  const char* python = std::getenv("AUTOTUNE_PYTHON");
  const std::string interpreter = python == nullptr ? "python3" : python;
  const absl::StatusOr<ProgramEnd> end =
      RunProgram({interpreter, "-c", kScript, source, result}, messages);
  if (end.ok() && end->exit_code == 0) return ReadWholeFile(result);
  return absl::UnavailableError(
      absl::StrCat("converting to StableHLO needs jaxlib (pip install jaxlib) in ", interpreter,
                   ", or in the Python that AUTOTUNE_PYTHON names: ",
                   LastLine(end.ok() ? end->output : std::string(end.status().message()))));
}

}  // namespace autotune
