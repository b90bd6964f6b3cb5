#ifndef AUTOTUNE_TUNER_OUTPUT_FILES_H_
#define AUTOTUNE_TUNER_OUTPUT_FILES_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace autotune {

// Files that a command writes. Every error names the path and says what the system said.

// Writes a file aside, syncs it and renames it over `path`, so that a reader sees the old file or
// all of the new one, and a full disk leaves the old one. ResourceExhausted for a full disk,
// PermissionDenied where nothing may be written, NotFound for a folder that is not there.
absl::Status WriteFileAtomically(const std::string& path, absl::string_view content);

// The whole file. NotFound if it is missing, InvalidArgument for a folder.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path);

// Makes the folder with its parents; it may exist. Fails if it cannot be written to.
absl::Status MakeOutputDirectory(const std::string& path);

// A folder for a run that has none given: "autotune-runs/20261129-163000-alexnet", with "-2" and so
// on behind it if there is one already. `program` is the program's path, `unix_micros` the start of
// the run, shown in local time.
std::string NewRunDirectory(const std::string& program, int64_t unix_micros);

}  // namespace autotune

#endif  // AUTOTUNE_TUNER_OUTPUT_FILES_H_
