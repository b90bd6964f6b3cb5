#include "hardware/worker_frames.h"

#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <array>
#include <cstring>
#include <utility>

#include "absl/strings/str_cat.h"

namespace autotune {
namespace {

constexpr size_t kLengthBytes = 4;

uint32_t LengthIn(const char* bytes) {
  uint32_t length = 0;
  for (size_t i = 0; i < kLengthBytes; ++i) {
    length |= static_cast<uint32_t>(static_cast<unsigned char>(bytes[i])) << (8 * i);
  }
  return length;
}

absl::Status CheckLength(uint32_t length) {
  if (length <= kMaxFrameBytes) return absl::OkStatus();
  return absl::DataLossError(absl::StrCat("a message of ", length, " bytes"));
}

absl::Status Gone(const char* what) {
  return absl::UnavailableError(absl::StrCat(what, ": ", std::strerror(errno)));
}

absl::Status ReceiveAll(int socket, char* data, size_t size) {
  while (size > 0) {
    const ssize_t received = recv(socket, data, size, 0);
    if (received < 0 && errno == EINTR) continue;
    if (received == 0) return absl::UnavailableError("the other process ended");
    if (received < 0) return Gone("receiving from a process");
    data += received;
    size -= static_cast<size_t>(received);
  }
  return absl::OkStatus();
}

}  // namespace

absl::StatusOr<FrameWriter> FrameWriter::Create(absl::string_view message) {
  if (message.size() > kMaxFrameBytes) {
    return absl::InvalidArgumentError(absl::StrCat("a message of ", message.size(), " bytes"));
  }
  FrameWriter writer;
  for (size_t i = 0; i < kLengthBytes; ++i) {
    writer.bytes_.push_back(static_cast<char>(message.size() >> (8 * i)));
  }
  absl::StrAppend(&writer.bytes_, message);
  return writer;
}

absl::StatusOr<bool> FrameWriter::Write(int socket) {
  while (sent_ < bytes_.size()) {
    const ssize_t sent =
        send(socket, &bytes_[sent_], bytes_.size() - sent_, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent > 0) sent_ += static_cast<size_t>(sent);
    if (sent < 0 && (errno == EAGAIN)) return false;
    if (sent < 0 && errno != EINTR) return Gone("sending to a process");
  }
  return true;
}

absl::Status WriteFrame(int socket, absl::string_view message) {
  absl::StatusOr<FrameWriter> writer = FrameWriter::Create(message);
  if (!writer.ok()) return writer.status();
  for (;;) {
    const absl::StatusOr<bool> done = writer->Write(socket);
    if (!done.ok()) return done.status();
    if (*done) return absl::OkStatus();
    pollfd room = {.fd = socket, .events = POLLOUT, .revents = 0};
    poll(&room, 1, -1);
  }
}

absl::StatusOr<std::string> ReadFrame(int socket) {
  std::array<char, kLengthBytes> head;
  absl::Status status = ReceiveAll(socket, head.data(), head.size());
  if (!status.ok()) return status;
  const uint32_t length = LengthIn(head.data());
  if (status = CheckLength(length); !status.ok()) return status;
  std::string message(length, '\0');
  if (status = ReceiveAll(socket, message.data(), length); !status.ok()) return status;
  return message;
}

absl::StatusOr<bool> FrameReader::Read(int socket) {
  for (;;) {
    size_t wanted = kLengthBytes;
    if (buffer_.size() >= kLengthBytes) {
      const uint32_t length = LengthIn(buffer_.data());
      if (absl::Status status = CheckLength(length); !status.ok()) return status;
      wanted += length;
      if (buffer_.size() == wanted) return true;
    }
    const size_t old_size = buffer_.size();
    buffer_.resize(wanted);
    const ssize_t received = recv(socket, &buffer_[old_size], wanted - old_size, MSG_DONTWAIT);
    buffer_.resize(old_size + (received > 0 ? static_cast<size_t>(received) : 0));
    if (received > 0) continue;
    if (received == 0) return absl::UnavailableError("the other process ended");
    if (errno == EAGAIN) return false;
    if (errno != EINTR) return Gone("receiving from a process");
  }
}

std::string FrameReader::TakeMessage() {
  std::string message = buffer_.substr(kLengthBytes);
  buffer_.clear();
  return message;
}

}  // namespace autotune
