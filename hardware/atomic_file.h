#ifndef AUTOTUNE_HARDWARE_ATOMIC_FILE_H_
#define AUTOTUNE_HARDWARE_ATOMIC_FILE_H_

#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace autotune {

// The whole content of a file. NotFound if it is missing, InvalidArgument for a directory,
// PermissionDenied or Unavailable if it cannot be read; the path is in the message.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path);

// Writes `content` into a new file beside `path`, syncs it and renames it over `path`: whoever
// opens `path` finds the old content or the new one, also after a crash. ResourceExhausted for a
// full disk, NotFound for a missing folder, PermissionDenied; then `path` is as it was and nothing
// is left beside it. What is no regular file (a pipe, a device) is written to as it is.
absl::Status WriteFileAtomically(const std::string& path, absl::string_view content);

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_ATOMIC_FILE_H_
