#ifndef AUTOTUNE_HARDWARE_ATOMIC_FILE_H_
#define AUTOTUNE_HARDWARE_ATOMIC_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/strings/string_view.h"
#include "hlo/read_file.h"  // IWYU pragma: export: ReadWholeFile

namespace autotune {

// Writes `content` into a new file beside `path`, syncs it and renames it over `path`: whoever
// opens `path` finds the old content or the new one, also after a crash. ResourceExhausted for a
// full disk, NotFound for a missing folder, PermissionDenied; then `path` is as it was and nothing
// is left beside it. What is no regular file (a pipe, a device) is written to as it is.
absl::Status WriteFileAtomically(const std::string& path, absl::string_view content);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_ATOMIC_FILE_H_
