#include "hardware/ray/ray_worker.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <condition_variable>
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

bool SendFrame(int socket, const std::string& bytes) {
  const uint32_t size = static_cast<uint32_t>(bytes.size());
  unsigned char header[4];
  for (int i = 0; i < 4; ++i) header[i] = static_cast<unsigned char>(size >> (8 * i));
  return SendAll(socket, reinterpret_cast<char*>(header), 4) &&
         SendAll(socket, bytes.data(), bytes.size());
}

bool ReceiveFrame(int socket, std::string* bytes) {
  unsigned char header[4];
  if (!ReceiveAll(socket, reinterpret_cast<char*>(header), 4)) return false;
  uint32_t length = 0;
  for (int i = 4; i-- > 0;) length = length << 8 | header[i];
  if (length > kMaxFrameBytes) return false;
  bytes->resize(length);
  return ReceiveAll(socket, &(*bytes)[0], length);
}

}  // namespace

// The measuring process. Answers come in the order of the requests.
class FleetWorker::Child {
 public:
  // Throws if it cannot be started.
  Child() {
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
    child_ = fork();
    if (child_ == 0) {
      // Ends with its parent, also when it hangs.
      prctl(PR_SET_PDEATHSIG, SIGKILL);
      if (getppid() != parent) _exit(1);
      setpgid(0, 0);
      dup2(sockets[1], kChildSocket);
      if (sockets[1] == kChildSocket) _exit(1);  // it would close with exec; never so in a worker
      execl(program, program, static_cast<char*>(nullptr));
      _exit(127);
    }
    close(sockets[1]);
    socket_ = sockets[0];
    if (child_ < 0) {
      close(socket_);
      throw std::runtime_error(strerror(errno));
    }
  }

  ~Child() {
    close(socket_);
    kill(-child_, SIGKILL);
    kill(child_, SIGKILL);
    waitpid(child_, nullptr, 0);
  }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  bool dead() {
    const std::lock_guard<std::mutex> lock(mutex_);
    return dead_;
  }

  // Sends a request; its number is for Receive. One call at a time.
  int64_t Send(const std::string& request) {
    if (!SendFrame(socket_, request)) Die();
    return sent_++;
  }

  // Waits for the answer to a request; false if the process died before it came.
  bool Receive(int64_t number, std::string* reply) {
    {
      std::unique_lock<std::mutex> lock(mutex_);
      turn_.wait(lock, [&] { return dead_ || received_ == number; });
      if (dead_) return false;
    }
    if (!ReceiveFrame(socket_, reply)) {
      Die();
      return false;
    }
    const std::lock_guard<std::mutex> lock(mutex_);
    ++received_;
    turn_.notify_all();
    return true;
  }

 private:
  void Die() {
    const std::lock_guard<std::mutex> lock(mutex_);
    dead_ = true;
    turn_.notify_all();
  }

  pid_t child_ = -1;
  int socket_ = -1;
  int64_t sent_ = 0;
  std::mutex mutex_;
  std::condition_variable turn_;
  int64_t received_ = 0;
  bool dead_ = false;
};

FleetWorker* FleetWorker::Create() { return new FleetWorker; }

// By value: Ray makes the argument from what it receives.
// NOLINTNEXTLINE(performance-unnecessary-value-param)
std::string FleetWorker::Handle(std::string request) {
  std::shared_ptr<Child> child;
  int64_t number = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (child_ == nullptr || child_->dead()) child_ = std::make_shared<Child>();
    child = child_;
    number = child->Send(request);
  }
  std::string reply;
  if (child->Receive(number, &reply)) return reply;
  throw std::runtime_error("the measuring process died");
}

}  // namespace autotune_ray
