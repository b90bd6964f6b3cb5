#ifndef AUTOTUNE_HLO_READ_FILE_H_
#define AUTOTUNE_HLO_READ_FILE_H_

#include <cstddef>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace autotune {

// "what: No such file or directory" and so on for an errno: NotFound, PermissionDenied,
// ResourceExhausted for a full disk, InvalidArgument for a directory, else Unavailable.
absl::Status ErrnoStatus(absl::string_view what, int error);

// What is larger is neither a program nor a recording: a device that never ends, say.
inline constexpr size_t kLargestFileBytes = size_t{4} << 30;

// The content of a file, but no more than `limit` bytes of it; the path is in the errors, which are
// those of ErrnoStatus, and InvalidArgument for more than kLargestFileBytes and for devices like
// /dev/zero.
absl::StatusOr<std::string> ReadWholeFile(const std::string& path,
                                          size_t limit = std::string::npos);

}  // namespace autotune

#endif  // AUTOTUNE_HLO_READ_FILE_H_
