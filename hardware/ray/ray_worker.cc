#include "hardware/ray/ray_worker.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>

#include "ray/api.h"

RAY_REMOTE(autotune_ray::FleetWorker::Create, &autotune_ray::FleetWorker::Handle);

namespace autotune_ray {
namespace {

// As hardware/worker_frames.h has it: 4 bytes of length, little endian, then the bytes, on
// descriptor 3 of the child.
constexpr int kChildSocket = 3;
constexpr uint32_t kMaxFrameBytes = uint32_t{1} << 30;

bool SendAll(int socket, const char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t sent = send(socket, bytes, size, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent <= 0) return false;
    bytes += sent;
    size -= static_cast<size_t>(sent);
  }
  return true;
}

bool ReceiveAll(int socket, char* bytes, size_t size) {
  while (size > 0) {
    const ssize_t got = recv(socket, bytes, size, 0);
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return false;
    bytes += got;
    size -= static_cast<size_t>(got);
  }
  return true;
}

bool Exchange(int socket, const std::string& request, std::string* reply) {
  const uint32_t size = static_cast<uint32_t>(request.size());
  unsigned char header[4];
  for (int i = 0; i < 4; ++i) header[i] = static_cast<unsigned char>(size >> (8 * i));
  if (!SendAll(socket, reinterpret_cast<char*>(header), 4)) return false;
  if (!SendAll(socket, request.data(), request.size())) return false;
  if (!ReceiveAll(socket, reinterpret_cast<char*>(header), 4)) return false;
  uint32_t length = 0;
  for (int i = 4; i-- > 0;) length = length << 8 | header[i];
  if (length > kMaxFrameBytes) return false;
  reply->resize(length);
  return ReceiveAll(socket, &(*reply)[0], length);
}

}  // namespace

FleetWorker* FleetWorker::Create() { return new FleetWorker; }

FleetWorker::~FleetWorker() { EndChild(); }

void FleetWorker::StartChild() {
  const char* program = getenv("AUTOTUNE_FLEET_WORKER");
  if (program == nullptr) {
    throw std::runtime_error(
        "this host is not set up as a worker: AUTOTUNE_FLEET_WORKER is not set where its Ray was "
        "started (docs/fleet.md)");
  }
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) {
    throw std::runtime_error(strerror(errno));
  }
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child == 0) {
    // Ends with its parent, also when it hangs.
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(1);
    setpgid(0, 0);
    dup2(sockets[1], kChildSocket);
    if (sockets[1] == kChildSocket) _exit(1);  // it would close with exec; never so in a Ray worker
    execl(program, program, static_cast<char*>(nullptr));
    _exit(127);
  }
  close(sockets[1]);
  if (child < 0) {
    close(sockets[0]);
    throw std::runtime_error(strerror(errno));
  }
  child_ = child;
  socket_ = sockets[0];
}

void FleetWorker::EndChild() {
  if (child_ < 0) return;
  close(socket_);
  kill(-child_, SIGKILL);
  kill(child_, SIGKILL);
  waitpid(child_, nullptr, 0);
  child_ = -1;
}

// By value: Ray makes the argument from what it receives.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
std::string FleetWorker::Handle(std::string request) {
  if (child_ < 0) StartChild();
  std::string reply;
  if (Exchange(socket_, request, &reply)) return reply;
  EndChild();
  throw std::runtime_error("the measuring process died");
}

}  // namespace autotune_ray
