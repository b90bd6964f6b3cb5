#ifndef AUTOTUNE_HARDWARE_WORKER_FRAMES_H_
#define AUTOTUNE_HARDWARE_WORKER_FRAMES_H_

#include <cstdint>
#include <optional>
#include <string>

#include "absl/status/status.h"
#include "absl/status/statusor.h"
#include "absl/strings/string_view.h"

namespace autotune {

// The file descriptor on which a worker process speaks with its parent.
inline constexpr int kWorkerSocket = 3;

// A message larger than this is refused: 1 GiB.
inline constexpr uint32_t kMaxFrameBytes = uint32_t{1} << 30;

// Writes one message: 4 bytes of length, little endian, then the bytes. Blocks. Unavailable if the
// other side is gone.
absl::Status WriteFrame(int socket, absl::string_view message);

// Reads one message. Blocks. Unavailable if the other side is gone, DataLoss for a length that is
// out of range.
absl::StatusOr<std::string> ReadFrame(int socket);

// Sends a message in pieces, for a writer that must not block.
class FrameWriter {
 public:
  // InvalidArgument for a message that is too large.
  static absl::StatusOr<FrameWriter> Create(absl::string_view message);

  // Sends what the socket takes now. True once all is sent; Unavailable if the other side is gone.
  absl::StatusOr<bool> Write(int socket);

 private:
  std::string bytes_;
  size_t sent_ = 0;
};

// Puts messages together from what arrives, for a reader that must not block.
class FrameReader {
 public:
  // Takes what can be read now. True if a whole message is there (see message()); Unavailable if
  // the other side is gone, DataLoss for a length that is out of range.
  absl::StatusOr<bool> Read(int socket);

  // REQUIRES: Read returned true. The next Read begins a new message.
  std::string TakeMessage();

 private:
  std::string buffer_;
};

}  // namespace autotune

#endif  // AUTOTUNE_HARDWARE_WORKER_FRAMES_H_
